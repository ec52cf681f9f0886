// Optimizers: what configure_optimizers() returns, an optimizer with its schedules of the learning rate.
#pragma once
#include "tandem/optim/lr_scheduler.h"
#include "tandem/optim/reduce_lr_on_plateau.h"

namespace tandem::nn {
class Module;
}  // namespace tandem::nn

namespace tandem::train {

namespace detail {
/// A schedule, and when the Trainer calls its step().
struct Schedule {
  std::shared_ptr<optim::LRScheduler> scheduler;               // null for a plateau
  std::shared_ptr<optim::ReduceLROnPlateauScheduler> plateau;  // null for other schedules
  bool every_step = false;  // true: step() follows optimizer steps; false: the ends of epochs
  int64_t frequency = 1;
  std::string monitor = {};  // metric of a plateau
};
}  // namespace detail

/// Divides a module's parameters into two groups for optim::AdamW. Parameters of two or more dimensions take the
/// optimizer's weight decay. The others, such as biases and the weights of a LayerNorm, have no weight decay.
/// Parameters that do not require a gradient, and empty groups, are left out.
std::vector<optim::OptimizerParamGroup> weight_decay_groups(const nn::Module& module);

/// An optimizer and its schedules. Converts from a std::unique_ptr or std::shared_ptr to any optimizer.
///
///     auto sgd = std::make_unique<optim::SGD>(parameters(), 0.1);
///     auto cosine = std::make_unique<optim::CosineAnnealingLR>(*sgd, 1000);
///     return train::Optimizers(std::move(sgd)).schedule(std::move(cosine), "step");
class Optimizers {
 public:
  template <class O>
  requires std::is_base_of_v<optim::Optimizer, O> Optimizers(std::unique_ptr<O> optimizer)
      : optimizer_(std::move(optimizer)) {}
  template <class O>
  requires std::is_base_of_v<optim::Optimizer, O> Optimizers(std::shared_ptr<O> optimizer)
      : optimizer_(std::move(optimizer)) {}
  /// Adds a schedule. All schedules run in the order of these calls.
  /// @param interval   "epoch": a step at the end of each epoch; "step": a step after each step of the optimizer
  /// @param frequency  number of epochs or steps from one step of the schedule to the next
  /// @throws Error for another interval, a frequency below 1, and a schedule of another optimizer
  Optimizers& schedule(std::shared_ptr<optim::LRScheduler> scheduler, const std::string& interval = "epoch",
                       int64_t frequency = 1);
  /// Adds a schedule that follows a metric. At the end of each epoch it makes a step with the metric's latest value. If
  /// there is none, fit() throws an Error.
  /// @param monitor  name of the metric, such as "val_loss"
  Optimizers& schedule(std::shared_ptr<optim::ReduceLROnPlateauScheduler> plateau, const std::string& monitor);
  /// The optimizer.
  const std::shared_ptr<optim::Optimizer>& optimizer() const { return optimizer_; }
  /// The schedules, in the order of the calls of schedule().
  const std::vector<detail::Schedule>& schedules() const { return schedules_; }

 private:
  std::shared_ptr<optim::Optimizer> optimizer_;
  std::vector<detail::Schedule> schedules_;
};

}  // namespace tandem::train
