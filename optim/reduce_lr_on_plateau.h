// A schedule that looks at how training goes.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Multiplies the rates by a factor when a metric has not improved for more than `patience` calls of step(). The
/// optimizer must outlive it.
class ReduceLROnPlateauScheduler {
 public:
  /// Whether the metric is to become small, as a loss, or large.
  enum SchedulerMode { min, max };
  /// Whether the threshold is a part of the best metric, or a difference.
  enum ThresholdMode { rel, abs };
  /// @param mode  whether the metric is to become small or large
  /// @param factor  of a reduction, below 1
  /// @param threshold  by how much better than the best a metric must be to count, as a part of the best (rel) or as it
  /// is (abs)
  /// @param cooldown  so many calls after a reduction do not count as bad
  /// @param min_lr  the lowest rate of each group; 0 unless given
  /// @param eps  a reduction by less is left out
  /// @param verbose  prints a line for every reduction
  /// @throws Error for a factor that is not below 1, and where min_lr is not as long as there are groups
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1, int64_t patience = 10,
                             double threshold = 1e-4, ThresholdMode threshold_mode = rel, int64_t cooldown = 0,
                             std::vector<double> min_lr = {}, double eps = 1e-8, bool verbose = false);
  /// To be called after each epoch with its metric, a loss or an accuracy.
  void step(double metric);
  /// The rates now, one for each group.
  std::vector<double> get_last_lr() const;
  /// Writes the best metric and the counts, under PyTorch's keys; the rates are the optimizer's.
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote. @throws Error when it makes no sense
  void load(serialize::InputArchive& archive);

 private:
  bool is_better(double metric) const;
  void reduce();
  Optimizer& optimizer_;
  SchedulerMode mode_;
  ThresholdMode threshold_mode_;
  double factor_, threshold_, eps_, best_;
  int64_t patience_, cooldown_, bad_epochs_ = 0, cooling_ = 0, epoch_ = 0;
  std::vector<double> min_lr_;
  bool verbose_;
};
/// PyTorch's name for it.
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace tandem::optim
