// Implements the conversion of predictions and targets to class labels, and its checks.
#include "tandem/train/metrics/labels.h"

#include <limits>

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"

namespace tandem::metrics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Returns the largest value for which `condition` holds, as float64; -infinity if there is none. A value of -infinity
/// counts as the lowest number.
Tensor largest_where(const Tensor& values, const Tensor& condition) {
  if (values.numel() == 0) return full({}, -kInfinity, TensorOptions().dtype(kFloat64).device(values.device()));
  const Tensor finite = values.to(kFloat64).clamp_min(std::numeric_limits<double>::lowest());
  return finite.masked_fill(condition.logical_not(), -kInfinity).amax();
}

/// Returns labels in a dtype that can be compared with every int64.
Tensor widen(const Tensor& labels) { return labels.is_floating_point() ? labels : labels.to(kInt64); }

/// Returns whether elements are something other than a label from 0 to num_classes - 1.
Tensor is_invalid(const Tensor& labels, int64_t num_classes) {
  const Tensor outside = (labels < 0).logical_or(labels >= num_classes);
  return labels.is_floating_point() ? outside.logical_or(labels != labels.floor()) : outside;
}

/// Applies sigmoid or, with `dim`, softmax to scores if a score for which `counts` holds is outside of [0, 1]. The
/// decision is made on the device, so that the host does not wait for it.
Tensor normalize_scores(const Tensor& scores, const Tensor& counts, std::optional<int64_t> dim = {}) {
  Tensor outside = (scores >= 0).logical_and(scores <= 1).logical_not();
  if (counts.defined()) outside = outside.logical_and(counts);
  return where(outside.any(), dim ? scores.softmax(*dim) : scores.sigmoid(), scores);
}

/// Rearranges (N, C, ...) to (elements, C).
Tensor to_rows(const Tensor& x) { return x.movedim(1, -1).reshape({-1, x.size(1)}); }

void check_target(const ClassificationTask& task, const Tensor& target) {
  TANDEM_CHECK(target.dim() > 0, task.metric, ": target is a scalar; accepted: at least one dimension");
  TANDEM_CHECK(!target.is_floating_point() || task.task != Task::multiclass, task.metric, ": target is of ",
               target.dtype(), "; the task multiclass accepts integers");
}
void check_same_shape(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  TANDEM_CHECK(preds.sizes() == target.sizes(), task.metric, ": preds is ", preds.sizes(), " and target is ",
               target.sizes(), "; accepted: equal shapes",
               task.task == Task::multiclass ? ", or scores (N, C, ...) with a target (N, ...)" : "");
  if (task.task != Task::multilabel) return;
  TANDEM_CHECK(preds.dim() >= 2 && preds.size(1) == task.num_labels, task.metric, ": preds and target are ",
               preds.sizes(), "; accepted: (N, ", task.num_labels, ", ...), because num_labels is ", task.num_labels);
}
void check_class_scores(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  TANDEM_CHECK(preds.is_floating_point(), task.metric, ": preds ", preds.sizes(),
               " has one dimension more than target ", target.sizes(), " and is of ", preds.dtype(),
               "; accepted: a floating dtype for scores of the classes");
  std::vector<int64_t> expected = target.sizes().vec();
  if (!expected.empty()) expected.insert(expected.begin() + 1, task.num_classes);
  TANDEM_CHECK(!expected.empty() && preds.sizes() == IntArrayRef(expected), task.metric, ": preds is ", preds.sizes(),
               " and target is ", target.sizes(), "; accepted: scores (N, ", task.num_classes,
               ", ...) with a target (N, ...), because num_classes is ", task.num_classes);
}
bool has_class_scores(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  return task.task == Task::multiclass && preds.dim() == target.dim() + 1;
}

/// Returns whether elements are not ignored, with target's shape.
Tensor not_ignored(const ClassificationTask& task, const Tensor& target) {
  if (!task.ignore_index) return ones(target.sizes(), TensorOptions().dtype(kBool).device(target.device()));
  return widen(target) != *task.ignore_index;
}

/// Rearranges a tensor with target's shape to (elements), for the task multilabel to (elements, labels).
Tensor flatten_elements(const ClassificationTask& task, const Tensor& x) {
  return task.task == Task::multilabel ? to_rows(x) : x.flatten();
}

/// Returns the predicted class of each element, from scores (N, C, ...).
Tensor best_classes(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  if (task.top_k == 1) return preds.argmax(1).flatten();
  const Tensor best = std::get<1>(to_rows(preds).topk(task.top_k, 1));
  const Tensor labels = target.flatten();
  return where((best == labels.unsqueeze(1)).any(1), labels, best.select(1, 0));
}

/// Returns the state `invalid` of a batch. On the CPU, checks it at once.
Tensor find_invalid(const ClassificationTask& task, const Tensor& target, const Tensor& preds) {
  const Tensor invalid = stack({target, preds});
  if (invalid.is_cpu()) check_no_invalid_label(task, invalid);
  return invalid;
}

}  // namespace

