// Implements Optimizers: checks the schedules that are added.
#include "tandem/train/optimizers.h"

#include "tandem/core/internal.h"

namespace tandem::train {

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
