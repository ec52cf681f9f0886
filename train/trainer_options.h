// TrainerOptions: options of the Trainer, with PyTorch Lightning's names and defaults.
#pragma once
#include "tandem/core/device.h"
#include "tandem/core/option.h"
#include "tandem/train/callback.h"

namespace tandem::logs {
class MetricsWriter;
class SummaryWriter;
}  // namespace tandem::logs

namespace tandem::train {

/// A part of the batches of an epoch: an integer is a number of batches, a fraction a part of the epoch (1.0: all).
class BatchCount {
 public:
  BatchCount(int batches) : is_count_(true), value_(batches) {}
  BatchCount(int64_t batches) : is_count_(true), value_(static_cast<double>(batches)) {}
  BatchCount(double fraction) : is_count_(false), value_(fraction) {}
  /// Returns the number of batches, at most `all`. @throws Error, naming the option, for a negative number, and for a
  /// fraction above 1
  int64_t of(int64_t all, const char* option) const;
  /// Whether this is a number of batches, and not a fraction.
  bool is_count() const { return is_count_; }

 private:
  bool is_count_;
  double value_;
};

/// Numbers of devices or their count.
class DeviceList {
 public:
  DeviceList(int count) : count_(count) {}
  DeviceList(std::vector<int> numbers);
  DeviceList(std::initializer_list<int> numbers) : DeviceList(std::vector<int>(numbers)) {}
  /// Number of devices; -1: all.
  int count() const { return count_; }
  /// The devices' numbers; empty if only their count was given.
  const std::vector<int>& numbers() const { return numbers_; }

 private:
  int count_;
  std::vector<int> numbers_;
};

/// Receives the metrics of a step, on rank 0.
using Logger = std::function<void(int64_t step, const std::vector<std::pair<std::string, double>>& metrics)>;

/// Options of a Trainer. Invalid values are errors of fit() and validate(), which name the option, the value, and the
/// accepted values.
class TrainerOptions {
 public:
  /// "cpu", "gpu", or "auto": GPUs if there are any.
  TANDEM_ARG(std::string, accelerator) = "auto";
  /// Number of devices, or their numbers: {0, 2}. -1: all GPUs, or one CPU device. With the strategies dp and dp_loss,
  /// several CPU devices are virtual devices of this machine's CPU; with ddp, ranks that are threads share one CPU
  /// device, unless numbers are given. In a job whose process group exists, or that a launcher started, the job
  /// determines the number of ranks, and each rank uses one device: the one whose number is at its place in the list,
  /// by its number on this machine.
  TANDEM_ARG(DeviceList, devices) = -1;
  /// "single": one device. "dp": DataParallel, which gathers the outputs before the loss. "dp_loss": DataParallel whose
  /// replicas compute the loss. "ddp": DistributedDataParallel. Its ranks are processes if a launcher (tandem launch,
  /// torchrun, mpirun, srun) started this one, and else threads. "ddp_local", "ddp_gloo", "ddp_nccl": ddp over this
  /// backend. "ddp_find_unused_parameters_true": ddp of a module whose parameters are not all used in each step.
  /// "auto": single for one device, else ddp.
  TANDEM_ARG(std::string, strategy) = "auto";
  /// "32", "bf16-mixed" or "16-mixed". The mixed precisions compute under autocast; "16-mixed" also scales the loss.
  TANDEM_ARG(std::string, precision) = "32";
  /// Number of epochs; -1: without end. Not set: 1000, or without end if max_steps is set.
  TANDEM_ARG(std::optional<int64_t>, max_epochs) = {};
  /// Number of steps of the optimizer after which training ends; -1: without end.
  TANDEM_ARG(int64_t, max_steps) = -1;
  /// Number of batches whose gradients make one step. The step's loss is the mean over all of them.
  TANDEM_ARG(int64_t, accumulate_grad_batches) = 1;
  /// Maximum 2-norm of the gradients; 0: they are not clipped.
  TANDEM_ARG(double, gradient_clip_val) = 0;
  /// Batches of each epoch that are used: a number, or a fraction of the epoch.
  TANDEM_ARG(BatchCount, limit_train_batches) = 1.0;
  TANDEM_ARG(BatchCount, limit_val_batches) = 1.0;
  /// Batches from one validation to the next: a number, or a fraction of the epoch.
  TANDEM_ARG(BatchCount, val_check_interval) = 1.0;
  /// Epochs from one epoch with validation to the next. nullopt: val_check_interval, a number, counts the batches of
  /// the whole training, not of each epoch.
  TANDEM_ARG(std::optional<int64_t>, check_val_every_n_epoch) = 1;
  /// Steps from one report of training metrics to the next.
  TANDEM_ARG(int64_t, log_every_n_steps) = 50;
  /// If false, the first call with a shape on a GPU times several algorithms (use_deterministic_algorithms).
  TANDEM_ARG(bool, deterministic) = true;
  /// If true, the second step is recorded as a Graph, and replayed for later batches of the same shapes. It needs the
  /// strategy single, one batch for each step, no clipping, and precision 32 or bf16-mixed. A replay calls no code of
  /// the module, so values that training_step() logs are left out, and callbacks before the optimizer's step do not
  /// run.
  TANDEM_ARG(bool, capture) = false;
  /// If set, fit() begins with manual_seed(seed). Also the seed of the order of examples, which otherwise follows from
  /// the last manual_seed().
  TANDEM_ARG(std::optional<uint64_t>, seed) = {};
  /// If true, rank 0 shows the progress: a line that is updated on a terminal, and otherwise a line for each epoch.
  TANDEM_ARG(bool, enable_progress_bar) = true;
  /// Folder for files; checkpoints are in its folder "checkpoints".
  TANDEM_ARG(std::string, default_root_dir) = ".";
  /// Checkpoint that fit() continues: a file, or a folder whose latest checkpoint is used. "last": the latest in
  /// the default folder; if there is none, training begins from the start, so that a restarted job continues.
  TANDEM_ARG(std::string, ckpt_path) = "";

