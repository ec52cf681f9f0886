// Implements FitState: calls of callbacks, metrics over ranks, and batches.
#include "tandem/train/fit_state.h"

#include "tandem/core/internal.h"
#include "tandem/nn/containers/any_value.h"
#include "tandem/parallel/rethrow.h"

namespace tandem::train {

detail::FitState::FitState(const TrainerOptions& options, std::unique_ptr<Strategy> strategy)
    : options(options), strategy(std::move(strategy)), hooks(*this->strategy->module().hooks) {
  settings.autocast_dtype = autocast_dtype(options.precision());
}

void detail::FitState::call_one(const char* name, const Callback& callback, const std::function<void()>& f) {
  try {
    f();
  } catch (...) {
    rethrow_named(std::current_exception(), demangled_name(typeid(callback)) + "::" + name);
  }
}

void detail::FitState::log(const std::vector<std::pair<std::string, double>>& values) {
  if (strategy->rank() == 0 && !values.empty())
    for (const Logger& logger : options.loggers()) logger(global_step, values);
}
void detail::FitState::publish(RunningMeans& means, const std::string& suffix) {
  std::vector<std::pair<std::string, double>> values;
  for (const auto& [name, value] : RunningMeans::merge(strategy->gather(means.pack())))
    values.emplace_back(name + suffix, value);
  for (const auto& [name, value] : values) metrics[name] = value;
  log(values);
}

void detail::FitState::begin_metrics() {
  std::string names;
  for (const auto& [name, metric] : hooks.registered_metrics()) {
    names += (names.empty() ? "" : ", ") + name;
    metric->reset();
  }
  const std::vector<std::string> of_ranks = strategy->gather(names);
  for (size_t rank = 1; rank < of_ranks.size(); ++rank)
    TANDEM_CHECK(of_ranks[rank] == of_ranks[0], "Trainer: rank 0 has registered the metrics {", of_ranks[0],
                 "}, and rank ", rank, " {", of_ranks[rank],
                 "}; accepted: the same on all ranks (call register_metric in reset())");
}
void detail::FitState::publish_metrics() {
  std::vector<std::pair<std::string, double>> numbers;
  for (const auto& [name, metric] : hooks.registered_metrics()) {
    // With one rank, other processes of the job do not take part, although there may be a process group.
    const Tensor value = (strategy->world_size() > 1 ? metric->compute() : metric->compute_on_this_rank()).to(kCPU);
    metric_values[name] = value;
    if (value.numel() == 1) numbers.emplace_back(name, value.item<double>());
  }
  for (const auto& [name, value] : numbers) metrics[name] = value;
  log(numbers);
}

void detail::FitState::add_values_of_epoch(RunningMeans& means) {
  for (LoggedValue& value : hooks.take_logged()) {
    value.weight = 1;
    means.add(value);
  }
}
std::vector<std::shared_ptr<Callback>> detail::FitState::saved_callbacks() const {
  return {callbacks.begin(), callbacks.begin() + static_cast<std::ptrdiff_t>(options.callbacks().size())};
}

MicroBatch detail::FitState::next_batch(BatchSource& source, int64_t index) const {
  MicroBatch out{source.next()};
  if (out.batch) out.weight = hooks.weight_of(*out.batch);
  TANDEM_CHECK(out.batch || strategy->world_size() > source.rows_in_batch(index), "Trainer: the loader ended after ",
               index, " batches; expected ", source.num_batches());
  return out;
}

detail::SourceSettings detail::FitState::source_settings() const {
  SourceSettings out{.rank = strategy->rank(), .ranks = strategy->world_size(), .seed = seed};
  const std::vector<Device>& devices = strategy->devices();
  // Weights that depend on values are computed on the CPU, and DataParallel copies its shards from there.
  if (devices[0].is_cuda() && devices.size() == 1 && hooks.is_weighted_by_rows())
    out.device = devices[0];
  else
    out.pin_memory = devices[0].is_cuda();
  return out;
}

}  // namespace tandem::train
