// AUROC: area under the curve of true positive rate over false positive rate.
#pragma once
#include "tandem/train/metrics/classification_options.h"

namespace tandem::metrics {

/// Options of AUROC, with torchmetrics' names and defaults.
class AUROCOptions : public ClassificationOptions<AUROCOptions> {
 public:
  /// @param task  see ClassificationOptions
  AUROCOptions(std::string task) : ClassificationOptions(std::move(task)) {}
  AUROCOptions(const char* task) : ClassificationOptions(task) {}
  /// Combination of the areas of classes or labels. "macro": their mean. "weighted": mean weighted by the number of
  /// elements of the class in target. "none": one area per class. "micro", for the task multilabel only: area over all
  /// labels together. The task binary has only one area.
  TANDEM_ARG(std::string, average) = "macro";
};

/// Exact area under the receiver operating characteristic: the probability that an element of a class has a higher
/// score than an element of the other classes; equal scores count half. update() takes a target of integer labels
/// (N, ...), for the task multilabel (N, num_labels, ...), and floating preds: probabilities or, if a value is outside
/// of [0, 1], logits, to which sigmoid or, for the task multiclass, softmax is applied. Their shape is target's, for
/// the task multiclass (N, num_classes, ...).
///
/// All scores are kept, on the device of the batches; compute() gathers the scores of all ranks. The area of a class
/// that all or no elements belong to is 0, with a warning.
class AUROC : public Metric {
 public:
  /// @throws Error for options that are missing or not accepted
  explicit AUROC(AUROCOptions options);
  std::string name() const override { return "AUROC"; }
  /// Options of this metric.
  const AUROCOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  /// @throws Error if there is no element that is not ignored
  Tensor compute_value(const std::vector<Tensor>& states) const override;

 private:
  Tensor area(const Tensor& scores, const Tensor& positive, const std::string& what) const;
  AUROCOptions options_;
};

}  // namespace tandem::metrics
