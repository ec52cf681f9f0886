// Implements Optimizers: checks the schedules that are added.
#include "tandem/train/optimizers.h"

#include "tandem/core/internal.h"
#include "tandem/nn/module.h"
#include "tandem/optim/adam.h"

namespace tandem::train {

std::vector<optim::OptimizerParamGroup> weight_decay_groups(const nn::Module& module) {
  std::vector<Tensor> decayed, others;
  for (const Tensor& p : module.parameters())
    if (p.requires_grad()) (p.dim() >= 2 ? decayed : others).push_back(p);
  std::vector<optim::OptimizerParamGroup> groups;
  if (!decayed.empty()) groups.emplace_back(std::move(decayed));
  if (!others.empty())  // an option with its default value takes the optimizer's value
    groups.emplace_back(std::move(others),
                        std::make_unique<optim::AdamWOptions>(optim::AdamWOptions().weight_decay(0)));
  return groups;
}

Optimizers& Optimizers::schedule(std::shared_ptr<optim::LRScheduler> scheduler, const std::string& interval,
                                 int64_t frequency) {
  TANDEM_CHECK(scheduler, "Optimizers: the schedule is null; accepted: a schedule of the optimizer");
  TANDEM_CHECK(&scheduler->optimizer() == optimizer_.get(),
               "Optimizers: the schedule changes another optimizer; accepted: a schedule that was made for the "
               "optimizer passed to Optimizers");
  TANDEM_CHECK(interval == "step" || interval == "epoch", "Optimizers: the interval of the schedule is '", interval,
               "'; accepted: step, epoch");
  TANDEM_CHECK(frequency >= 1, "Optimizers: the frequency of the schedule is ", frequency, "; accepted: 1 or more");
  schedules_.push_back({std::move(scheduler), nullptr, interval == "step", frequency});
  return *this;
}

Optimizers& Optimizers::schedule(std::shared_ptr<optim::ReduceLROnPlateauScheduler> plateau,
                                 const std::string& monitor) {
  TANDEM_CHECK(plateau, "Optimizers: the schedule is null; accepted: a schedule of the optimizer");
  TANDEM_CHECK(!monitor.empty(), "Optimizers: the schedule has no metric; accepted: the name of a metric");
  schedules_.push_back({nullptr, std::move(plateau), false, 1, monitor});
  return *this;
}

}  // namespace tandem::train
