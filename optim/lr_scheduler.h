// Schedules of the learning rate, with the names of torch.optim.lr_scheduler.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// The learning rate of each parameter group as a function of the number of step() calls so far and of the base, the
/// group's initial_lr(). Sets the rates when it is made and at each step(). The optimizer must outlive it. Where
/// somebody else has changed a rate between two steps, a schedule that can goes on from there (all but LambdaLR,
/// OneCycleLR and CosineAnnealingWarmRestarts, which set it whatever it was), as in PyTorch.
class LRScheduler {
 public:
  using Rate = std::function<double(int64_t step, double base)>;
  /// What a rate becomes in a step, from what it is: so schedules of a chain change it one after the other.
  using Change = std::function<double(int64_t step, double base, double current)>;
  /// What a step sets beside the rate.
  using Extra = std::function<void(int64_t step, size_t group, OptimizerOptions& options)>;
  /// What a schedule is: the rate, and what a step does.
  struct Schedule {
    /// The rate by the number of steps and the base.
    Rate rate;
    Change change = nullptr;  // without it, a step sets the rate whatever it was
    bool continues = false;   // a step calls `change` rather than `rate`, which may take long
    /// Called behind each change of the rate.
    Extra extra = nullptr;
  };
  LRScheduler(Optimizer& optimizer, Rate rate);
  LRScheduler(Optimizer& optimizer, Schedule schedule);
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = default;
  LRScheduler(LRScheduler&&) = default;
  /// Counts one step more, and sets the rates that are due then. A schedule that overrides get_lrs(), as those written
  /// for LibTorch do, is asked for them before the step is counted.
  void step();
  /// The rates now, one for each group.
  std::vector<double> get_last_lr() const;
  /// The rate after `step` calls that `base` becomes, whatever the optimizer's is now.
  /// @throws Error for a schedule that has get_lrs() only
  double rate_at(int64_t step, double base) const;
  /// What call number `step` makes of the rate `current`.
  double changed(int64_t step, double base, double current) const;
  /// Sets what the schedule sets beside the rate.
  void set_extra(int64_t step, size_t group, OptimizerOptions& options) const;
  /// The optimizer whose rates it sets.
  Optimizer& optimizer() const { return optimizer_; }
  /// Whether a step goes on from the rate that there is.
  bool continues() const { return schedule_.continues; }
  /// Writes how many steps were made and which rates the last one set, under PyTorch's keys; the rates themselves are
  /// the optimizer's, which is saved beside it.
  virtual void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote: step() goes on from there. @throws Error when it makes no sense
  virtual void load(serialize::InputArchive& archive);

 protected:
  /// For a schedule that overrides get_lrs(). The rates stay as they are until the first step().
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  /// The rates that the next step() sets, one for each group; step_count_ steps were made before it.
  virtual std::vector<double> get_lrs();
  /// The rates now, one for each group.
  std::vector<double> get_current_lrs() const { return get_last_lr(); }
  unsigned step_count_ = 0;

 private:
  void set_rates();
  Optimizer& optimizer_;
  Schedule schedule_;
  std::vector<double> set_;  // what the last step set
};

/// base gamma^(step / step_size)
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, int64_t step_size, double gamma = 0.1);
};
/// base gamma^(how many milestones are reached). They come in any order; one that is given twice counts twice.
class MultiStepLR : public LRScheduler {
 public:
  MultiStepLR(Optimizer& optimizer, std::vector<int64_t> milestones, double gamma = 0.1);
};
/// base gamma^step
class ExponentialLR : public LRScheduler {
 public:
  ExponentialLR(Optimizer& optimizer, double gamma);
};
/// base factor(step)
class LambdaLR : public LRScheduler {
 public:
  LambdaLR(Optimizer& optimizer, std::function<double(int64_t step)> factor);
};
/// From base to eta_min along half a cosine of T_max steps (Loshchilov and Hutter 2017, arXiv:1608.03983)
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, int64_t T_max, double eta_min = 0);
};
/// Linearly from start_factor base to end_factor base over total_iters steps: a warm-up
class LinearLR : public LRScheduler {
 public:
  LinearLR(Optimizer& optimizer, double start_factor = 1.0 / 3, double end_factor = 1, int64_t total_iters = 5);
};
/// From base to eta_min along half a cosine of T_0 steps, then from base again along one that is T_mult times as long,
/// and so on (SGDR: Loshchilov and Hutter 2017, arXiv:1608.03983)
/// @throws Error unless T_0 and T_mult are positive
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  CosineAnnealingWarmRestarts(Optimizer& optimizer, int64_t T_0, int64_t T_mult = 1, double eta_min = 0);
};
/// factor base for total_iters steps, then base
/// @throws Error unless the factor is above 0, at most 1
class ConstantLR : public LRScheduler {
 public:
  ConstantLR(Optimizer& optimizer, double factor = 1.0 / 3, int64_t total_iters = 5);
};
/// base (1 - step / total_iters)^power, and 0 after total_iters steps
/// @throws Error unless total_iters is positive
class PolynomialLR : public LRScheduler {
 public:
  PolynomialLR(Optimizer& optimizer, int64_t total_iters = 5, double power = 1);
};
/// base times the factors of the steps from 1 on
class MultiplicativeLR : public LRScheduler {
 public:
  MultiplicativeLR(Optimizer& optimizer, std::function<double(int64_t step)> factor);
};
/// Several schedules at once: in every step each changes what the one before it left, so that factors multiply.
/// LambdaLR, OneCycleLR and CosineAnnealingWarmRestarts set the rate whatever it was, as in PyTorch, and so come first.
/// The schedules must be of one optimizer; they are copied, and need not be stepped themselves.
/// @throws Error without a schedule, or for schedules of several optimizers
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(std::vector<LRScheduler> schedulers);
};
/// One schedule after the other: number i + 1 takes over at milestones[i], and counts its steps from there. Those given
/// must be of the same optimizer; they are copied, and need not be stepped themselves.
/// @throws Error unless there is one milestone between each two schedules, ascending
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LRScheduler> schedules, std::vector<int64_t> milestones);
};

}  // namespace tandem::optim