ClassificationTask make_task(const std::string& metric, const std::string& task, std::optional<int64_t> num_classes,
                             std::optional<int64_t> num_labels, std::optional<int64_t> ignore_index) {
  check_choice(metric, "task", task, {"binary", "multiclass", "multilabel"});
  ClassificationTask made{.metric = metric, .task = Task::binary, .ignore_index = ignore_index};
  if (task == "binary") return made;
  const bool multiclass = task == "multiclass";
  const std::optional<int64_t> count = multiclass ? num_classes : num_labels;
  const char* const option = multiclass ? "num_classes" : "num_labels";
  TANDEM_CHECK(count, metric, ": ", option, " is not set; the task ", task, " accepts 2 or more");
  TANDEM_CHECK(*count >= 2, metric, ": ", option, " is ", *count, "; the task ", task, " accepts 2 or more");
  made.task = multiclass ? Task::multiclass : Task::multilabel;
  (multiclass ? made.num_classes : made.num_labels) = *count;
  return made;
}

void check_choice(const std::string& metric, const char* option, const std::string& value,
                  std::initializer_list<const char*> accepted) {
  std::string list;
  for (const char* const each : accepted) {
    if (value == each) return;
    list += (list.empty() ? "" : ", ") + std::string(each);
  }
  TANDEM_FAIL(metric, ": ", option, " is '", value, "'; accepted: ", list);
}

void check_threshold(const std::string& metric, double threshold) {
  TANDEM_CHECK(threshold >= 0 && threshold <= 1, metric, ": threshold is ", threshold, "; accepted: 0 to 1");
}

Labels to_labels(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  check_target(task, target);
  const Tensor keep = not_ignored(task, target);
  Tensor labels = preds;
  if (has_class_scores(task, preds, target)) {
    check_class_scores(task, preds, target);
    labels = best_classes(task, preds, target);
  } else {
    check_same_shape(task, preds, target);
    TANDEM_CHECK(task.top_k == 1, task.metric, ": top_k is ", task.top_k, " and preds are labels ", preds.sizes(),
                 "; accepted: scores (N, ", task.num_classes, ", ...)");
    TANDEM_CHECK(!preds.is_floating_point() || task.task != Task::multiclass, task.metric, ": preds ", preds.sizes(),
                 " has target's shape and is of ", preds.dtype(), "; accepted: integer labels, or scores (N, ",
                 task.num_classes, ", ...)");
    if (preds.is_floating_point())
      labels = normalize_scores(preds, task.ignored_scores_count ? Tensor() : keep) > task.threshold;
  }
  const Tensor kept = flatten_elements(task, keep);
  const Tensor predicted = widen(flatten_elements(task, labels)), expected = widen(flatten_elements(task, target));
  const Tensor bad_preds = is_invalid(predicted, task.num_classes).logical_and(kept);
  const Tensor bad_target = is_invalid(expected, task.num_classes).logical_and(kept);
  return {.preds = predicted.to(kInt64).clamp(0, task.num_classes - 1),
          .target = expected.to(kInt64).clamp(0, task.num_classes - 1),
          .keep = kept.logical_and(bad_preds.logical_or(bad_target).logical_not()),
          .invalid = find_invalid(task, largest_where(expected, bad_target), largest_where(predicted, bad_preds))};
}

Labels to_target_labels(const ClassificationTask& task, const Tensor& target) {
  check_target(task, target);
  const Tensor kept = flatten_elements(task, not_ignored(task, target));
  const Tensor labels = widen(flatten_elements(task, target));
  const Tensor bad = is_invalid(labels, task.num_classes).logical_and(kept);
  const Tensor worst = largest_where(labels, bad);
  return {.preds = {},
          .target = labels.to(kInt64).clamp(0, task.num_classes - 1),
          .keep = kept.logical_and(bad.logical_not()),
          .invalid = find_invalid(task, worst, full_like(worst, -kInfinity))};
}

Scores to_scores(const ClassificationTask& task, const Tensor& preds, const Tensor& target) {
  TANDEM_CHECK(preds.is_floating_point(), task.metric, ": preds is of ", preds.dtype(),
               "; accepted: a floating dtype for probabilities or logits");
  if (task.task == Task::multiclass)
    check_class_scores(task, preds, target);
  else
    check_same_shape(task, preds, target);
  const Labels labels = to_target_labels(task, target);
  const Tensor scores = task.task == Task::binary ? preds.flatten() : to_rows(preds);
  Tensor probabilities;
  if (task.task == Task::multiclass)
    probabilities = normalize_scores(scores, labels.keep.unsqueeze(1), /*dim=*/1);
  else
    probabilities = normalize_scores(scores, task.task == Task::binary ? labels.keep : Tensor());
  return {.preds = probabilities,
          .target = labels.target.masked_fill(labels.keep.logical_not(), -1),
          .invalid = labels.invalid};
}

Tensor no_invalid_label() { return full({2}, -kInfinity, TensorOptions().dtype(kFloat64)); }

void check_no_invalid_label(const ClassificationTask& task, const Tensor& invalid) {
  const Tensor on_host = invalid.to(kCPU);
  for (const int64_t i : {0, 1}) {
    const double label = on_host.data_ptr<double>()[i];
    if (label == -kInfinity) continue;
    const std::string also =
        i == 0 && task.ignore_index ? ", and ignore_index " + std::to_string(*task.ignore_index) : std::string();
    TANDEM_FAIL(task.metric, ": ", i == 0 ? "target" : "preds", " has the label ", label, "; accepted: 0 to ",
                task.num_classes - 1,
                task.task == Task::multiclass ? ", because num_classes is " + std::to_string(task.num_classes) : "",
                also);
  }
}

}  // namespace tandem::metrics
