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
    : reducer_(ddp.watched_), optimizer_(optimizer), options_(options) {
  TANDEM_CHECK(!dynamic_cast<optim::LBFGS*>(&optimizer),
               "StepInBackward: LBFGS is not supported, because a step of LBFGS runs backward several times");
  TANDEM_CHECK(optimizer.who_steps().empty(), "StepInBackward: ", optimizer.who_steps(),
               " already runs the steps of this optimizer");
  TANDEM_CHECK(!(*reducer_)->has_after_bucket(), "StepInBackward: ", ddp.number_,
               " already runs the steps of an optimizer; accepted: one optimizer, which may have several groups of "
               "parameters");
  std::set<const TensorImpl*> of_module;
  for (const Tensor& p : ddp.wrapped_->parameters()) of_module.insert(p.impl());
  std::map<const TensorImpl*, size_t> numbers;
  for (const Tensor& p : optimizer.parameters()) {
    TANDEM_CHECK(of_module.count(p.impl()), "StepInBackward: parameter ", numbers.size(), " of the optimizer, of ",
                 p.sizes(), ", is not a parameter of the module of ", ddp.number_,
                 "; accepted: an optimizer of only that module's parameters");
    numbers.emplace(p.impl(), numbers.size());
  }
  for (const Tensor& p : (*reducer_)->parameters()) {
    const auto found = numbers.find(p.impl());
    numbers_.push_back(found == numbers.end() ? std::nullopt : std::optional(found->second));
  }
  optimizer.leave_steps_to(ddp.number_);
  (*reducer_)->set_after_bucket([this](size_t bucket) { after_bucket(bucket); });
}
StepInBackward::~StepInBackward() {
  if (*reducer_) (*reducer_)->set_after_bucket(nullptr);
  optimizer_.leave_steps_to("");
}

void StepInBackward::after_bucket(size_t bucket) {
  const PhaseSpan phase("optimizer");
  const detail::BucketPlan& buckets = (*reducer_)->buckets();
  if (bucket == 0) stepped_.clear();  // drop entries that are left from a backward that threw
  stepped_.resize(optimizer_.size());
  std::vector<size_t> now;
  if (bucket < buckets.size()) {
    for (const size_t i : buckets[bucket])
      if (numbers_[i]) now.push_back(*numbers_[i]);
  } else {  // all other parameters, including those that DDP ignores and are in no bucket
    for (size_t i = 0; i < stepped_.size(); ++i)
      if (!stepped_[i]) now.push_back(i);
  }
  optimizer_.step_some(now);
  for (const size_t i : now) {
    stepped_[i] = true;
    if (!options_.keep_gradients()) optimizer_.parameters()[i].zero_grad(/*set_to_none=*/true);
  }
  if (bucket == buckets.size()) stepped_.clear();
}

}  // namespace tandem::nn::parallel
