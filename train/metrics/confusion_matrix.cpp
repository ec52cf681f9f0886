// Implements ConfusionMatrix.
#include "tandem/train/metrics/confusion_matrix.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/train/metrics/labels.h"

namespace tandem::metrics {
namespace {

ClassificationTask confusion_task(const ConfusionMatrixOptions& options) {
  ClassificationTask task = make_task("ConfusionMatrix", options);
  task.threshold = options.threshold();
  task.ignored_scores_count = false;
  return task;
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(ConfusionMatrixOptions options) : Metric(options), options_(std::move(options)) {
  const ClassificationTask task = confusion_task(options_);
  check_choice(name(), "normalize", options_.normalize(), {"none", "true", "pred", "all"});
  check_threshold(name(), options_.threshold());
  std::vector<int64_t> shape(2, task.num_classes);
  if (task.task == Task::multilabel) shape.insert(shape.begin(), task.num_labels);
  add_state("confmat", zeros(shape, TensorOptions().dtype(kInt64)), Reduction::SUM);
  add_state("invalid", no_invalid_label(), Reduction::MAX);
}

std::vector<Tensor> ConfusionMatrix::batch_states(const Tensor& preds, const Tensor& target) const {
  const ClassificationTask task = confusion_task(options_);
  const Labels labels = to_labels(task, preds, target);
  const int64_t classes = task.num_classes, cells = classes * classes;
  Tensor cell = labels.target * classes + labels.preds;
  if (task.task == Task::multilabel) cell = cell + arange(task.num_labels, cell.options()) * cells;
  const Tensor none = zeros({task.num_labels * cells}, cell.options());
  const Tensor counts = none.scatter_add(0, cell.flatten(), labels.keep.flatten().to(kInt64));
  if (task.task == Task::multilabel) return {counts.view({-1, classes, classes}), labels.invalid};
  return {counts.view({classes, classes}), labels.invalid};
}

Tensor ConfusionMatrix::compute_value(const std::vector<Tensor>& states) const {
  check_no_invalid_label(confusion_task(options_), states[1]);
  if (options_.normalize() == "none") return states[0].clone();
  const Tensor counts = states[0].to(kFloat64);
  Tensor total = counts.sum({-2, -1}, true);
  if (options_.normalize() == "true") total = counts.sum({-1}, true);
  if (options_.normalize() == "pred") total = counts.sum({-2}, true);
  const Tensor quotient = counts / total, undefined = quotient.isnan();
  if (const auto number = undefined.sum().item<int64_t>(); number > 0)
    warn(std::to_string(number) + " values 0 / 0 of the normalized confusion matrix are now 0");
  return quotient.masked_fill(undefined, 0);
}

}  // namespace tandem::metrics
