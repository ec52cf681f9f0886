#include "tandem/parallel/bucket_plan.h"

#include <map>

#include "tandem/core/internal.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::nn::parallel::detail {

namespace {
/// Nothing hides the bucket of the last gradients: it holds as many of them as fit into `cap`, and those before them
/// have a bucket that need not wait.
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

Buckets::Buckets(BucketPlan plan, const std::vector<Tensor>& parameters, int64_t status_elements, bool is_alone)
    : plan_(std::move(plan)), bucket_of_(parameters.size()), slots_(parameters.size()) {
  for (size_t b = 0; b < plan_.size(); ++b) {
    const Tensor& like = parameters[plan_[b][0]];
    // Each gradient begins at a multiple of 16 bytes, as the optimizers' kernels like it; the zeros between stay zeros.
    const int64_t vector = 16 / like.itemsize();
    const auto room = [&](size_t i) { return is_alone ? 0 : (parameters[i].numel() + vector - 1) / vector * vector; };
    const int64_t status = b + 1 == plan_.size() ? status_elements : 0;
    int64_t total = status + is_alone, at = is_alone;
    for (const size_t i : plan_[b]) total += room(i);
    const Tensor flat = zeros({total}, TensorOptions(like.dtype()).device(like.device()));
    for (const size_t i : plan_[b]) {
      const Tensor& p = parameters[i];  // whose strides its gradient has
      const auto strides = is_alone ? tandem::detail::Shape(p.sizes().size(), 0) : core::preserved_strides(*p.impl());
      slots_[i] = core::as_strided(flat, p.sizes(), strides, is_alone ? 0 : at).data();
      bucket_of_[i] = b;
      at += room(i);
    }
    if (status > 0) status_ = flat.narrow(0, at, status);
    flats_.push_back(flat);
  }
}
Tensor Buckets::gradients(size_t b) const {
  const Tensor& flat = flats_[b];
  return b + 1 == size() && status_.defined() ? flat.narrow(0, 0, flat.numel() - status_.numel()) : flat;
}

}  // namespace tandem::nn::parallel::detail
