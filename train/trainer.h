// Trainer: trains a module on one device or several, with one option for the strategy.
#pragma once
#include "tandem/train/trainer_options.h"

namespace tandem::train {

namespace detail {
struct Placement;
}  // namespace detail

/// Trains modules. Two options choose how; the module, the data and the results stay the same:
///
///     train::Trainer trainer(train::TrainerOptions().strategy("ddp").devices(2).max_epochs(3));
///     trainer.fit(module, train::DataSource(dataset).batch_size(64).shuffle(true), validation);
///
/// The gradient of each step is that of the mean loss over all examples of the step, with every strategy, with
/// accumulation, and for last batches of any size. Metrics are means over all examples, too.
class Trainer {
 public:
  explicit Trainer(TrainerOptions options = {}) : options_(std::move(options)) {}
  /// Trains a module: the result of make_training_module(), or an object of a class that derives from TrainingModule,
  /// given by handle, shared pointer or reference. Afterwards the module has the trained parameters. With ddp over
  /// threads, rank 0 trains this module, and the other ranks train copies. In a job of processes, the first call joins
  /// the default process group, which stays.
  /// @throws Error for invalid options, and the first exception of a callback, the module or the dataset; with several
  /// ranks its message names the rank
  template <class M> void fit(M&& module, const DataSource& training, std::optional<DataSource> validation = {}) {
    run(detail::make_trainable(std::forward<M>(module)), &training, validation ? &*validation : nullptr);
  }
  /// Calls validation_step() for all batches of `source`, and returns the metrics.
  template <class M> std::map<std::string, double> validate(M&& module, const DataSource& source) {
    run(detail::make_trainable(std::forward<M>(module)), nullptr, &source);
    return metrics_;
  }
  /// The last values of all metrics, such as "train_loss", "train_loss_epoch" and "val_loss".
  const std::map<std::string, double>& metrics() const { return metrics_; }
  /// The values of the metrics that the module has registered, at the last validation: numbers, vectors or matrices.
  const std::map<std::string, Tensor>& metric_values() const { return metric_values_; }
  /// Number of steps that the optimizer has made.
  int64_t global_step() const { return global_step_; }
  /// Number of epochs that are complete.
  int64_t current_epoch() const { return epoch_; }
  const TrainerOptions& options() const { return options_; }

 private:
  void run(const detail::Trainable& module, const DataSource* training, const DataSource* validation);
  void run_rank(const detail::Trainable& module, const DataSource* training, const DataSource* validation,
                std::vector<std::shared_ptr<Callback>> callbacks, const detail::Placement& placement, uint64_t seed);
  TrainerOptions options_;
  std::map<std::string, double> metrics_;
  std::map<std::string, Tensor> metric_values_;
  int64_t global_step_ = 0, epoch_ = 0;
};

}  // namespace tandem::train
