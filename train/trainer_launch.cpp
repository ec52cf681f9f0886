// Starts a fit() on each rank: in this process, or in threads of it.
#include <limits>

#include "tandem/core/algorithms.h"
#include "tandem/core/internal.h"
#include "tandem/train/callbacks/progress_bar.h"
#include "tandem/train/fit_state.h"
#include "tandem/train/trainer.h"

namespace tandem::train {
namespace {

/// The states of this rank's generators, so that ranks that are threads draw the numbers that processes would.
class GeneratorStates {
 public:
  explicit GeneratorStates(int streams) {
    for (const DeviceType type : {kCPU, kCUDA})
      for (int i = 0; i < device_count(type); ++i)
        for (int stream = 0; stream < streams; ++stream) {
          const auto number = static_cast<uint64_t>(stream);
          states_.emplace_back(Device(type, i), default_generator(Device(type, i), number).get_state());
        }
  }
  void restore() const {
    for (const auto& [device, state] : states_) default_generator(device, state.stream).set_state(state);
  }

 private:
  std::vector<std::pair<Device, tandem::detail::PhiloxState>> states_;
};

/// Sets whether algorithms are deterministic until it is destroyed.
class DeterministicGuard {
 public:
  explicit DeterministicGuard(bool wanted) : before_(are_deterministic_algorithms_enabled()) {
    use_deterministic_algorithms(wanted);
  }
  ~DeterministicGuard() { use_deterministic_algorithms(before_); }
  DeterministicGuard(const DeterministicGuard&) = delete;

 private:
  bool before_;
};

}  // namespace

void Trainer::run(const detail::Trainable& module, const DataSource* training, const DataSource* validation) {
  check_options(options_);
  if (options_.seed()) manual_seed(*options_.seed());
  const uint64_t seed = default_generator().current_seed();
  detail::Placement placement = resolve_placement(options_);
  std::vector<std::shared_ptr<Callback>> callbacks;
  for (const TrainerOptions::CallbackEntry& entry : options_.callbacks()) callbacks.push_back(entry.callback);
  if (placement.num_threads == 0) {
    // The group stays: for later calls, so that get_rank() is known, and so that ranks learn of an exception on
    // another.
    if (placement.kind == StrategyKind::ddp && !distributed::is_initialized())
      distributed::init_process_group(placement.backend, {.device = placement.devices[0]});
    run_rank(module, training, validation, callbacks, placement, seed);
    return;
  }
  // Copies are made before any rank trains.
  const GeneratorStates generators(placement.num_threads);
  std::vector<detail::Trainable> modules{module};
  std::vector<std::vector<std::shared_ptr<Callback>>> callbacks_of{callbacks};
  for (int rank = 1; rank < placement.num_threads; ++rank) {
    modules.emplace_back(nn::parallel::clone_to_device(*module.module, placement.devices[static_cast<size_t>(rank)]));
    std::vector<std::shared_ptr<Callback>>& copies = callbacks_of.emplace_back();
    for (const TrainerOptions::CallbackEntry& entry : options_.callbacks())
      copies.push_back(entry.copy(*entry.callback));
  }
  distributed::run_ranks(placement.num_threads, [&](int rank) {
    const auto r = static_cast<size_t>(rank);
    manual_seed(seed);
    generators.restore();
    detail::Placement mine = placement;
    mine.devices = {placement.devices[r]};
    const std::string backend =
        placement.backend.empty() && placement.devices[0].is_cpu() ? "local" : placement.backend;
    distributed::init_process_group(backend, {.device = mine.devices[0]});
    run_rank(modules[r], training, validation, callbacks_of[r], mine, seed);
  });
}

void Trainer::run_rank(const detail::Trainable& module, const DataSource* training, const DataSource* validation,
                       std::vector<std::shared_ptr<Callback>> callbacks, const detail::Placement& placement,
                       uint64_t seed) {
  const DeterministicGuard deterministic(options_.deterministic());
  auto state = std::make_unique<detail::FitState>(
      options_, make_strategy(placement.kind, module, placement.devices, placement.find_unused_parameters));
  detail::FitState& s = *state;
  s.ranks_are_processes = placement.ranks_are_processes;
  s.seed = seed;
  s.callbacks = std::move(callbacks);
  if (options_.enable_progress_bar() && s.strategy->rank() == 0) s.callbacks.push_back(std::make_shared<ProgressBar>());
  if (training) s.training = training->open(s.source_settings());
  if (validation) {
    s.validation = validation->open(s.source_settings());
    s.num_validation_batches = options_.limit_val_batches().of(s.validation->num_batches(), "limit_val_batches");
    if (s.num_validation_batches == 0) s.validation.reset();
  }
  const bool has_end = options_.max_epochs().value_or(-1) >= 0;
  s.max_epochs = has_end                                              ? *options_.max_epochs()
                 : options_.max_epochs() || options_.max_steps() >= 0 ? std::numeric_limits<int64_t>::max()
                                                                      : 1000;
  Fit fit(state.release());
  if (training)
    fit.run();
  else if (s.validation)
    fit.validate_once();
  if (s.strategy->rank() == 0 || placement.ranks_are_processes) {
    metrics_ = s.metrics;
    metric_values_ = s.metric_values;
    global_step_ = s.global_step;
    epoch_ = s.epoch;
  }
}

}  // namespace tandem::train
