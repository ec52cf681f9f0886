// Schedules of the learning rate, with the names of torch.optim.lr_scheduler.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Sets the learning rate of each parameter group, from the number of step() calls so far and the base rate, the
/// group's initial_lr(). Sets the rates in the constructor and in each step(). The optimizer must outlive the schedule.
/// If other code changes a rate between two steps, the schedule continues from the changed rate, as in PyTorch; only
/// LambdaLR, OneCycleLR and CosineAnnealingWarmRestarts ignore such a change.
class LRScheduler {
 public:
  using Rate = std::function<double(int64_t step, double base)>;
  /// Computes the new rate from the current one, so that several schedules can change the same rate.
  using RateUpdate = std::function<double(int64_t step, double base, double current)>;
  /// Sets options other than the rate in a step.
  using Extra = std::function<void(int64_t step, size_t group, OptimizerOptions& options)>;
  /// The functions that define a schedule.
  struct Schedule {
    /// Computes the rate from the number of steps and the base rate.
    Rate rate;
    RateUpdate update_rate = nullptr;  // if null, a step always sets `rate`
    bool is_recursive = false;  // if true, a step calls `update_rate`: `rate` is slow, or other code changed the rate
    /// Called after each change of the rate.
    Extra extra_options = nullptr;
  };
  LRScheduler(Optimizer& optimizer, Rate rate);
  LRScheduler(Optimizer& optimizer, Schedule schedule);
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = default;
  LRScheduler(LRScheduler&&) = default;
  /// Increments the step count and sets the rates of that step. If a schedule overrides get_lrs(), as schedules written
  /// for LibTorch do, get_lrs() is called before the count is incremented.
  void step();
  /// Returns the current rate of each group.
  std::vector<double> get_last_lr() const;
  /// Returns the rate after `step` calls of step(), for the base rate `base`; ignores the optimizer's current rate.
  /// @throws Error if the schedule overrides get_lrs()
  double rate_at(int64_t step, double base) const;
  /// Returns the rate that call number `step` of step() computes from the rate `current`.
  double next_rate(int64_t step, double base, double current) const;
  /// Sets the options that the schedule controls besides the rate.
  void set_extra_options(int64_t step, size_t group, OptimizerOptions& options) const;
  /// Returns the optimizer whose rates the schedule sets.
  Optimizer& optimizer() const { return optimizer_; }
  /// Whether a step computes the new rate from the current one.
  bool is_recursive() const { return schedule_.is_recursive; }
  /// Writes the number of steps and the last rates, under PyTorch's keys. The optimizer's own rates are not included;
  /// save the optimizer too.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote, so that step() continues from there. @throws Error for invalid contents
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// For schedules that override get_lrs(). Rates stay unchanged until the first step().
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  /// Returns the rates that the next step() sets, one per group. step_count_: number of previous steps.
  virtual std::vector<double> get_lrs();
  /// Returns the current rate of each group.
  std::vector<double> get_current_lrs() const { return get_last_lr(); }
  unsigned step_count_ = 0;

 private:
  void set_rates();
  Optimizer& optimizer_;
  Schedule schedule_;
  std::vector<double> last_lr_;  // rates set by the last step
};

/// Sets base * gamma^(step / step_size), with the quotient rounded down.
/// @throws Error unless step_size is positive
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
};
/// Sets base * gamma^n, where n is the number of milestones reached. Milestones may be in any order; duplicates count
/// twice.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);
};
/// Sets base * gamma^step.
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);
};
/// Sets base * factor(step).
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t step)> factor);
};
/// Decreases the rate from base to eta_min along half a cosine of T_max steps (Loshchilov and Hutter 2017,
/// arXiv:1608.03983).
/// @throws Error unless T_max is positive
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);
};
/// Changes the rate linearly from start_factor * base to end_factor * base over total_iters steps, for example as a
/// warm-up.
/// @throws Error unless total_iters is positive
class LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5);
};
/// Decreases the rate from base to eta_min along half a cosine of T_0 steps, then restarts from base with a period
/// T_mult times as long, and so on (SGDR: Loshchilov and Hutter 2017, arXiv:1608.03983).
/// @throws Error unless T_0 and T_mult are positive
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);
};
/// Sets factor * base for total_iters steps, then base.
/// @throws Error unless factor is above 0 and at most 1
class ConstantLR : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);
};
/// Sets base * (1 - step / total_iters)^power, and 0 after total_iters steps.
/// @throws Error unless total_iters is positive
class PolynomialLR : public LRScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);
};
/// Sets base * factor(1) * factor(2) * ... * factor(step).
class MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, std::function<double(int64_t step)> factor);
};
/// Applies several schedules in each step. Each schedule changes the rate that the previous schedule set, so factors
/// multiply. As in PyTorch, LambdaLR, OneCycleLR and CosineAnnealingWarmRestarts ignore the previous rate, so they must
/// come first. All schedules must use the same optimizer. Schedules are copied; do not call step() of the originals.
/// @throws Error if there is no schedule, or the schedules use several optimizers
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<LRScheduler> schedulers);
};
/// Runs schedules one after the other: schedule i + 1 starts at step milestones[i] and counts its steps from there. All
/// schedules must use `optimizer`. Schedules are copied; do not call step() of the originals.
/// @throws Error unless milestones are positive, ascend, and are one fewer than the schedules
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LRScheduler> schedules, std::vector<int64_t> milestones);
};

}  // namespace tandem::optim
