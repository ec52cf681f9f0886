// Implements DataSource and SliceSampler, which divides each batch among the ranks.
#include "tandem/train/data_source.h"

#include "tandem/core/internal.h"
#include "tandem/data/samplers/length_grouped_sampler.h"
#include "tandem/parallel/scatter_gather.h"
#include "tandem/serialize/archive.h"

namespace tandem::train {

detail::SliceSampler::SliceSampler(std::unique_ptr<ExampleOrder> order, size_t batch_size, bool drop_last,
                                   const SourceSettings& settings)
    : order_(std::move(order)),
      layout_{order_->size(), batch_size, drop_last},
      rank_(settings.rank),
      ranks_(settings.ranks) {}

std::pair<size_t, size_t> detail::SliceSampler::slice(size_t rows) const {
  const std::vector<int64_t> sizes =
      nn::parallel::detail::shard_sizes(static_cast<int64_t>(rows), static_cast<size_t>(ranks_));
  size_t begin = 0;
  for (size_t r = 0; r < sizes.size(); ++r) {
    const auto count = static_cast<size_t>(sizes[r]);
    if (static_cast<int>(r) == rank_) return {begin, begin + count};
    begin += count;
  }
  return {begin, begin};
}

std::optional<data::BatchPart> detail::SliceSampler::next(size_t) {
  std::optional<std::vector<size_t>> batch = order_->sampler().next(layout_.batch_size);
  if (!batch || (layout_.drop_last && batch->size() < layout_.batch_size)) return {};
  const auto [begin, end] = slice(batch->size());
  if (begin == end) return {};
  std::vector<size_t> part(batch->begin() + static_cast<std::ptrdiff_t>(begin),
                           batch->begin() + static_cast<std::ptrdiff_t>(end));
  return data::BatchPart(std::move(part), std::move(*batch));
}

data::detail::ExamplePositions detail::SliceSampler::positions() const {
  const size_t rows = std::min(layout_.batch_size, layout_.size - order_->index());
  return {order_->index() + slice(rows).first, 1, ranks_ > 1};
}
int64_t detail::BatchLayout::rows_in_batch(int64_t index) const {
  return static_cast<int64_t>(std::min(batch_size, size - static_cast<size_t>(index) * batch_size));
}
int64_t detail::BatchLayout::num_batches() const {
  return static_cast<int64_t>(drop_last ? size / batch_size : (size + batch_size - 1) / batch_size);
}

void detail::write_in_epoch(serialize::OutputArchive& archive, bool in_epoch) {
  archive.write("in_epoch", IValue(in_epoch));
}
bool detail::read_in_epoch(serialize::InputArchive& archive) {
  IValue value;
  archive.read("in_epoch", value);
  return value.toBool();
}

size_t DataSource::checked_size(std::optional<size_t> size) {
  TANDEM_CHECK(size && *size > 0, "DataSource: the dataset has ", size ? "no examples" : "no size()",
               "; accepted: a dataset whose size() is 1 or more");
  return *size;
}
detail::SliceSampler DataSource::make_sampler(const detail::SourceSettings& settings) const {
  TANDEM_CHECK(batch_size_ >= 1, "DataSource: batch_size is ", batch_size_, "; accepted: 1 or more");
  TANDEM_CHECK(batch_size_ >= settings.ranks, "DataSource: batch_size is ", batch_size_, ", but there are ",
               settings.ranks, " ranks; accepted: at least one example for each rank");
  TANDEM_CHECK(workers_ >= 0, "DataSource: workers is ", workers_, "; accepted: 0 or more");
  TANDEM_CHECK(!drop_last_ || size_ >= static_cast<size_t>(batch_size_), "DataSource: the dataset has ", size_,
               " examples, and batch_size is ", batch_size_,
               ", so drop_last(true) leaves no batch; accepted: a "
               "batch_size of at most ",
               size_);
  TANDEM_CHECK(
      !make_order_ || (!shuffle_ && (settings.ranks == 1 || order_depends_on_epoch_)), "DataSource: the sampler ",
      shuffle_ ? "determines the order, but shuffle is true" : "has no set_epoch(), so ranks may have different orders",
      "; accepted: shuffle(false), and with several ranks a sampler with set_epoch(), such as ShardSampler");
  TANDEM_CHECK(lengths_.empty() || lengths_.size() == size_, "DataSource: the dataset has ", size_,
               " examples, but there are ", lengths_.size(), " lengths; accepted: as many, or none");
  TANDEM_CHECK(lengths_.empty() || !make_order_,
               "DataSource: both the sampler and lengths determine the order; accepted: one of them");
  std::unique_ptr<detail::ExampleOrder> order;
  if (make_order_)
    order = make_order_();
  else if (!lengths_.empty())
    order = std::make_unique<detail::SamplerOrder<data::samplers::LengthGroupedSampler>>(
        data::samplers::LengthGroupedSampler(lengths_, static_cast<size_t>(batch_size_), settings.seed, shuffle_));
  else
    order = std::make_unique<detail::SamplerOrder<data::samplers::ShardSampler>>(data::samplers::ShardSampler(
        size_, 1, 0, data::samplers::ShardSamplerOptions{.shuffle = shuffle_, .seed = settings.seed}));
  return {std::move(order), static_cast<size_t>(batch_size_), drop_last_, settings};
}
data::DataLoaderOptions DataSource::loader_options(const detail::SourceSettings& settings) const {
  return data::DataLoaderOptions(static_cast<size_t>(batch_size_))
      .workers(static_cast<size_t>(workers_))
      .device(settings.device)
      .pin_memory(settings.pin_memory);
}

}  // namespace tandem::train
