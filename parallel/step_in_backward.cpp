// Implements StepInBackward: makes the optimizer's step for the parameters of a bucket as soon as their gradients are
// averaged.
#include "tandem/parallel/step_in_backward.h"

#include <set>

#include "tandem/core/trace/tracer.h"
#include "tandem/optim/lbfgs.h"
#include "tandem/parallel/reducer.h"

namespace tandem::nn::parallel {

StepInBackward::StepInBackward(DistributedDataParallelBase& ddp, optim::Optimizer& optimizer,
                               const StepInBackwardOptions& options)
    : reducer_(ddp.reducer_handle_), optimizer_(optimizer), options_(options) {
  TANDEM_CHECK(!dynamic_cast<optim::LBFGS*>(&optimizer),
               "StepInBackward: LBFGS is not supported, because a step of LBFGS runs backward several times; accepted: "
               "other optimizers");
  TANDEM_CHECK(optimizer.step_owner().empty(), "StepInBackward: ", optimizer.step_owner(),
               " already runs the steps of this optimizer; destroy its StepInBackward first");
  TANDEM_CHECK(!(*reducer_)->has_bucket_callback(), "StepInBackward: ", ddp.ddp_name_,
               " already runs the steps of an optimizer; accepted: one optimizer, which may have several groups of "
               "parameters");
  std::set<const TensorImpl*> module_parameters;
  for (const Tensor& p : ddp.wrapped_module_->parameters()) module_parameters.insert(p.impl());
  std::map<const TensorImpl*, size_t> optimizer_index;
  for (const Tensor& p : optimizer.parameters()) {
    TANDEM_CHECK(module_parameters.count(p.impl()), "StepInBackward: parameter ", optimizer_index.size(),
                 " of the optimizer, of ", p.sizes(), ", is not a parameter of the module of ", ddp.ddp_name_,
                 "; accepted: an optimizer of only that module's parameters");
    optimizer_index.emplace(p.impl(), optimizer_index.size());
  }
  for (const Tensor& p : (*reducer_)->parameters()) {
    const auto found = optimizer_index.find(p.impl());
    optimizer_indices_.push_back(found == optimizer_index.end() ? std::nullopt : std::optional(found->second));
  }
  optimizer.set_step_owner(ddp.ddp_name_);
  (*reducer_)->set_bucket_callback([this](size_t bucket) { on_bucket_averaged(bucket); });
}
StepInBackward::~StepInBackward() {
  if (*reducer_) (*reducer_)->set_bucket_callback(nullptr);
  optimizer_.set_step_owner("");
}

void StepInBackward::on_bucket_averaged(size_t bucket) {
  const PhaseSpan phase("optimizer");
  const detail::BucketPlan& buckets = (*reducer_)->buckets();
  if (bucket == 0) has_stepped_.clear();  // drop entries that are left from a backward that threw
  has_stepped_.resize(optimizer_.size());
  std::vector<size_t> now;
  if (bucket < buckets.size()) {
    for (const size_t i : buckets[bucket])
      if (optimizer_indices_[i]) now.push_back(*optimizer_indices_[i]);
  } else {  // steps all other parameters, including those that are in no bucket because DDP ignores them
    for (size_t i = 0; i < has_stepped_.size(); ++i)
      if (!has_stepped_[i]) now.push_back(i);
  }
  optimizer_.step_parameters(now);
  for (const size_t i : now) {
    has_stepped_[i] = true;
    if (!options_.keep_gradients()) optimizer_.parameters()[i].zero_grad(/*set_to_none=*/true);
  }
  if (bucket == buckets.size()) has_stepped_.clear();
}

}  // namespace tandem::nn::parallel