 public:
  /// Adds a callback. Callbacks run in the order of these calls. On ranks that are threads, rank 0 calls
  /// this object, and the other ranks call copies of it.
  template <class C> TrainerOptions& callback(std::shared_ptr<C> callback) {
    callbacks_.push_back({callback, [](const Callback& original) -> std::shared_ptr<Callback> {
                            return std::make_shared<C>(static_cast<const C&>(original));
                          }});
    return *this;
  }
  template <class C>
  requires std::is_base_of_v<Callback, C> TrainerOptions& callback(C callback) {
    return this->callback(std::make_shared<C>(std::move(callback)));
  }
  /// Adds a function that rank 0 calls with the metrics.
  TrainerOptions& logger(Logger logger);
  /// Writes the metrics to TensorBoard's files, or to a JSON Lines file. @throws Error for a CSV file, because training
  /// and validation have different columns
  TrainerOptions& logger(std::shared_ptr<logs::SummaryWriter> writer);
  TrainerOptions& logger(std::shared_ptr<logs::MetricsWriter> writer);
  /// Writes the metrics to TensorBoard's files in a folder. Only rank 0 makes the folder.
  TrainerOptions& tensorboard(const std::string& log_dir);

  /// A callback, and the function that copies it for another rank.
  struct CallbackEntry {
    /// The callback that rank 0 calls.
    std::shared_ptr<Callback> callback;
    /// Returns a copy of `original`.
    std::shared_ptr<Callback> (*copy)(const Callback& original);
  };
  /// The callbacks, in the order of the calls of callback().
  const std::vector<CallbackEntry>& callbacks() const { return callbacks_; }
  /// The functions that receive metrics.
  const std::vector<Logger>& loggers() const { return loggers_; }

 private:
  std::vector<CallbackEntry> callbacks_;
  std::vector<Logger> loggers_;
};

}  // namespace tandem::train
