// FitState: everything that a running fit() on one rank holds. Internal.
#pragma once
#include <set>

#include "tandem/parallel/checkpoint_manager.h"
#include "tandem/train/captured_step.h"
#include "tandem/train/running_means.h"
#include "tandem/train/strategy.h"
#include "tandem/train/trainer_options.h"

namespace tandem::train {

namespace detail {
/// The devices and ranks on which a fit() runs.
struct Placement {
  StrategyKind kind = StrategyKind::single;
  bool find_unused_parameters = false;
  std::vector<Device> devices = {};  // of this process; with ddp over threads, one for each rank
  std::string backend = {};          // of a process group that must be made; empty: chosen by the devices
  int num_threads = 0;               // number of ranks that are threads of this process; 0: none
  bool ranks_are_processes = false;
};
}  // namespace detail
/// Checks the options, and decides where to run. @throws Error naming an invalid option
detail::Placement resolve_placement(const TrainerOptions& options);
/// Checks the options that do not concern devices.
void check_options(const TrainerOptions& options);
/// Returns the lower precision of a mixed precision; nullopt for "32".
std::optional<DType> autocast_dtype(const std::string& precision);

namespace detail {

struct FitState;

/// The part of a checkpoint that is equal on all ranks: progress, metrics, schedules, and the state of callbacks.
struct SharedPart {
  void save(serialize::OutputArchive& archive);
  void load(serialize::InputArchive& archive);
  FitState& state;
};
/// The part of a checkpoint that differs by rank: the loader's position, and the means of the epoch so far.
struct RankPart {
  using BatchRequestType = void;  // CheckpointManager saves parts with this type for each rank, such as loaders
  void save(serialize::OutputArchive& archive);
  void load(serialize::InputArchive& archive);
  FitState& state;
};

struct FitState {
  FitState(const TrainerOptions& options, std::unique_ptr<Strategy> strategy);

  /// Calls a function of each callback. An exception's message then names the callback and the function.
  template <class... Parameters, class... Args>
  void call(const char* name, void (Callback::*function)(Parameters...), Args&&... args) {
    for (const std::shared_ptr<Callback>& callback : callbacks)
      call_one(name, *callback, [&] { ((*callback).*function)(args...); });
  }
  void call_one(const char* name, const Callback& callback, const std::function<void()>& f);
  /// Passes metrics to the loggers, on rank 0.
  void log(const std::vector<std::pair<std::string, double>>& values);
  /// Adds up the means over ranks, and stores and logs them under their names with `suffix`.
  void publish(RunningMeans& means, const std::string& suffix);
  /// Resets the registered metrics. @throws Error if the ranks have registered different ones
  void begin_metrics();
  /// Computes the registered metrics over all ranks, and stores and logs them.
  void publish_metrics();
  /// Adds the values that the module has logged for a whole epoch.
  void add_values_of_epoch(RunningMeans& means);
  /// Returns the callbacks of the options, whose state checkpoints hold. Rank 0 alone may have a progress bar, too.
  std::vector<std::shared_ptr<Callback>> saved_callbacks() const;
  /// Returns this rank's part of batch `index` of a source.
  MicroBatch next_batch(BatchSource& source, int64_t index) const;
  SourceSettings source_settings() const;

  /// Returns the manager of the checkpoints in a folder.
  CheckpointManager& checkpoints_in(const std::string& folder);

  const TrainerOptions& options;
  std::unique_ptr<Strategy> strategy;
  AnyTrainingModule& hooks;
  bool ranks_are_processes = false;
  uint64_t seed = 0;
  std::vector<std::shared_ptr<Callback>> callbacks;
  std::optional<Optimizers> optimizers;
  std::unique_ptr<amp::GradScaler> scaler;  // null unless the precision is 16-mixed
  StepSettings settings;
  std::unique_ptr<CapturedStep> captured_step;        // null unless the option capture is set
  std::unique_ptr<BatchSource> training, validation;  // validation: null if there is none
  int64_t max_epochs = 0, num_batches = 0, num_validation_batches = 0, validation_interval = 0;

  // progress
  int64_t epoch = 0, batches_done = 0, global_step = 0, num_validations = 0;
  bool stop_requested = false;  // by a callback of this rank
  bool stopping = false;        // the same on all ranks
  bool schedules_enabled = true;
  std::set<std::string> requested_checkpoints;  // folders
  BatchLoss loss;                               // of the latest training batch
  RunningMeans step_means, epoch_means;
  std::map<std::string, double> metrics;
  std::map<std::string, Tensor> metric_values;  // of the registered metrics, on the CPU
  SharedPart shared_part{*this};
  RankPart rank_part{*this};
  std::map<std::string, std::unique_ptr<CheckpointManager>> checkpoints;  // by folder
};

}  // namespace detail
}  // namespace tandem::train
