#include "tandem/data/samplers.h"

#include <algorithm>
#include <numeric>

#include "tandem/core/generator.h"
#include "tandem/core/internal.h"
#include "tandem/ops/factory.h"

namespace tandem::data::samplers {
namespace {

using Indices = std::vector<size_t>;

std::optional<Indices> take(const Indices& indices, size_t& index, size_t batch_size) {
  const size_t n = std::min(batch_size, indices.size() - index);
  if (n == 0) return {};
  const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(index);
  index += n;
  return Indices(begin, begin + static_cast<std::ptrdiff_t>(n));
}

Indices permutation(size_t size) {
  const Tensor order = randperm(static_cast<int64_t>(size));
  const int64_t* p = order.data<int64_t>();
  return Indices(p, p + size);
}

}  // namespace

void SequentialSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  index_ = 0;
}
std::optional<Indices> SequentialSampler::next(size_t batch_size) {
  const size_t n = std::min(batch_size, size_ - index_);
  if (n == 0) return {};
  Indices batch(n);
  std::iota(batch.begin(), batch.end(), index_);
  index_ += n;
  return batch;
}

void RandomSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  indices_ = permutation(size_);
  index_ = 0;
}
std::optional<Indices> RandomSampler::next(size_t batch_size) { return take(indices_, index_, batch_size); }

Indices detail::distributed_indices(ArrayRef<size_t> order, size_t num_replicas, size_t rank, Tail tail) {
  TANDEM_CHECK(num_replicas > 0 && rank < num_replicas, "DistributedSampler: rank is ", rank, " of ", num_replicas,
               " replicas; accepted: 0 to replicas - 1");
  const size_t n = order.size();
  size_t total = n;
  if (tail == Tail::kDrop) total = n / num_replicas * num_replicas;
  if (tail == Tail::kPad) total = (n + num_replicas - 1) / num_replicas * num_replicas;
  Indices share;
  for (size_t i = rank; i < total; i += num_replicas) share.push_back(order[i % n]);
  return share;
}

DistributedSampler::DistributedSampler(size_t size, size_t num_replicas, size_t rank, DistributedSamplerOptions options)
    : size_(size), num_replicas_(num_replicas), rank_(rank), options_(options) {
  reset();
}
void DistributedSampler::reset(std::optional<size_t> new_size) {
  size_ = new_size.value_or(size_);
  Indices order(size_);
  if (options_.shuffle) {
    // A stream of its own: the same on every rank, and this rank's other random numbers stay what they are.
    Generator generator(options_.seed + epoch_);
    const GeneratorGuard guard(generator);
    order = permutation(size_);
  } else {
    std::iota(order.begin(), order.end(), size_t{0});
  }
  const Tail tail = options_.drop_last ? Tail::kDrop : options_.pad ? Tail::kPad : Tail::kKeep;
  indices_ = distributed_indices(order, num_replicas_, rank_, tail);
  index_ = 0;
}
std::optional<Indices> DistributedSampler::next(size_t batch_size) { return take(indices_, index_, batch_size); }
void DistributedSampler::set_epoch(size_t epoch) {
  epoch_ = epoch;
  if (index_ == 0) reset();
}

}  // namespace tandem::data::samplers
