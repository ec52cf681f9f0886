// Metrics of regression: MeanSquaredError, MeanAbsoluteError, R2Score.
#pragma once
#include "tandem/train/metrics/metric.h"

namespace tandem::metrics {

/// Options of MeanSquaredError, with torchmetrics' names and defaults.
class MeanSquaredErrorOptions : public MetricOptions<MeanSquaredErrorOptions> {
 public:
  MeanSquaredErrorOptions() = default;
  /// If false, the value is the square root of the mean.
  TANDEM_ARG(bool, squared) = true;
  /// If larger than 1, preds and target are (N, num_outputs), and the value is a vector of one error per output.
  TANDEM_ARG(int64_t, num_outputs) = 1;
};
/// Mean of (preds - target)^2 over all elements. preds and target have equal shapes.
class MeanSquaredError : public Metric {
 public:
  /// @throws Error unless num_outputs is positive
  explicit MeanSquaredError(MeanSquaredErrorOptions options = {});
  std::string name() const override { return "MeanSquaredError"; }
  /// Options of this metric.
  const MeanSquaredErrorOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  Tensor compute_value(const std::vector<Tensor>& states) const override;

 private:
  MeanSquaredErrorOptions options_;
};

/// Options of MeanAbsoluteError, with torchmetrics' names and defaults.
class MeanAbsoluteErrorOptions : public MetricOptions<MeanAbsoluteErrorOptions> {
 public:
  MeanAbsoluteErrorOptions() = default;
  /// If larger than 1, preds and target are (N, num_outputs), and the value is a vector of one error per output.
  TANDEM_ARG(int64_t, num_outputs) = 1;
};
/// Mean of |preds - target| over all elements. preds and target have equal shapes.
class MeanAbsoluteError : public Metric {
 public:
  /// @throws Error unless num_outputs is positive
  explicit MeanAbsoluteError(MeanAbsoluteErrorOptions options = {});
  std::string name() const override { return "MeanAbsoluteError"; }
  /// Options of this metric.
  const MeanAbsoluteErrorOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  Tensor compute_value(const std::vector<Tensor>& states) const override;

 private:
  MeanAbsoluteErrorOptions options_;
};

/// Options of R2Score, with torchmetrics' names and defaults.
class R2ScoreOptions : public MetricOptions<R2ScoreOptions> {
 public:
  R2ScoreOptions() = default;
  /// Number of independent regressors, for the adjusted score 1 - (1 - R2) (n - 1) / (n - adjusted - 1). If there are
  /// too few examples for it, the value is R2, with a warning.
  TANDEM_ARG(int64_t, adjusted) = 0;
  /// Combination of the scores of several outputs. "uniform_average": their mean. "variance_weighted": mean weighted by
  /// the outputs' variances. "raw_values": one score per output.
  TANDEM_ARG(std::string, multioutput) = "uniform_average";
};
/// Coefficient of determination: 1 - sum of (target - preds)^2 / sum of (target - mean)^2. preds and target have equal
/// shapes, (N) or (N, outputs). As in torchmetrics, sums up to 1e-4 count as 0: the score is 1 if the residuals are 0,
/// else 0 if the variance is.
class R2Score : public Metric {
 public:
  /// @throws Error for options that are not accepted
  explicit R2Score(R2ScoreOptions options = {});
  std::string name() const override { return "R2Score"; }
  /// Options of this metric.
  const R2ScoreOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  /// @throws Error if there are fewer than two examples
  Tensor compute_value(const std::vector<Tensor>& states) const override;
  Tensor merge_states(const Tensor& a, const Tensor& b) const override;

 private:
  R2ScoreOptions options_;
};

}  // namespace tandem::metrics
