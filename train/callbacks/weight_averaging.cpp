// Implements EMA, StochasticWeightAveraging and LearningRateMonitor.
#include "tandem/train/callbacks/weight_averaging.h"

#include <cmath>

#include "tandem/core/internal.h"
#include "tandem/nn/batch_norm.h"
#include "tandem/train/callbacks/averaged_weights.h"
#include "tandem/train/trainer_options.h"

namespace tandem::train {

struct detail::WeightAverage : AveragedWeights {};

EMA::EMA(double decay) : decay_(decay) {
  TANDEM_CHECK(decay >= 0 && decay <= 1, "EMA: decay is ", decay, "; accepted: a number from 0 to 1");
}
void EMA::on_train_start(Fit& fit) {
  if (!std::exchange(is_restored_, false)) average_ = std::make_shared<detail::WeightAverage>();
  average_->start(fit.module());
  last_step_ = fit.global_step();
}
void EMA::on_train_batch_end(Fit& fit, int64_t) {
  if (fit.global_step() == last_step_) return;
  last_step_ = fit.global_step();
  average_->update(fit.module(), 1 - decay_);
}
void EMA::on_validation_start(Fit& fit) {
  if (average_) average_->swap(fit.module());
}
void EMA::on_validation_end(Fit& fit) {
  if (average_) average_->swap(fit.module());
}
void EMA::on_train_end(Fit& fit) {
  average_->swap(fit.module());
  average_.reset();
}
void EMA::on_exception(Fit&, const std::string&) { average_.reset(); }
void EMA::save(serialize::OutputArchive& archive) const { average_->save(archive); }
void EMA::load(serialize::InputArchive& archive) {
  average_ = std::make_shared<detail::WeightAverage>();
  average_->load(archive);
  is_restored_ = true;
}

namespace {

/// A batch norm whose running statistics are recomputed.
struct FreshNorm {
  nn::BatchNormOptions* options;
  std::optional<double> momentum;  // as it was before
  Tensor mean, var, num_batches;
};
/// If the module is a Norm in training mode with running statistics, resets them, and makes them a plain mean over the
/// batches that follow.
template <class Norm> void reset_statistics(nn::Module& module, std::vector<FreshNorm>& norms) {
  auto* const norm = module.as<Norm>();
  if (!norm || !norm->is_training() || !norm->options.track_running_stats()) return;
  norm->reset_running_stats();
  norms.push_back(
      {&norm->options, norm->options.momentum(), norm->running_mean, norm->running_var, norm->num_batches_tracked});
  norm->options.momentum(std::nullopt);
}

}  // namespace

StochasticWeightAveraging::StochasticWeightAveraging(StochasticWeightAveragingOptions options)
    : options_(std::move(options)) {
  TANDEM_CHECK(options_.swa_lrs() > 0, "StochasticWeightAveraging: swa_lrs is ", options_.swa_lrs(),
               "; accepted: a positive rate");
  TANDEM_CHECK(options_.swa_epoch_start() >= 0 && options_.annealing_epochs() >= 0,
               "StochasticWeightAveraging: swa_epoch_start is ", options_.swa_epoch_start(), ", and annealing_epochs ",
               options_.annealing_epochs(), "; accepted: 0 or more");
}
void StochasticWeightAveraging::on_train_start(Fit& fit) {
  if (!std::exchange(is_restored_, false)) {
    average_ = std::make_shared<detail::WeightAverage>();
    num_averaged_ = 0;
    first_rates_.clear();
  }
  if (num_averaged_ > 0) average_->start(fit.module());
  fit.enable_schedules(first_rates_.empty());
}
void StochasticWeightAveraging::on_train_epoch_start(Fit& fit) {
  const int64_t since = fit.epoch() - options_.swa_epoch_start();
  if (since < 0) return;
  std::vector<optim::OptimizerParamGroup>& groups = fit.optimizer().param_groups();
  if (first_rates_.empty()) {
    for (const optim::OptimizerParamGroup& group : groups) first_rates_.push_back(group.options().get_lr());
    fit.enable_schedules(false);
  }
  const double part =
      options_.annealing_epochs() == 0
          ? 1
          : std::min(1.0, static_cast<double>(since) / static_cast<double>(options_.annealing_epochs()));
  const double rest = (1 + std::cos(M_PI * part)) / 2;  // share of the first rate that is left
  for (size_t i = 0; i < groups.size(); ++i)
    groups[i].options().set_lr(options_.swa_lrs() + (first_rates_.at(i) - options_.swa_lrs()) * rest);
}
void StochasticWeightAveraging::on_train_epoch_end(Fit& fit) {
  if (fit.epoch() < options_.swa_epoch_start()) return;
  if (num_averaged_++ == 0)
    average_->start(fit.module());
  else
    average_->update(fit.module(), 1 / static_cast<double>(num_averaged_));
}
void StochasticWeightAveraging::on_train_end(Fit& fit) {
  if (num_averaged_ == 0) return;
  average_->swap(fit.module());
  // Batch norms take the mean over all batches of a pass, and over the ranks' parts of them.
  std::vector<FreshNorm> norms;
  fit.module().apply([&norms](nn::Module& each) {
    reset_statistics<nn::BatchNorm1d>(each, norms);
    reset_statistics<nn::BatchNorm2d>(each, norms);
    reset_statistics<nn::BatchNorm3d>(each, norms);
  });
  if (norms.empty()) return;
  fit.forward_training_batches();
  for (const FreshNorm& norm : norms) {
    norm.options->momentum(norm.momentum);
    fit.average_over_ranks({norm.mean, norm.var}, norm.num_batches.item<double>());
  }
}
void StochasticWeightAveraging::save(serialize::OutputArchive& archive) const {
  serialize::OutputArchive averages;
  average_->save(averages);
  archive.write("averages", averages);
  archive.write("num_averaged", IValue(num_averaged_));
  archive.write("first_rates", IValue(first_rates_));
}
void StochasticWeightAveraging::load(serialize::InputArchive& archive) {
  serialize::InputArchive averages;
  IValue num_averaged, first_rates;
  archive.read("averages", averages);
  archive.read("num_averaged", num_averaged);
  archive.read("first_rates", first_rates);
  average_ = std::make_shared<detail::WeightAverage>();
  average_->load(averages);
  num_averaged_ = num_averaged.toInt();
  is_restored_ = true;
  first_rates_ = first_rates.toDoubleVector();
}

void LearningRateMonitor::on_before_optimizer_step(Fit& fit) {
  if ((fit.global_step() + 1) % fit.options().log_every_n_steps() != 0) return;
  const std::vector<optim::OptimizerParamGroup>& groups = fit.optimizer().param_groups();
  std::vector<std::pair<std::string, double>> rates;
  for (size_t i = 0; i < groups.size(); ++i)
    rates.emplace_back(groups.size() == 1 ? "lr" : "lr/" + std::to_string(i), groups[i].options().get_lr());
  fit.log(rates);
}

}  // namespace tandem::train
