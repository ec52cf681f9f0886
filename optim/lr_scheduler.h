// Schedules of the learning rate, with the names of torch.optim.lr_scheduler.
#pragma once
#include <functional>
#include <vector>

#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// The learning rate of each parameter group as a function of the number of step() calls so far and of the base, the
/// group's initial_lr(). Sets the rates when it is made and at each step(). The optimizer must outlive it.
class LRScheduler {
 public:
  using Rate = std::function<double(int64_t step, double base)>;
  LRScheduler(Optimizer& optimizer, Rate rate);
  void step();
  /// The rates now, one for each group.
  std::vector<double> get_last_lr() const;
  /// The rate after `step` calls that `base` becomes, whatever the optimizer's is now.
  double rate_at(int64_t step, double base) const { return rate_(step, base); }

 private:
  void set_rates();
  Optimizer& optimizer_;
  Rate rate_;
  int64_t step_ = 0;
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
/// One schedule after the other: number i + 1 takes over at milestones[i], and counts its steps from there. Those given
/// must be of the same optimizer; they are copied, and need not be stepped themselves.
/// @throws Error unless there is one milestone between each two schedules, ascending
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LRScheduler> schedules, std::vector<int64_t> milestones);
};

}  // namespace tandem::optim
