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
/// Gradient accumulators that have a hook of some Gradients object of this process. An accumulator may have only one
/// such hook: two hooks would reduce a gradient while the first reduction still runs.
struct AccumulatorRegistry {
  std::mutex mutex;
  std::map<const autograd::AccumulateGrad*, std::string> owners;
};
AccumulatorRegistry& accumulator_registry() {
  static auto& all = *new AccumulatorRegistry;  // never destroyed, because modules may be static
  return all;
}
}  // namespace

Gradients::Gradients(std::string error_prefix, const NamedParameters& parameters, bool gradient_as_bucket_view)
    : error_prefix_(std::move(error_prefix)), gradient_as_bucket_view_(gradient_as_bucket_view) {
  for (const auto& item : parameters) {
    if (!item.value().requires_grad()) continue;
    parameter_names_.push_back(item.key());
    parameters_.push_back(item.value());
  }
  claim_accumulators();
}
Gradients::~Gradients() {
  for (size_t i = 0; i < hook_ids_.size(); ++i) accumulators_[i]->remove_post_hook(hook_ids_[i]);
  for (const auto& accumulator : accumulators_) accumulator->set_grad_buffer({});
  const std::lock_guard lock(accumulator_registry().mutex);
  for (const auto& accumulator : accumulators_) accumulator_registry().owners.erase(accumulator.get());
}
void Gradients::claim_accumulators() {
  accumulators_.reserve(size());
  for (const Tensor& p : parameters_) accumulators_.push_back(autograd::grad_accumulator(p));
  const std::lock_guard lock(accumulator_registry().mutex);
  for (size_t i = 0; i < size(); ++i)
    if (const auto other = accumulator_registry().owners.find(accumulators_[i].get());
        other != accumulator_registry().owners.end())
      TANDEM_FAIL(error_prefix_, ": ", parameter_names_[i], " is in another ", other->second,
                  " already; accepted: one at a time, so destroy that one first");
  for (const auto& accumulator : accumulators_) accumulator_registry().owners[accumulator.get()] = error_prefix_;
}
void Gradients::add_post_hooks(const std::function<void(size_t)>& f) {
  for (size_t i = 0; i < size(); ++i)
    hook_ids_.push_back(accumulators_[i]->add_post_hook([f, i](const Tensor&) { f(i); }));
}
std::vector<int64_t> Gradients::bucket_sizes() const {
  std::vector<int64_t> sizes;
  for (const std::vector<size_t>& bucket : buckets_.plan()) {
    sizes.push_back(0);
    for (const size_t i : bucket) sizes.back() += parameters_[i].nbytes();
  }
  return sizes;
}

void Gradients::allocate(BucketPlan plan, int64_t status_elements, bool is_single_rank, int64_t shards) {
  is_single_rank_ = is_single_rank;
  buckets_ = Buckets(std::move(plan), parameters_, status_elements, is_single_rank, shards);
  if (!gradient_as_bucket_view_ || is_single_rank_) return;
  for (size_t i = 0; i < size(); ++i) {
    if (parameters_[i].requires_grad() && parameters_[i].grad().defined()) copy_to_slot(i);
    accumulators_[i]->set_grad_buffer(buckets_.slot(i));
  }
}
bool Gradients::begin_forward(size_t i) {
  const Tensor &p = parameters_[i], &slot = buckets_.slot(i);
  TANDEM_CHECK(accumulators_[i]->matches_input_metadata(0, p), error_prefix_, ": ", parameter_names_[i], " was ",
               slot.dtype(), slot.sizes(), " on ", slot.device(), " when the module was wrapped, but is ", p.dtype(),
               p.sizes(), " on ", p.device(), " now; move or convert a module before wrapping it");
  if (p.requires_grad()) return true;
  // The parameter is frozen, so its gradient must stay as it is. Move the gradient out of the bucket, which may be
  // averaged.
  if (p.grad().defined() && p.grad().storage() == slot.storage()) p.set_grad(p.grad().clone());
  return false;
}
bool Gradients::accumulates_in_backward(size_t i) const { return autograd::should_accumulate_grad(*accumulators_[i]); }
void Gradients::finalize_gradient(size_t i) {
  if (gradient_as_bucket_view_ && !is_single_rank_)
    copy_to_slot(i);  // the program may have replaced grad(), a view of the slot, by another tensor
  else if (parameters_[i].grad().requires_grad())
    parameters_[i].set_grad(parameters_[i].grad().detach());
}
void Gradients::copy_to_slot(size_t i) {
  const Tensor& grad = parameters_[i].grad();
  if (is_single_rank_ || grad.is_same(buckets_.slot(i))) return;
  Tensor slot = buckets_.slot(i);
  slot.copy_(grad.detach());
  if (gradient_as_bucket_view_) parameters_[i].set_grad(slot);
}
void Gradients::fill_slot(size_t i, bool keep) {
  if (is_single_rank_) return;
  const Tensor& grad = parameters_[i].grad();
  if (!grad.defined()) {
    Tensor(buckets_.slot(i)).zero_();
    return;
  }
  if (keep && gradient_as_bucket_view_) saved_gradients_[i] = grad.clone();
  copy_to_slot(i);
}
void Gradients::copy_from_bucket(size_t b, const std::vector<bool>& averaged) {
  if (is_single_rank_) return;
  for (const size_t i : buckets_.plan()[b]) {
    Tensor slot = buckets_.slot(i);
    if (!averaged[i]) {
      if (const auto kept = saved_gradients_.find(i); kept != saved_gradients_.end()) slot.copy_(kept->second);
      continue;
    }
    if (Tensor grad = parameters_[i].grad(); !grad.defined())
      parameters_[i].set_grad(gradient_as_bucket_view_ ? slot : slot.clone());
    else if (!gradient_as_bucket_view_)
      grad.copy_(slot);
  }
}

}  // namespace tandem::nn::parallel::detail
