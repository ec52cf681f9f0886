// Implements ModelCheckpoint.
#include "tandem/train/callbacks/model_checkpoint.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "tandem/core/internal.h"
#include "tandem/serialize/archive.h"
#include "tandem/train/trainer_options.h"

namespace tandem::train {

ModelCheckpoint::ModelCheckpoint(ModelCheckpointOptions options) : options_(std::move(options)) {
  TANDEM_CHECK(options_.mode() == "min" || options_.mode() == "max", "ModelCheckpoint: mode is '", options_.mode(),
               "'; accepted: min, max");
  TANDEM_CHECK(options_.every_n_train_steps() >= 0, "ModelCheckpoint: every_n_train_steps is ",
               options_.every_n_train_steps(), "; accepted: 1 or more, or 0 for checkpoints after epochs");
  TANDEM_CHECK(options_.every_n_epochs() >= 1, "ModelCheckpoint: every_n_epochs is ", options_.every_n_epochs(),
               "; accepted: 1 or more");
  TANDEM_CHECK(options_.save_top_k() >= -1, "ModelCheckpoint: save_top_k is ", options_.save_top_k(),
               "; accepted: 0 or more, or -1 for all");
}

void ModelCheckpoint::on_train_start(Fit& fit) {
  folder_ = options_.dirpath().empty() ? fit.options().default_root_dir() + "/checkpoints" : options_.dirpath();
  const bool is_fresh = fit.options().ckpt_path().empty();
  if (!is_fresh || fit.rank() != 0 || !std::filesystem::is_directory(folder_)) return;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    int64_t step = -1;
    // Saving would fail, but only after training for a while.
    TANDEM_CHECK(std::sscanf(file.path().filename().c_str(), "step_%ld.pt", &step) != 1,
                 "ModelCheckpoint: training begins anew, but ", folder_, " has a checkpoint of step ", step,
                 "; accepted: ckpt_path(\"last\") to continue that training, or another default_root_dir or dirpath");
  }
}

void ModelCheckpoint::request(Fit& fit, bool metric_may_be_missing) {
  double score = -static_cast<double>(fit.global_step());
  if (metric_may_be_missing && !fit.metrics().contains(options_.monitor()))
    score = NAN;
  else if (!options_.monitor().empty())
    score = fit.metric(options_.monitor(), "ModelCheckpoint");
  // NaN counts as the worst value.
  const double sign = options_.mode() == "max" && !options_.monitor().empty() ? -1 : 1;
  const auto is_better = [sign](const Saved& a, const Saved& b) {
    return std::isnan(b.score) ? !std::isnan(a.score) : sign * a.score < sign * b.score;
  };
  requested_ = last_ = fit.global_step();
  std::erase_if(kept_, [&](const Saved& each) { return each.step == last_; });
  const Saved now{last_, score};
  kept_.insert(std::upper_bound(kept_.begin(), kept_.end(), now, is_better), now);
  if (options_.save_top_k() >= 0 && kept_.size() > static_cast<size_t>(options_.save_top_k())) kept_.pop_back();
  const bool is_kept = std::any_of(kept_.begin(), kept_.end(), [this](const Saved& s) { return s.step == last_; });
  if (!is_kept && !options_.save_last()) {
    requested_ = -1;
    return;
  }
  if (std::find(files_.begin(), files_.end(), last_) == files_.end()) files_.push_back(last_);
  fit.request_checkpoint(folder_);
}

// If a validation follows the step, on_validation_end() replaces the metric's value.
void ModelCheckpoint::on_train_batch_end(Fit& fit, int64_t) {
  const int64_t every = options_.every_n_train_steps();
  if (every > 0 && fit.global_step() > 0 && fit.global_step() % every == 0 && fit.global_step() != last_)
    request(fit, /*metric_may_be_missing=*/!options_.monitor().empty());
}
void ModelCheckpoint::on_validation_end(Fit& fit) {
  // The metric of the requested checkpoint has a new value.
  if (requested_ == fit.global_step()) request(fit);
}
void ModelCheckpoint::on_train_epoch_end(Fit& fit) {
  const bool is_due = options_.every_n_train_steps() == 0 && (fit.epoch() + 1) % options_.every_n_epochs() == 0;
  if (is_due || requested_ == fit.global_step()) request(fit);
}

void ModelCheckpoint::on_checkpoint_saved(Fit& fit) {
  requested_ = -1;
  const auto is_wanted = [this](int64_t step) {
    return (step == last_ && options_.save_last()) ||
           std::any_of(kept_.begin(), kept_.end(), [step](const Saved& each) { return each.step == step; });
  };
  for (const int64_t step : files_) {
    std::error_code already_gone;
    if (!is_wanted(step) && fit.rank() == 0) std::filesystem::remove(Fit::checkpoint_path(folder_, step), already_gone);
  }
  std::erase_if(files_, [&](int64_t step) { return !is_wanted(step); });
}

std::string ModelCheckpoint::best_model_path() const {
  return kept_.empty() ? "" : Fit::checkpoint_path(folder_, kept_[0].step);
}
std::string ModelCheckpoint::last_model_path() const { return last_ < 0 ? "" : Fit::checkpoint_path(folder_, last_); }
std::optional<double> ModelCheckpoint::best_model_score() const {
  if (kept_.empty() || options_.monitor().empty()) return {};
  return kept_[0].score;
}

void ModelCheckpoint::save(serialize::OutputArchive& archive) const {
  std::vector<int64_t> steps;
  std::vector<double> scores;
  for (const Saved& each : kept_) steps.push_back(each.step), scores.push_back(each.score);
  archive.write("kept", IValue(steps));
  archive.write("scores", IValue(scores));
  archive.write("files", IValue(files_));
  archive.write("last", IValue(last_));
}
void ModelCheckpoint::load(serialize::InputArchive& archive) {
  IValue steps, scores, files, last;
  archive.read("kept", steps);
  archive.read("scores", scores);
  archive.read("files", files);
  archive.read("last", last);
  const std::vector<int64_t> kept = steps.toIntVector();
  const std::vector<double> values = scores.toDoubleVector();
  TANDEM_CHECK(kept.size() == values.size(), "ModelCheckpoint: the checkpoint has ", kept.size(), " steps and ",
               values.size(), " scores; expected as many");
  kept_.clear();
  for (size_t i = 0; i < kept.size(); ++i) kept_.push_back({kept[i], values[i]});
  files_ = files.toIntVector();
  last_ = last.toInt();
}

}  // namespace tandem::train
