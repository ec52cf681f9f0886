// ThroughputMonitor: reports the rate of training, the loss and the time left, for trainings of hours.
#pragma once
#include "tandem/core/durations.h"
#include "tandem/core/option.h"
#include "tandem/train/callback.h"

namespace tandem::train {

/// Options of ThroughputMonitor.
struct ThroughputMonitorOptions {
  /// Number of items of a batch, over all ranks, that the rate counts, such as examples or tokens.
  TANDEM_ARG(double, items_per_batch) = 1;
  /// Name of an item: "examples" logs the rate as examples_per_second.
  TANDEM_ARG(std::string, item) = "examples";
  /// Floating-point operations of the forward and the backward of an item; 0: not known.
  TANDEM_ARG(double, flops_per_item) = 0;
  /// Floating-point operations per second that all devices together can do. If it is set with flops_per_item, the
  /// utilisation is logged as model_flops_utilization.
  TANDEM_ARG(double, peak_flops) = 0;
  /// Seconds from one printed line to the next; 0: a line for each report of the Trainer (log_every_n_steps).
  TANDEM_ARG(double, seconds_per_line) = 10;
  /// Receives the lines; by default they go to standard error.
  TANDEM_ARG(std::function<void(const std::string&)>, print) = {};
};

/// On rank 0, after each report of the Trainer, passes the learning rate, the rate of items and the utilisation to the
/// loggers, and now and then prints a line:
///
///     step 1200 of 73629: train_loss 0.7213, lr 1.9e-05, 612 examples/s, 1:07:33 left
///
/// Rates are those since the last report, without validations. The time left follows from all steps so
/// far, with validations. The values are not metrics of the Fit, because they differ from run to run.
class ThroughputMonitor : public Callback {
 public:
  explicit ThroughputMonitor(ThroughputMonitorOptions options = {}) : options_(std::move(options)) {}
  void on_train_start(Fit& fit) override;
  void on_train_batch_end(Fit& fit, int64_t batch_index) override;
  void on_validation_start(Fit& fit) override;
  void on_validation_end(Fit& fit) override;
  /// Rate of items at the last report; 0 before the first.
  double items_per_second() const { return items_per_second_; }

 private:
  using Clock = std::chrono::steady_clock;
  ThroughputMonitorOptions options_;
  Clock::time_point train_start_ = {}, validation_start_ = {}, last_line_ = {};
  Clock::time_point last_report_ = {};  // moved by the time of validations since then
  int64_t first_batch_ = 0;             // number of batches that were done when the training began
  int64_t batches_ = 0;                 // number of batches since the last report
  double items_per_second_ = 0;
};

}  // namespace tandem::train
