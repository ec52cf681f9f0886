// ProgressBar: shows the progress of a fit() on standard error.
#pragma once
#include "tandem/core/durations.h"
#include "tandem/train/callback.h"

namespace tandem::train {

/// On a terminal, updates one line with the epoch, the loss, the rate and the time that the epoch still takes, at most
/// ten times a second. Otherwise, prints a line for each epoch with its metrics. The Trainer adds it on rank 0, unless
/// enable_progress_bar is false.
class ProgressBar : public Callback {
 public:
  void on_train_epoch_start(Fit& fit) override;
  void on_train_batch_end(Fit& fit, int64_t batch_index) override;
  void on_train_epoch_end(Fit& fit) override;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point epoch_start_ = Clock::now(), last_draw_ = {};
  int64_t first_batch_ = -1;  // batches that were done when the epoch began or was continued; -1 before
};

}  // namespace tandem::train
