// Fit: a running fit() or validate() on one rank, as callbacks see it.
#pragma once
#include <map>

#include "tandem/core/owned_ptr.h"
#include "tandem/train/data_source.h"
#include "tandem/train/training_module.h"

namespace tandem::train {

class TrainerOptions;
namespace detail {
struct FitState;
}  // namespace detail

/// The state of a training on one rank, and functions that change its course, for callbacks.
class Fit {
 public:
  /// This rank's number. Only rank 0 should write files or print.
  int rank() const;
  /// Number of ranks.
  int world_size() const;
  /// The devices that this rank trains on.
  const std::vector<Device>& devices() const;
  /// Number of the epoch, counted from 0.
  int64_t epoch() const;
  /// Number of batches in an epoch.
  int64_t num_batches() const;
  /// Number of batches of this epoch that are done.
  int64_t batches_done() const;
  /// Number of steps that the optimizer has made.
  int64_t global_step() const;
  /// Options of the Trainer.
  const TrainerOptions& options() const;
  /// The module on this rank.
  nn::Module& module() const;
  /// The module's optimizer. @throws Error in validate()
  optim::Optimizer& optimizer() const;
  /// Mean loss of this rank's part of the latest training batch, on its device; undefined if the batch has no part for
  /// this rank. To read it waits for the GPU.
  Tensor loss() const;
  /// The latest value of each metric. All ranks have the same values.
  const std::map<std::string, double>& metrics() const;
  /// The values of the registered metrics at the last validation, on the CPU: numbers, vectors or matrices.
  const std::map<std::string, Tensor>& metric_values() const;
  /// Returns a metric. @throws Error that names `user`, who needs the metric, and the known metrics, if it has no value
  double metric(const std::string& name, const std::string& user) const;
  /// Adds metrics that all ranks know, and passes them to the loggers.
  void log(const std::vector<std::pair<std::string, double>>& metrics);
  /// Ends the training. One rank may call it alone: ranks agree when they next report training metrics, after a
  /// validation, and at the end of an epoch. A training with one rank ends after the present step.
  void stop();
  /// Whether the training ends, or this rank has called stop().
  bool is_stopping() const;
  /// Turns the schedules of the learning rate off or on, so that a callback can set the rate itself.
  void enable_schedules(bool enabled);
  /// Saves a checkpoint in `folder` when the present step is complete with its validation; after the last batch of an
  /// epoch, when the epoch is. All ranks must call this.
  void request_checkpoint(const std::string& folder);
  /// Path of the checkpoint of a step in `folder`.
  static std::string checkpoint_path(const std::string& folder, int64_t step);
  /// Returns the sum of a number over all ranks, which must all call this.
  double sum_over_ranks(double value);
  /// Replaces each tensor by its mean over all ranks, weighted by `weight`. All ranks must call this, with tensors of
  /// the same shapes. If all weights are 0, the tensors stay as they are.
  void average_over_ranks(const std::vector<Tensor>& tensors, double weight);
  /// Computes the module's forward for this rank's part of each training batch of one more epoch, without gradients.
  /// Random numbers then continue as if this had not been called.
  void forward_training_batches();

  /// Called by the Trainer.
  explicit Fit(detail::FitState* state);
  ~Fit();
  Fit(const Fit&) = delete;
  /// Trains. Called by the Trainer.
  void run();
  /// Runs one validation. Called by the Trainer.
  void validate_once();

 private:
  void begin();
  void prepare_capture();
  void run_epoch();
  void train_step();
  void finish_step();
  void step_optimizer();
  void validate();
  void end_epoch();
  void agree_on_stop();
  void fail();
  void save_if_requested();
  void restore();
  bool is_validation_due(int64_t batches_before) const;
  tandem::detail::OwnedPtr<detail::FitState> state_;
};

}  // namespace tandem::train
