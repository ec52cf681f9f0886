// Implements the layout: plans buckets and shards from the sizes of gradients, and allocates the buckets of a plan.
#include "tandem/parallel/sync/layout.h"

#include <algorithm>
#include <map>

#include "tandem/core/internal.h"
#include "tandem/nn/utils/clip_grad.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::nn::parallel::detail {

namespace {
/// Splits the last bucket in two. No computation overlaps with the reduction of the last bucket, so it keeps only as
/// many of the last gradients as fit into `cap`. The gradients before them are reduced earlier, as a bucket of their
/// own.
void split_last_bucket(BucketPlan& plan, const std::vector<BucketItem>& items, int64_t cap) {
  if (plan.empty()) return;
  std::vector<size_t>& last = plan.back();
  size_t from = last.size();
  for (int64_t bytes = 0; from > 0 && (bytes += items[last[from - 1]].bytes) <= cap;) --from;
  if (from == 0 || from == last.size()) return;
  std::vector<size_t> rest(last.begin() + static_cast<ptrdiff_t>(from), last.end());
  last.resize(from);
  plan.push_back(std::move(rest));
}
}  // namespace

BucketPlan plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap, int64_t cap,
                        std::vector<size_t> order) {
  if (order.empty())
    for (size_t i = items.size(); i-- > 0;) order.push_back(i);
  BucketPlan plan;
  struct OpenBucket {
    size_t bucket;
    int64_t bytes;
  };
  std::map<std::pair<DType, Device>, OpenBucket> open;
  for (const size_t i : order) {
    const auto key = std::pair(items[i].dtype, items[i].device);
    const auto at = open.find(key);
    const bool first = at != open.end() && at->second.bucket == 0;
    if (at == open.end() || at->second.bytes + items[i].bytes > (first ? first_cap : cap)) {
      open[key] = {plan.size(), 0};
      plan.emplace_back();
    }
    OpenBucket& bucket = open[key];
    plan[bucket.bucket].push_back(i);
    bucket.bytes += items[i].bytes;
  }
  split_last_bucket(plan, items, first_cap);
  return plan;
}

FlatLayout plan_flat_layout(const std::vector<int64_t>& elements, int64_t vector, int64_t shards) {
  const auto round_up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
  constexpr int64_t kAlignment = utils::kNormBlock;
  FlatLayout plan;
  plan.offsets.resize(elements.size());
  int64_t total = 0;
  for (const int64_t n : elements) total += round_up(n, vector);
  // Shard boundaries are multiples of kAlignment, so a tensor that spans a boundary must begin at a multiple of
  // kAlignment too.
  for (plan.shard_numel = shards == 1 ? total : round_up((total + shards - 1) / shards, kAlignment);;
       plan.shard_numel += kAlignment) {
    int64_t end = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool spans_boundary =
          elements[i] > 0 && end / plan.shard_numel != (end + elements[i] - 1) / plan.shard_numel;
      plan.offsets[i] = spans_boundary ? round_up(end, kAlignment) : end;
      end = plan.offsets[i] + round_up(elements[i], vector);
    }
    if (end <= plan.shard_numel * shards) return plan;
  }
}
std::vector<ShardRange> list_shard_ranges(const FlatLayout& plan, const std::vector<int64_t>& elements, int64_t shard) {
  const int64_t begin = shard * plan.shard_numel, end = begin + plan.shard_numel;
  std::vector<ShardRange> shard_ranges;
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t first = std::max(plan.offsets[i], begin), last = std::min(plan.offsets[i] + elements[i], end);
    if (first < last) shard_ranges.push_back({i, first - plan.offsets[i], last - first, first - begin});
  }
  return shard_ranges;
}

namespace {
std::vector<int64_t> numels(const std::vector<size_t>& bucket, const std::vector<Tensor>& parameters) {
  std::vector<int64_t> elements;
  elements.reserve(bucket.size());
  for (const size_t i : bucket) elements.push_back(parameters[i].numel());
  return elements;
}
}  // namespace

Buckets::Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_single_rank,
                 int64_t shards)
    : plan_(std::move(plan)), bucket_of_parameter_(parameters.size()), slots_(parameters.size()) {
  for (size_t b = 0; b < plan_.size(); ++b) {
    const Tensor& like = parameters[plan_[b][0]];
    // Each gradient begins at a multiple of 16 bytes, so that optimizers can use vector loads. The padding stays 0.
    flat_layouts_.push_back(plan_flat_layout(numels(plan_[b], parameters), 16 / like.itemsize(), shards));
    const int64_t capacity = is_single_rank ? 1 : flat_layouts_[b].shard_numel * shards,
                  status = b + 1 == size() ? status_elements : 0;
    const Tensor flat_tensor = zeros({capacity + status}, TensorOptions(like.dtype()).device(like.device()));
    for (size_t k = 0; k < plan_[b].size(); ++k) {
      const size_t i = plan_[b][k];
      const Tensor& p = parameters[i];  // parameter, whose gradient has the same strides
      const auto strides =
          is_single_rank ? tandem::detail::Shape(p.sizes().size(), 0) : core::preserved_strides(*p.impl());
      slots_[i] =
          core::as_strided(flat_tensor, p.sizes(), strides, is_single_rank ? 0 : flat_layouts_[b].offsets[k]).data();
      bucket_of_parameter_[i] = b;
    }
    if (status > 0) status_ = flat_tensor.narrow(0, capacity, status);
    flat_tensors_.push_back(flat_tensor);
  }
}
Tensor Buckets::gradients(size_t b) const {
  const Tensor& flat_tensor = flat_tensors_[b];
  return b + 1 == size() && status_.defined() ? flat_tensor.narrow(0, 0, flat_tensor.numel() - status_.numel())
                                              : flat_tensor;
}
Tensor Buckets::shard(size_t b, int64_t number) const {
  return flat_tensors_[b].narrow(0, number * flat_layouts_[b].shard_numel, flat_layouts_[b].shard_numel);
}
std::vector<ShardRange> Buckets::shard_ranges(size_t b, int64_t number) const {
  std::vector<int64_t> elements;
  for (const size_t i : plan_[b]) elements.push_back(slots_[i].numel());
  std::vector<ShardRange> shard_ranges = list_shard_ranges(flat_layouts_[b], elements, number);
  for (ShardRange& range : shard_ranges) range.tensor = plan_[b][range.tensor];
  return shard_ranges;
}

}  // namespace tandem::nn::parallel::detail
