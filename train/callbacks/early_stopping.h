// EarlyStopping: ends the training when a metric no longer improves.
#pragma once
#include <optional>

#include "tandem/core/option.h"
#include "tandem/train/callback.h"

namespace tandem::train {

struct EarlyStoppingOptions {
  /// Metric that should improve. It is checked after each validation; a metric of training ("train_loss_epoch"), which
  /// has no value before the first epoch's end, after each epoch.
  TANDEM_ARG(std::string, monitor) = "val_loss";
  /// Improvement that counts.
  TANDEM_ARG(double, min_delta) = 0;
  /// Number of checks without improvement after which training ends.
  TANDEM_ARG(int64_t, patience) = 3;
  /// "min" or "max": which values are better.
  TANDEM_ARG(std::string, mode) = "min";
  /// If true, training ends when the metric is NaN or infinite.
  TANDEM_ARG(bool, check_finite) = true;
};

/// Ends the training when a metric no longer improves. All ranks decide alike, because metrics are the same on all
/// ranks.
class EarlyStopping : public Callback {
 public:
  explicit EarlyStopping(EarlyStoppingOptions options = {});
  /// Number of the epoch that this callback ended early; nullopt if there is none.
  std::optional<int64_t> stopped_epoch() const { return stopped_epoch_; }
  /// The best value so far; nullopt before the first check.
  std::optional<double> best_score() const { return best_; }

  void on_validation_end(Fit& fit) override;
  void on_train_epoch_end(Fit& fit) override;
  void save(serialize::OutputArchive& archive) const override;
  void load(serialize::InputArchive& archive) override;

 private:
  void check(Fit& fit);
  EarlyStoppingOptions options_;
  std::optional<double> best_;
  std::optional<int64_t> stopped_epoch_;
  int64_t wait_count_ = 0;
};

}  // namespace tandem::train
