// ConfusionMatrix: counts elements by target and prediction.
#pragma once
#include "tandem/train/metrics/classification_options.h"

namespace tandem::metrics {

/// Options of ConfusionMatrix, with torchmetrics' names and defaults.
class ConfusionMatrixOptions : public ClassificationOptions<ConfusionMatrixOptions> {
 public:
  /// @param task  see ClassificationOptions
  ConfusionMatrixOptions(std::string task) : ClassificationOptions(std::move(task)) {}
  ConfusionMatrixOptions(const char* task) : ClassificationOptions(task) {}
  /// Score above which a label counts as predicted. For the tasks binary and multilabel.
  TANDEM_ARG(double, threshold) = 0.5;
  /// "none": counts. "true": divided by the number of elements with this target. "pred": divided by the number of
  /// elements with this prediction. "all": divided by the number of elements. 0 / 0 is 0, with a warning.
  TANDEM_ARG(std::string, normalize) = "none";
};

/// Counts of elements: row = target, column = prediction. The value is int64 or, if normalized, float64. Its shape is
/// (num_classes, num_classes); for the task binary (2, 2), and for the task multilabel (num_labels, 2, 2). update()
/// takes the same tensors as StatScores.
class ConfusionMatrix : public Metric {
 public:
  /// @throws Error for options that are missing or not accepted
  explicit ConfusionMatrix(ConfusionMatrixOptions options);
  std::string name() const override { return "ConfusionMatrix"; }
  /// Options of this metric.
  const ConfusionMatrixOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  Tensor compute_value(const std::vector<Tensor>& states) const override;

 private:
  ConfusionMatrixOptions options_;
};

}  // namespace tandem::metrics
