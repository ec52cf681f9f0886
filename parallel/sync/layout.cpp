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
void split_last(BucketPlan& plan, const std::vector<BucketItem>& items, int64_t cap) {
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
  struct Open {
    size_t bucket;
    int64_t bytes;
  };
  std::map<std::pair<DType, Device>, Open> open;
  for (const size_t i : order) {
    const auto key = std::pair(items[i].dtype, items[i].device);
    const auto at = open.find(key);
    const bool first = at != open.end() && at->second.bucket == 0;
    if (at == open.end() || at->second.bytes + items[i].bytes > (first ? first_cap : cap)) {
      open[key] = {plan.size(), 0};
      plan.emplace_back();
    }
    Open& bucket = open[key];
    plan[bucket.bucket].push_back(i);
    bucket.bytes += items[i].bytes;
  }
  split_last(plan, items, first_cap);
  return plan;
}

FlatPlan plan_flat(const std::vector<int64_t>& elements, int64_t vector, int64_t shards) {
  const auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
  constexpr int64_t kCut = utils::kNormBlock;
  FlatPlan plan;
  plan.at.resize(elements.size());
  int64_t total = 0;
  for (const int64_t n : elements) total += up(n, vector);
  // Shard boundaries are multiples of kCut, so a tensor that spans a boundary must begin at a multiple of kCut too.
  for (plan.shard = shards == 1 ? total : up((total + shards - 1) / shards, kCut);; plan.shard += kCut) {
    int64_t end = 0;
    for (size_t i = 0; i < elements.size(); ++i) {
      const bool is_cut = elements[i] > 0 && end / plan.shard != (end + elements[i] - 1) / plan.shard;
      plan.at[i] = is_cut ? up(end, kCut) : end;
      end = plan.at[i] + up(elements[i], vector);
    }
    if (end <= plan.shard * shards) return plan;
  }
}
std::vector<ShardPiece> shard_pieces(const FlatPlan& plan, const std::vector<int64_t>& elements, int64_t shard) {
  const int64_t begin = shard * plan.shard, end = begin + plan.shard;
  std::vector<ShardPiece> pieces;
  for (size_t i = 0; i < elements.size(); ++i) {
    const int64_t first = std::max(plan.at[i], begin), last = std::min(plan.at[i] + elements[i], end);
    if (first < last) pieces.push_back({i, first - plan.at[i], last - first, first - begin});
  }
  return pieces;
}

namespace {
std::vector<int64_t> elements_of(const std::vector<size_t>& bucket, const std::vector<Tensor>& parameters) {
  std::vector<int64_t> elements;
  elements.reserve(bucket.size());
  for (const size_t i : bucket) elements.push_back(parameters[i].numel());
  return elements;
}
}  // namespace

Buckets::Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_alone,
                 int64_t shards)
    : plan_(std::move(plan)), bucket_of_(parameters.size()), slots_(parameters.size()) {
  for (size_t b = 0; b < plan_.size(); ++b) {
    const Tensor& like = parameters[plan_[b][0]];
    // Each gradient begins at a multiple of 16 bytes, so that optimizers can use vector loads. The padding stays 0.
    places_.push_back(plan_flat(elements_of(plan_[b], parameters), 16 / like.itemsize(), shards));
    const int64_t room = is_alone ? 1 : places_[b].shard * shards, status = b + 1 == size() ? status_elements : 0;
    const Tensor flat = zeros({room + status}, TensorOptions(like.dtype()).device(like.device()));
    for (size_t k = 0; k < plan_[b].size(); ++k) {
      const size_t i = plan_[b][k];
      const Tensor& p = parameters[i];  // has the same strides as its gradient
      const auto strides = is_alone ? tandem::detail::Shape(p.sizes().size(), 0) : core::preserved_strides(*p.impl());
      slots_[i] = core::as_strided(flat, p.sizes(), strides, is_alone ? 0 : places_[b].at[k]).data();
      bucket_of_[i] = b;
    }
    if (status > 0) status_ = flat.narrow(0, room, status);
    flats_.push_back(flat);
  }
}
Tensor Buckets::gradients(size_t b) const {
  const Tensor& flat = flats_[b];
  return b + 1 == size() && status_.defined() ? flat.narrow(0, 0, flat.numel() - status_.numel()) : flat;
}
Tensor Buckets::shard(size_t b, int64_t number) const {
  return flats_[b].narrow(0, number * places_[b].shard, places_[b].shard);
}
std::vector<ShardPiece> Buckets::pieces(size_t b, int64_t number) const {
  std::vector<int64_t> elements;
  for (const size_t i : plan_[b]) elements.push_back(slots_[i].numel());
  std::vector<ShardPiece> pieces = shard_pieces(places_[b], elements, number);
  for (ShardPiece& piece : pieces) piece.tensor = plan_[b][piece.tensor];
  return pieces;
}

}  // namespace tandem::nn::parallel::detail
