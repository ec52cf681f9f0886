// Callback: functions that the Trainer calls during a fit(), with PyTorch Lightning's names.
#pragma once
#include "tandem/train/fit.h"

namespace tandem::serialize {
class OutputArchive;
class InputArchive;
}  // namespace tandem::serialize

namespace tandem::train {

/// Base class of callbacks. Every rank calls them, at the same points. An exception ends the training on all ranks.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Called before the first epoch, after a checkpoint was restored.
  virtual void on_train_start(Fit&) {}
  /// Called after the last epoch.
  virtual void on_train_end(Fit&) {}
  /// Called before each epoch, but not if a checkpoint continues it.
  virtual void on_train_epoch_start(Fit&) {}
  /// Called after the epoch's last batch, its validation, and the schedules. fit.metrics() has the epoch's means. Not
  /// called for an epoch that ends early, by stop() or max_steps.
  virtual void on_train_epoch_end(Fit&) {}
  /// Called before each batch.
  virtual void on_train_batch_start(Fit&, int64_t /*batch_index*/) {}
  /// Called after each batch; after the last batch of a step, the optimizer has made its step.
  virtual void on_train_batch_end(Fit&, int64_t /*batch_index*/) {}
  /// Called after the backward of the last batch of a step and clipping, before the optimizer's step.
  virtual void on_before_optimizer_step(Fit&) {}
  /// Called before a validation.
  virtual void on_validation_start(Fit&) {}
  /// Called after a validation. fit.metrics() has the metrics of the validation, which are the same on all ranks.
  virtual void on_validation_end(Fit&) {}
  /// Called after a checkpoint was saved that request_checkpoint() asked for.
  virtual void on_checkpoint_saved(Fit&) {}
  /// Called after an exception on this rank, before it leaves fit().
  virtual void on_exception(Fit&, const std::string& /*message*/) {}
  /// Writes the state that a checkpoint should hold.
  virtual void save(serialize::OutputArchive&) const {}
  /// Reads the state that save() wrote.
  virtual void load(serialize::InputArchive&) {}
};

}  // namespace tandem::train
