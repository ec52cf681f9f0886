// Converts predictions and targets of classification metrics to class labels. Internal.
#pragma once
#include <optional>

#include "tandem/core/tensor.h"
#include "tandem/train/metrics/classification_options.h"

namespace tandem::metrics {

enum class Task { binary, multiclass, multilabel };

/// The options that determine how predictions and targets are read.
struct ClassificationTask {
  std::string metric;  // name of the metric in error messages
  Task task;
  int64_t num_classes = 2;  // multiclass: classes; binary and multilabel: 2
  int64_t num_labels = 1;   // multilabel: labels of an example; otherwise 1
  std::optional<int64_t> ignore_index = {};
  double threshold = 0.5;
  int64_t top_k = 1;
  /// Binary scores only: whether ignored elements count in the decision between logits and probabilities.
  bool ignored_scores_count = true;
};

/// Checks the options. @throws Error if the task is unknown, or its number of classes or labels missing or too small
ClassificationTask make_task(const std::string& metric, const std::string& task, std::optional<int64_t> num_classes,
                             std::optional<int64_t> num_labels, std::optional<int64_t> ignore_index);
template <class Options> ClassificationTask make_task(const std::string& metric, const Options& options) {
  return make_task(metric, options.task(), options.num_classes(), options.num_labels(), options.ignore_index());
}
/// @throws Error unless `value` is one of the accepted strings
void check_choice(const std::string& metric, const char* option, const std::string& value,
                  std::initializer_list<const char*> accepted);
/// @throws Error unless the threshold is from 0 to 1
void check_threshold(const std::string& metric, double threshold);

/// A batch as labels. The shapes are (elements), for the task multilabel (elements, labels).
struct Labels {
  Tensor preds, target;  // int64, from 0 to num_classes - 1
  Tensor keep;           // bool; false for elements that are ignored or not valid
  Tensor invalid;        // float64, 2 elements: the largest invalid label in target and in preds; -infinity if none
};
/// Converts a batch. preds are labels of target's shape or scores, which have one dimension more for the task
/// multiclass. With top_k > 1, an element's prediction is its target if that has one of the k highest scores, else the
/// class with the highest score; of equal scores, the lower class counts as higher.
/// @throws Error for other shapes and dtypes and, on the CPU, for invalid labels
Labels to_labels(const ClassificationTask& task, const Tensor& preds, const Tensor& target);

/// Converts a target alone; `preds` of the result is undefined. @throws Error as to_labels
Labels to_target_labels(const ClassificationTask& task, const Tensor& target);

/// A batch as scores, for curves.
struct Scores {
  Tensor preds;    // probabilities: (elements), or (elements, classes or labels)
  Tensor target;   // int64: (elements), for the task multilabel (elements, labels); -1 for elements not kept
  Tensor invalid;  // see Labels
};
/// Converts a batch. @throws Error as to_labels, and if preds are labels
Scores to_scores(const ClassificationTask& task, const Tensor& preds, const Tensor& target);

/// Value of the state `invalid` before the first batch.
Tensor no_invalid_label();
/// Reads Labels::invalid; waits for the GPU if it is there. @throws Error that names an invalid label
void check_no_invalid_label(const ClassificationTask& task, const Tensor& invalid);

}  // namespace tandem::metrics
