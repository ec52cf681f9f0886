// Implements DataSource and SliceSampler, which divides each batch among the ranks.
#include "tandem/train/data_source.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/data/samplers/length_grouped_sampler.h"
#include "tandem/parallel/scatter_gather.h"
#include "tandem/serialize/archive.h"

namespace tandem::train {

detail::SliceSampler::SliceSampler(size_t size, size_t batch_size, bool drop_last, bool shuffle,
                                   const SourceSettings& settings, std::shared_ptr<const std::vector<int64_t>> lengths)
    : order_(size, 1, 0, {.shuffle = shuffle, .seed = settings.seed}),
      lengths_(std::move(lengths)),
      size_(size),
      batch_size_(batch_size),
      drop_last_(drop_last),
      shuffle_(shuffle),
      seed_(settings.seed),
      rank_(settings.rank),
      ranks_(settings.ranks) {
  group();
}

void detail::SliceSampler::group() {
  if (!lengths_) return;
  grouped_ = order_.indices();
  if (shuffle_)
    grouped_ =
        data::samplers::detail::group_by_length(std::move(grouped_), *lengths_, batch_size_, seed_ + order_.epoch());
  else
    std::stable_sort(grouped_.begin(), grouped_.end(),
                     [&](size_t a, size_t b) { return (*lengths_)[a] > (*lengths_)[b]; });
}
void detail::SliceSampler::reset(std::optional<size_t> new_size) {
  order_.reset(new_size);
  group();
}
void detail::SliceSampler::load(serialize::InputArchive& archive) {
  order_.load(archive);
  group();
}
void detail::SliceSampler::set_epoch(size_t epoch) {
  order_.set_epoch(epoch);
  if (order_.index() == 0) group();
}

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
  const auto position = static_cast<std::ptrdiff_t>(order_.index());
  std::optional<std::vector<size_t>> batch = order_.next(batch_size_);
  if (!batch || (drop_last_ && batch->size() < batch_size_)) return {};
  if (lengths_) std::copy_n(grouped_.begin() + position, batch->size(), batch->begin());
  const auto [begin, end] = slice(batch->size());
  if (begin == end) return {};
  std::vector<size_t> part(batch->begin() + static_cast<std::ptrdiff_t>(begin),
                           batch->begin() + static_cast<std::ptrdiff_t>(end));
  return data::BatchPart(std::move(part), std::move(*batch));
}

data::detail::ExamplePositions detail::SliceSampler::positions() const {
  const size_t rows = std::min(batch_size_, size_ - order_.index());
  return {order_.index() + slice(rows).first, 1, ranks_ > 1};
}
int64_t detail::SliceSampler::rows_in_batch(int64_t index) const {
  return static_cast<int64_t>(std::min(batch_size_, size_ - static_cast<size_t>(index) * batch_size_));
}
int64_t detail::SliceSampler::num_batches() const {
  return static_cast<int64_t>(drop_last_ ? size_ / batch_size_ : (size_ + batch_size_ - 1) / batch_size_);
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
detail::SliceSampler DataSource::sampler(const detail::SourceSettings& settings) const {
  TANDEM_CHECK(batch_size_ >= 1, "DataSource: batch_size is ", batch_size_, "; accepted: 1 or more");
  TANDEM_CHECK(batch_size_ >= settings.ranks, "DataSource: batch_size is ", batch_size_, ", but there are ",
               settings.ranks, " ranks; accepted: at least one example for each rank");
  TANDEM_CHECK(workers_ >= 0, "DataSource: workers is ", workers_, "; accepted: 0 or more");
  TANDEM_CHECK(!drop_last_ || size_ >= static_cast<size_t>(batch_size_), "DataSource: the dataset has ", size_,
               " examples, and batch_size is ", batch_size_,
               ", so drop_last(true) leaves no batch; accepted: a "
               "batch_size of at most ",
               size_);
  TANDEM_CHECK(lengths_.empty() || lengths_.size() == size_, "DataSource: the dataset has ", size_,
               " examples, but there are ", lengths_.size(), " lengths; accepted: as many, or none");
  auto lengths = lengths_.empty() ? nullptr : std::make_shared<const std::vector<int64_t>>(lengths_);
  return {size_, static_cast<size_t>(batch_size_), drop_last_, shuffle_, settings, std::move(lengths)};
}
data::DataLoaderOptions DataSource::loader_options(const detail::SourceSettings& settings) const {
  return data::DataLoaderOptions(static_cast<size_t>(batch_size_))
      .workers(static_cast<size_t>(workers_))
      .device(settings.device)
      .pin_memory(settings.pin_memory);
}

}  // namespace tandem::train
