// ReduceLROnPlateauScheduler: counts calls of step() without a better metric, and reduces the rates after more than
// `patience` of them.
#include "tandem/optim/reduce_lr_on_plateau.h"

#include <algorithm>
#include <cstdio>
#include <limits>

namespace tandem::optim {

ReduceLROnPlateauScheduler::ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode, double factor,
                                                       int64_t patience, double threshold, ThresholdMode threshold_mode,
                                                       int64_t cooldown, std::vector<double> min_lr, double eps,
                                                       bool verbose)
    : optimizer_(optimizer),
      mode_(mode),
      threshold_mode_(threshold_mode),
      factor_(factor),
      threshold_(threshold),
      eps_(eps),
      best_(mode == min ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()),
      patience_(patience),
      cooldown_(cooldown),
      min_lr_(std::move(min_lr)),
      verbose_(verbose) {
  TANDEM_CHECK(factor < 1, "ReduceLROnPlateau: Factor should be < 1.0. Got ", factor);
  const size_t groups = optimizer.param_groups().size();
  TANDEM_CHECK(min_lr_.empty() || min_lr_.size() == groups, "ReduceLROnPlateau: expected ", groups, " min_lrs, got ",
               min_lr_.size(), "; pass one for each parameter group, or none");
}

bool ReduceLROnPlateauScheduler::is_better(double metric) const {
  const double sign = mode_ == min ? -1 : 1;
  const double bound = threshold_mode_ == rel ? best_ * (1 + sign * threshold_) : best_ + sign * threshold_;
  return mode_ == min ? metric < bound : metric > bound;
}
void ReduceLROnPlateauScheduler::step(double metric) {
  ++epoch_;
  if (is_better(metric)) {
    best_ = metric;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (cooldown_counter_ > 0) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
  if (num_bad_epochs_ <= patience_) return;
  reduce_lr();
  cooldown_counter_ = cooldown_;
  num_bad_epochs_ = 0;
}
void ReduceLROnPlateauScheduler::reduce_lr() {
  std::vector<OptimizerParamGroup>& groups = optimizer_.param_groups();
  for (size_t i = 0; i < groups.size(); ++i) {
    const double before = groups[i].options().get_lr();
    const double after = std::max(before * factor_, i < min_lr_.size() ? min_lr_[i] : 0);
    if (before - after <= eps_) continue;
    groups[i].options().set_lr(after);
    if (verbose_)
      std::printf("Epoch %lld: reducing learning rate of group %zu to %.4g\n", static_cast<long long>(epoch_), i,
                  after);
  }
}
std::vector<double> ReduceLROnPlateauScheduler::get_last_lr() const {
  std::vector<double> rates;
  for (const OptimizerParamGroup& group : optimizer_.param_groups()) rates.push_back(group.options().get_lr());
  return rates;
}

}  // namespace tandem::optim
