// Implements reset() and next() of SequentialSampler, RandomSampler and StreamSampler.
#include "tandem/data/samplers/samplers.h"

#include <algorithm>
#include <numeric>

#include "tandem/core/internal.h"
#include "tandem/ops/random/randperm.h"

namespace tandem::data::samplers {
namespace {

using Indices = std::vector<size_t>;

/// Returns the largest value of an integer dtype, or nullopt for other dtypes.
std::optional<int64_t> max_index_value(Dtype dtype) {
  switch (dtype) {
    case kInt64: return INT64_MAX;
    case kInt32: return INT32_MAX;
    case kInt16: return INT16_MAX;
    case kInt8: return INT8_MAX;
    case kUInt8: return UINT8_MAX;
    default: return {};
  }
}

}  // namespace

std::optional<Indices> detail::take_indices(const Indices& indices, size_t& index, size_t end, size_t batch_size) {
  const size_t n = std::min(batch_size, end - index);
  if (n == 0) return {};
  const auto begin = indices.begin() + static_cast<std::ptrdiff_t>(index);
  index += n;
  return Indices(begin, begin + static_cast<std::ptrdiff_t>(n));
}

void detail::check_rank(const char* sampler, size_t num_replicas, size_t rank) {
  TANDEM_CHECK(num_replicas > 0 && rank < num_replicas, sampler, ": num_replicas is ", num_replicas, " and rank is ",
               rank, "; accepted: num_replicas of 1 or more, and rank from 0 to num_replicas - 1");
}

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

RandomSampler::RandomSampler(int64_t size, Dtype index_dtype) { draw_permutation(size, index_dtype); }
void RandomSampler::draw_permutation(int64_t size, Dtype dtype) {
  TANDEM_CHECK(size >= 0, "RandomSampler: size is ", size, "; it must not be negative");
  const std::optional<int64_t> last = max_index_value(dtype);
  TANDEM_CHECK(last && size - 1 <= *last, "RandomSampler: indices up to ", size - 1, " do not fit into ", dtype,
               "; accepted: an integer dtype that holds them");
  indices_ = randperm(size).to(dtype);
  index_ = 0;
}
void RandomSampler::reset(std::optional<size_t> new_size) {
  draw_permutation(new_size ? static_cast<int64_t>(*new_size) : indices_.numel(), indices_.dtype());
}
std::optional<Indices> RandomSampler::next(size_t batch_size) {
  const auto left = static_cast<size_t>(indices_.numel() - index_);
  const auto n = static_cast<int64_t>(std::min(batch_size, left));
  if (n == 0) return {};
  const Tensor batch = indices_.narrow(0, index_, n).to(kInt64);
  index_ += n;
  const int64_t* p = batch.data<int64_t>();
  return Indices(p, p + n);
}

void StreamSampler::reset(std::optional<size_t> new_size) {
  epoch_size_ = new_size.value_or(epoch_size_);
  examples_retrieved_so_far_ = 0;
}
std::optional<BatchSize> StreamSampler::next(size_t batch_size) {
  const size_t n = std::min(batch_size, epoch_size_ - examples_retrieved_so_far_);
  if (n == 0) return {};
  examples_retrieved_so_far_ += n;
  return BatchSize(n);
}

}  // namespace tandem::data::samplers
