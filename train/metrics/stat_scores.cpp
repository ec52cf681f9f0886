// Implements Accuracy, Precision, Recall, FBetaScore and F1Score.
#include "tandem/train/metrics/stat_scores.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/train/metrics/labels.h"

namespace tandem::metrics {
namespace {

ClassificationTask stat_scores_task(const std::string& name, const StatScoresOptions& options) {
  ClassificationTask task = make_task(name, options);
  task.threshold = options.threshold();
  task.top_k = options.top_k();
  return task;
}

Tensor divide(const Tensor& a, const Tensor& b, double zero_division) {
  return where(b != 0, a / b, full_like(b, zero_division));
}

/// Returns the counts of each class: rows tp, fp, tn, fn.
Tensor count_classes(const Labels& labels, int64_t num_classes) {
  const Tensor keep = labels.keep.to(kInt64);
  const Tensor none = zeros({num_classes}, keep.options());
  const Tensor hits = keep * (labels.preds == labels.target);
  const Tensor tp = none.scatter_add(0, labels.target, hits);
  const Tensor predicted = none.scatter_add(0, labels.preds, keep);
  const Tensor expected = none.scatter_add(0, labels.target, keep);
  return stack({tp, predicted - tp, keep.sum() - predicted - expected + tp, expected - tp});
}

/// Returns the counts of labels 0 and 1: rows tp, fp, tn, fn, with a column for each label of an example.
Tensor count_labels(const Labels& labels, int64_t num_labels) {
  const Tensor preds = labels.preds.to(kBool), target = labels.target.to(kBool);
  const auto count = [&](const Tensor& right, const Tensor& predicted) {
    return labels.keep.logical_and(right).logical_and(predicted).to(kInt64).view({-1, num_labels}).sum({0});
  };
  const Tensor right = preds == target, wrong = right.logical_not(), negative = preds.logical_not();
  return stack({count(right, preds), count(wrong, preds), count(right, negative), count(wrong, negative)});
}

}  // namespace

StatScores::StatScores(const std::string& name, StatScoresOptions options)
    : Metric(options), options_(std::move(options)) {
  const ClassificationTask task = make_task(name, options_);
  check_choice(name, "average", options_.average(), {"micro", "macro", "weighted", "none"});
  check_threshold(name, options_.threshold());
  TANDEM_CHECK(options_.zero_division() == 0 || options_.zero_division() == 1, name, ": zero_division is ",
               options_.zero_division(), "; accepted: 0 and 1");
  const int64_t most = task.task == Task::multiclass ? task.num_classes : 1;
  TANDEM_CHECK(options_.top_k() >= 1 && options_.top_k() <= most, name, ": top_k is ", options_.top_k(),
               "; accepted: 1 to ", most, most == 1 ? " for the task " + options_.task() : " (num_classes)");
  const int64_t columns = task.task == Task::multiclass ? task.num_classes : task.num_labels;
  add_state("counts", zeros({4, columns}, TensorOptions().dtype(kInt64)), Reduction::SUM);
  add_state("invalid", no_invalid_label(), Reduction::MAX);
}

std::vector<Tensor> StatScores::batch_states(const Tensor& preds, const Tensor& target) const {
  const ClassificationTask task = stat_scores_task(name(), options_);
  const Labels labels = to_labels(task, preds, target);
  const bool multiclass = task.task == Task::multiclass;
  return {multiclass ? count_classes(labels, task.num_classes) : count_labels(labels, task.num_labels), labels.invalid};
}

Tensor StatScores::compute_value(const std::vector<Tensor>& states) const {
  const ClassificationTask task = stat_scores_task(name(), options_);
  check_no_invalid_label(task, states[1]);
  Tensor counts = states[0].to(kFloat64);
  if (task.task == Task::binary) return score(counts[0], counts[1], counts[2], counts[3]).squeeze(0);
  if (options_.average() == "micro") counts = counts.sum({1});
  const Tensor tp = counts[0], fp = counts[1], tn = counts[2], fn = counts[3];
  const Tensor scores = score(tp, fp, tn, fn);
  if (options_.average() == "micro" || options_.average() == "none") return scores;

  Tensor weights = tp + fn;
  if (options_.average() == "macro") {
    const Tensor occurrences = skips_classes_without_target() ? tp + fn : tp + fp + fn;
    weights = task.task == Task::multiclass ? (occurrences != 0).to(kFloat64) : ones_like(scores);
  }
  return divide(weights * scores, weights.sum(), 0).sum();
}

Accuracy::Accuracy(AccuracyOptions options) : StatScores("Accuracy", std::move(options)) {
  TANDEM_CHECK(this->options().zero_division() == 0, "Accuracy: zero_division is ", this->options().zero_division(),
               "; accepted: 0");
}
Tensor Accuracy::score(const Tensor& tp, const Tensor& fp, const Tensor& tn, const Tensor& fn) const {
  if (options().task() == "multiclass") return divide(tp, tp + fn, 0);
  return divide(tp + tn, tp + tn + fp + fn, 0);
}
Tensor Precision::score(const Tensor& tp, const Tensor& fp, const Tensor&, const Tensor&) const {
  return divide(tp, tp + fp, options().zero_division());
}
Tensor Recall::score(const Tensor& tp, const Tensor&, const Tensor&, const Tensor& fn) const {
  return divide(tp, tp + fn, options().zero_division());
}
FBetaScore::FBetaScore(const std::string& name, FBetaScoreOptions options, double beta)
    : StatScores(name, std::move(options)), beta_(beta) {
  TANDEM_CHECK(beta > 0, name, ": beta is ", beta, "; accepted: a positive number");
}
Tensor FBetaScore::score(const Tensor& tp, const Tensor& fp, const Tensor&, const Tensor& fn) const {
  const double square = beta_ * beta_;
  return divide((1 + square) * tp, (1 + square) * tp + square * fn + fp, options().zero_division());
}

}  // namespace tandem::metrics
