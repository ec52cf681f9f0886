// Implements Gradients: copies gradients into the slots of the buckets, and the averages back to the parameters.
#include "tandem/parallel/sync/gradients.h"

#include <map>
#include <mutex>

#include "tandem/autograd/engine.h"
#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/fill.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::nn::parallel::detail {

namespace {
/// Gradient accumulators that have a hook of some Gradients of this process. An accumulator may have only one such
/// hook: two hooks would reduce a gradient while the first reduction still runs.
struct Taken {
  std::mutex mutex;
  std::map<const autograd::AccumulateGrad*, std::string> owners;
};
Taken& taken() {
  static auto& all = *new Taken;  // never destroyed, because modules may be static
  return all;
}
}  // namespace

Gradients::Gradients(std::string owner, const NamedParameters& parameters, bool are_views)
    : owner_(std::move(owner)), views_(are_views) {
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    names_.push_back(item.key());
    parameters_.push_back(item.value());
  }
  take();
}
Gradients::~Gradients() {
  for (size_t i = 0; i < hooks_.size(); ++i) accumulators_[i]->remove_post_hook(hooks_[i]);
  for (const auto& accumulator : accumulators_) accumulator->set_slot({});
  const std::lock_guard lock(taken().mutex);
  for (const auto& accumulator : accumulators_) taken().owners.erase(accumulator.get());
}
void Gradients::take() {
  accumulators_.reserve(size());
  for (const Tensor& p : parameters_) accumulators_.push_back(autograd::grad_accumulator(p));
  const std::lock_guard lock(taken().mutex);
  for (size_t i = 0; i < size(); ++i)
    if (const auto other = taken().owners.find(accumulators_[i].get()); other != taken().owners.end())
      TANDEM_FAIL(owner_, ": ", names_[i], " is in another ", other->second,
                  " already; accepted: one at a time, so destroy that one first");
  for (const auto& accumulator : accumulators_) taken().owners[accumulator.get()] = owner_;
}
void Gradients::watch(const std::function<void(size_t)>& f) {
  for (size_t i = 0; i < size(); ++i)
    hooks_.push_back(accumulators_[i]->add_post_hook([f, i](const Tensor&) { f(i); }));
}
std::vector<int64_t> Gradients::bucket_sizes() const {
  std::vector<int64_t> sizes;
  for (const std::vector<size_t>& bucket : buckets_.plan()) {
    sizes.push_back(0);
    for (const size_t i : bucket) sizes.back() += parameters_[i].nbytes();
  }
  return sizes;
}

void Gradients::lay_out(BucketPlan plan, int64_t status_elements, bool is_alone, int64_t shards) {
  is_alone_ = is_alone;
  buckets_ = Buckets(std::move(plan), parameters_, status_elements, is_alone, shards);
  if (!views_ || is_alone_) return;
  for (size_t i = 0; i < size(); ++i) {
    if (parameters_[i].requires_grad() && parameters_[i].grad().defined()) to_slot(i);
    accumulators_[i]->set_slot(buckets_.slot(i));
  }
}
bool Gradients::begin_forward(size_t i) {
  const Tensor &p = parameters_[i], &slot = buckets_.slot(i);
  TANDEM_CHECK(accumulators_[i]->fits(0, p), owner_, ": ", names_[i], " was ", slot.dtype(), slot.sizes(), " on ",
               slot.device(), " when the module was wrapped, but is ", p.dtype(), p.sizes(), " on ", p.device(),
               " now; move or convert a module before wrapping it");
  if (p.requires_grad()) return true;
  // The parameter is frozen, so its gradient must stay as it is. Move the gradient out of the bucket, which may be
  // averaged.
  if (p.grad().defined() && p.grad().storage() == slot.storage()) p.set_grad(p.grad().clone());
  return false;
}
bool Gradients::is_added_to(size_t i) const { return autograd::accumulates_into(*accumulators_[i]); }
void Gradients::settle(size_t i) {
  if (views_ && !is_alone_)
    to_slot(i);  // the program may have set another tensor as gradient
  else if (parameters_[i].grad().requires_grad())
    parameters_[i].set_grad(parameters_[i].grad().detach());
}
void Gradients::to_slot(size_t i) {
  const Tensor& grad = parameters_[i].grad();
  if (is_alone_ || grad.is_same(buckets_.slot(i))) return;
  Tensor slot = buckets_.slot(i);
  slot.copy_(grad.detach());
  if (views_) parameters_[i].set_grad(slot);
}
void Gradients::fill(size_t i, bool keep) {
  if (is_alone_) return;
  const Tensor& grad = parameters_[i].grad();
  if (!grad.defined()) {
    Tensor(buckets_.slot(i)).zero_();
    return;
  }
  if (keep && views_) untouched_[i] = grad.clone();
  to_slot(i);
}
void Gradients::hand_back(size_t b, const std::vector<bool>& averaged) {
  if (is_alone_) return;
  for (const size_t i : buckets_.plan()[b]) {
    Tensor slot = buckets_.slot(i);
    if (!averaged[i]) {
      if (const auto kept = untouched_.find(i); kept != untouched_.end()) slot.copy_(kept->second);
      continue;
    }
    if (Tensor grad = parameters_[i].grad(); !grad.defined())
      parameters_[i].set_grad(views_ ? slot : slot.clone());
    else if (!views_)
      grad.copy_(slot);
  }
}

}  // namespace tandem::nn::parallel::detail
