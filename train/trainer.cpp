// The Trainer's loop: epochs of steps of batches, with validation, logging and checkpoints between them.
#include "tandem/train/trainer.h"

#include <limits>

#include "tandem/core/internal.h"
#include "tandem/nn/containers/any_value.h"
#include "tandem/ops/ops.h"
#include "tandem/parallel/rethrow.h"
#include "tandem/train/evaluation_guard.h"
#include "tandem/train/fit_state.h"

namespace tandem::train {

Fit::Fit(detail::FitState* state) : state_(state) {}
Fit::~Fit() = default;

void Fit::run() {
  detail::FitState& s = *state_;
  try {
    begin();
    while (s.epoch < s.max_epochs && !s.stopping) run_epoch();
    s.call("on_train_end", &Callback::on_train_end, *this);
  } catch (...) {
    fail();
    throw;
  }
}

/// Makes the optimizer, restores the checkpoint if the options name one, and prepares the counts of batches.
void Fit::begin() {
  detail::FitState& s = *state_;
  s.optimizers.emplace(s.hooks.configure_optimizers());
  TANDEM_CHECK(s.optimizers->optimizer(), "Trainer: configure_optimizers() returned no optimizer; accepted: one");
  if (s.options.precision() == "16-mixed") s.scaler = std::make_unique<amp::GradScaler>();
  s.settings.scaler = s.scaler.get();
  if (s.options.capture()) prepare_capture();
  s.num_batches = s.options.limit_train_batches().of(s.training->num_batches(), "limit_train_batches");
  TANDEM_CHECK(s.num_batches > 0, "Trainer: limit_train_batches leaves none of ", s.training->num_batches(),
               " batches; accepted: at least one");
  const int64_t most = s.options.check_val_every_n_epoch() ? s.num_batches : std::numeric_limits<int64_t>::max();
  s.validation_interval = std::max<int64_t>(s.options.val_check_interval().of(most, "val_check_interval"), 1);
  if (!s.options.ckpt_path().empty()) restore();
  s.stopping = s.options.max_steps() >= 0 && s.global_step >= s.options.max_steps();
  s.call("on_train_start", &Callback::on_train_start, *this);
}

/// Makes the step that is recorded as a Graph: everything that train_step() computes with the batch on one device.
void Fit::prepare_capture() {
  detail::FitState& s = *state_;
  const TrainerOptions& o = s.options;
  TANDEM_CHECK(world_size() == 1 && s.strategy->devices().size() == 1 && o.accumulate_grad_batches() == 1 &&
                   o.gradient_clip_val() == 0 && !s.scaler && s.optimizers->schedules().empty(),
               "TrainerOptions: capture is true, but a step with several devices, accumulated batches, clipping, the "
               "precision 16-mixed or a schedule of the learning rate cannot be recorded; accepted: none of them");
  const auto step = [&s](MicroBatch& batch) {
    s.optimizers->optimizer()->zero_grad();
    BatchResult result = s.strategy->train_batch(batch, s.settings);
    s.strategy->optimizer_step(*s.optimizers->optimizer(), nullptr);
    return result;
  };
  s.captured_step = std::make_unique<detail::CapturedStep>(s.strategy->devices()[0], step);
}

/// Trains an epoch, or the rest of one that a checkpoint was saved in.
void Fit::run_epoch() {
  detail::FitState& s = *state_;
  if (s.batches_done == 0) {
    s.call("on_train_epoch_start", &Callback::on_train_epoch_start, *this);
    s.hooks.on_train_epoch_start();
  }
  s.training->begin_epoch(static_cast<size_t>(s.epoch));
  while (s.batches_done < s.num_batches && !s.stopping) {
    const int64_t before = s.batches_done;
    train_step();
    if (is_validation_due(before)) validate();
    if (world_size() == 1) agree_on_stop();
    if (s.batches_done < s.num_batches) save_if_requested();
  }
  if (s.batches_done < s.num_batches) return;
  s.training->end_epoch();
  end_epoch();
  save_if_requested();
}

/// Computes the batches of one step of the optimizer, and makes the step.
void Fit::train_step() {
  detail::FitState& s = *state_;
  const int64_t count = std::min(s.options.accumulate_grad_batches(), s.num_batches - s.batches_done);
  std::vector<MicroBatch> batches;
  double weight = 0;  // of this rank or, if it is the number of rows, of all ranks
  for (int64_t i = 0; i < count; ++i) {
    batches.push_back(s.next_batch(*s.training, s.batches_done + i));
    weight += s.hooks.is_weighted_by_rows() ? static_cast<double>(s.training->rows_in_batch(s.batches_done + i))
                                            : batches.back().weight;
  }
  // The weight of all batches and ranks is known before the first backward, so each backward begins with its final
  // factor, and no gradient is rescaled.
  if (s.hooks.is_weighted_by_rows())
    s.settings.total_weight = weight;
  else
    s.strategy->add_weights(weight, s.settings);
  if (!s.captured_step) s.optimizers->optimizer()->zero_grad();
  s.step_means.clear();
  for (MicroBatch& batch : batches) {
    s.settings.is_last = &batch == &batches.back();
    s.call("on_train_batch_start", &Callback::on_train_batch_start, *this, s.batches_done);
    BatchResult result = s.captured_step ? (*s.captured_step)(batch) : s.strategy->train_batch(batch, s.settings);
    s.loss = result.loss;
    if (s.loss.value.defined())
      result.logged.push_back({"train_loss", s.loss.value, batch.weight, /*is_sum=*/!s.loss.is_mean});
    for (const detail::LoggedValue& value : result.logged) {
      s.step_means.add(value);
      s.epoch_means.add(value);
    }
    if (s.settings.is_last) finish_step();
    ++s.batches_done;
    s.call("on_train_batch_end", &Callback::on_train_batch_end, *this, s.batches_done - 1);
  }
}

/// Makes the optimizer's step.
void Fit::step_optimizer() {
  detail::FitState& s = *state_;
  optim::Optimizer& optimizer = *s.optimizers->optimizer();
  if (s.options.gradient_clip_val() > 0) {
    if (s.scaler) s.scaler->unscale_(optimizer);
    s.strategy->clip_gradients(s.options.gradient_clip_val());
  }
  s.call("on_before_optimizer_step", &Callback::on_before_optimizer_step, *this);
  s.strategy->optimizer_step(optimizer, s.scaler.get());
}

/// Makes the optimizer's step, unless a captured step has made it, and the schedules' steps that follow it.
void Fit::finish_step() {
  detail::FitState& s = *state_;
  if (!s.captured_step) step_optimizer();
  ++s.global_step;
  for (const detail::Schedule& schedule : s.optimizers->schedules())
    if (s.schedules_enabled && schedule.every_step && s.global_step % schedule.frequency == 0)
      schedule.scheduler->step();
  if (s.global_step % s.options.log_every_n_steps() == 0) {
    s.publish(s.step_means, "");
    s.epoch_means.read();
    agree_on_stop();
  }
  if (s.options.max_steps() >= 0 && s.global_step >= s.options.max_steps()) s.stopping = true;
}

bool Fit::is_validation_due(int64_t batches_before) const {
  const detail::FitState& s = *state_;
  if (!s.validation) return false;
  const std::optional<int64_t> every = s.options.check_val_every_n_epoch();
  if (every && (s.epoch + 1) % *every != 0) return false;
  const int64_t earlier = every ? 0 : s.epoch * s.num_batches;
  return (earlier + s.batches_done) / s.validation_interval > (earlier + batches_before) / s.validation_interval;
}

void Fit::validate() {
  detail::FitState& s = *state_;
  s.call("on_validation_start", &Callback::on_validation_start, *this);
  {
    const EvaluationGuard guard(*s.strategy->module().module, s.seed, rank());
    s.strategy->begin_evaluation();
    s.validation->begin_epoch(static_cast<size_t>(++s.num_validations));
    s.begin_metrics();
    s.hooks.on_validation_epoch_start();
    RunningMeans means;
    for (int64_t i = 0; i < s.num_validation_batches; ++i) {
      MicroBatch batch = s.next_batch(*s.validation, i);
      for (const detail::LoggedValue& value : s.strategy->evaluate(batch, s.settings)) means.add(value);
    }
    s.validation->end_epoch();
    s.hooks.on_validation_epoch_end();
    s.add_values_of_epoch(means);
    s.publish(means, "");
    s.publish_metrics();
  }
  s.call("on_validation_end", &Callback::on_validation_end, *this);
  agree_on_stop();
}

/// Publishes the epoch's means, and makes the schedules' steps that follow epochs.
void Fit::end_epoch() {
  detail::FitState& s = *state_;
  s.hooks.on_train_epoch_end();
  s.add_values_of_epoch(s.epoch_means);
  s.publish(s.epoch_means, "_epoch");
  s.epoch_means.clear();
  for (const detail::Schedule& schedule : s.optimizers->schedules()) {
    if (!s.schedules_enabled || schedule.every_step || (s.epoch + 1) % schedule.frequency != 0) continue;
    if (schedule.scheduler)
      schedule.scheduler->step();
    else
      schedule.plateau->step(metric(schedule.monitor, "a schedule of the learning rate"));
  }
  s.call("on_train_epoch_end", &Callback::on_train_epoch_end, *this);
  agree_on_stop();
  ++s.epoch;
  s.batches_done = 0;
}

/// Makes all ranks stop if a callback of one of them asked for it.
void Fit::agree_on_stop() {
  if (state_->strategy->sum_over_ranks(state_->stop_requested ? 1 : 0) > 0) state_->stopping = true;
}

/// Tells the callbacks, and the other ranks if they are processes, that this rank fails. (For threads, run_ranks does.)
void Fit::fail() {
  detail::FitState& s = *state_;
  const std::string message = exception_message(std::current_exception());
  for (const std::shared_ptr<Callback>& callback : s.callbacks) try {
      callback->on_exception(*this, message);
    } catch (...) {  // the first exception leaves fit()
    }
  if (s.ranks_are_processes) s.strategy->abort("rank " + std::to_string(rank()) + " failed: " + message);
}

void Fit::validate_once() {
  try {
    validate();
  } catch (...) {
    fail();
    throw;
  }
}

void Fit::average_over_ranks(const std::vector<Tensor>& tensors, double weight) {
  if (world_size() == 1) return;
  const NoGradGuard no_grad;
  const double total = sum_over_ranks(weight);
  if (total == 0) return;
  for (const Tensor& t : tensors) {
    const Tensor sum = t.detach().to(kFloat64) * weight;
    state_->strategy->add_up_over_ranks(sum);
    Tensor(t).copy_(sum / total);
  }
}

void Fit::forward_training_batches() {
  detail::FitState& s = *state_;
  Generator scratch(s.seed, static_cast<uint64_t>(rank()));
  const GeneratorGuard generator(scratch);
  const NoGradGuard no_grad;
  s.training->begin_epoch(static_cast<size_t>(s.epoch));
  for (int64_t i = 0; i < s.num_batches; ++i)
    if (std::optional<detail::AnyTree> batch = s.training->next()) {
      batch->move_to(s.strategy->devices()[0]);
      s.hooks.forward_any(*batch);
    }
  s.training->end_epoch();
}

int Fit::rank() const { return state_->strategy->rank(); }
int Fit::world_size() const { return state_->strategy->world_size(); }
const std::vector<Device>& Fit::devices() const { return state_->strategy->devices(); }
int64_t Fit::epoch() const { return state_->epoch; }
int64_t Fit::num_batches() const { return state_->num_batches; }
int64_t Fit::batches_done() const { return state_->batches_done; }
int64_t Fit::global_step() const { return state_->global_step; }
const TrainerOptions& Fit::options() const { return state_->options; }
nn::Module& Fit::module() const { return *state_->strategy->module().module; }
optim::Optimizer& Fit::optimizer() const {
  TANDEM_CHECK(state_->optimizers, "Fit::optimizer: validate() has no optimizer; accepted: a call during fit()");
  return *state_->optimizers->optimizer();
}
Tensor Fit::loss() const {
  const detail::BatchLoss& loss = state_->loss;
  return loss.is_mean || !loss.value.defined() ? loss.value : loss.value / loss.weight;
}
const std::map<std::string, double>& Fit::metrics() const { return state_->metrics; }
const std::map<std::string, Tensor>& Fit::metric_values() const { return state_->metric_values; }
double Fit::metric(const std::string& name, const std::string& user) const {
  const auto found = state_->metrics.find(name);
  if (found != state_->metrics.end()) return found->second;
  std::string known;
  for (const auto& each : state_->metrics) known += (known.empty() ? "" : ", ") + each.first;
  TANDEM_FAIL(user, " follows the metric '", name,
              "', which has no value; accepted: ", known.empty() ? "a metric that the module logs" : known);
}
void Fit::log(const std::vector<std::pair<std::string, double>>& metrics) {
  for (const auto& [name, value] : metrics) state_->metrics[name] = value;
  state_->log(metrics);
}
void Fit::enable_schedules(bool enabled) { state_->schedules_enabled = enabled; }
void Fit::stop() { state_->stop_requested = true; }
bool Fit::is_stopping() const { return state_->stopping || state_->stop_requested; }
double Fit::sum_over_ranks(double value) { return state_->strategy->sum_over_ranks(value); }

}  // namespace tandem::train
