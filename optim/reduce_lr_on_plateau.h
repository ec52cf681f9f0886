// A schedule that reduces the learning rate when a metric stops improving.
#pragma once
#include "tandem/optim/optimizer.h"

namespace tandem::optim {

/// Multiplies the learning rates by a factor when a metric has not improved for more than `patience` calls of step().
/// The optimizer must outlive the schedule.
class ReduceLROnPlateauScheduler {
 public:
  /// Whether the metric should become small (a loss) or large (an accuracy).
  enum SchedulerMode { min, max };
  /// Whether the threshold is relative to the best metric or an absolute difference.
  enum ThresholdMode { rel, abs };
  /// @param mode       whether the metric should become small or large
  /// @param factor     factor of the rates in a reduction, below 1
  /// @param patience   number of calls without improvement that are tolerated
  /// @param threshold  improvement that counts: a fraction of the best metric (rel) or a difference (abs)
  /// @param cooldown   number of calls after a reduction that do not count towards `patience`
  /// @param min_lr     lowest rate of each group; by default 0
  /// @param eps        reductions by this amount or less are skipped
  /// @param verbose    if true, prints a line for every reduction
  /// @throws Error unless factor is below 1, and min_lr is empty or has one entry per group
  ReduceLROnPlateauScheduler(Optimizer& optimizer, SchedulerMode mode = min, double factor = 0.1, int64_t patience = 10,
                             double threshold = 1e-4, ThresholdMode threshold_mode = rel, int64_t cooldown = 0,
                             std::vector<double> min_lr = {}, double eps = 1e-8, bool verbose = false);
  /// Call after each epoch with the epoch's metric, for example the validation loss.
  void step(double metric);
  /// Returns the current rate of each group.
  std::vector<double> get_last_lr() const;
  /// Writes the best metric and the counts, under PyTorch's keys. Rates are saved with the optimizer.
  void save(serialize::OutputArchive& archive) const;
  /// Reads what save() wrote. @throws Error for invalid contents
  void load(serialize::InputArchive& archive);

 private:
  bool is_better(double metric) const;
  void reduce_lr();
  Optimizer& optimizer_;
  SchedulerMode mode_;
  ThresholdMode threshold_mode_;
  double factor_, threshold_, eps_, best_;
  int64_t patience_, cooldown_, num_bad_epochs_ = 0, cooldown_counter_ = 0, epoch_ = 0;
  std::vector<double> min_lr_;
  bool verbose_;
};
/// PyTorch's name for this class.
using ReduceLROnPlateau = ReduceLROnPlateauScheduler;

}  // namespace tandem::optim
