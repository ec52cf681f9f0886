// Perplexity of a language model.
#pragma once
#include <optional>

#include "tandem/train/metrics/metric.h"

namespace tandem::metrics {

/// Options of Perplexity, with torchmetrics' names and defaults.
class PerplexityOptions : public MetricOptions<PerplexityOptions> {
 public:
  PerplexityOptions() = default;
  /// Token in target whose positions are left out, such as padding.
  TANDEM_ARG(std::optional<int64_t>, ignore_index) = {};
};

/// e to the mean negative log probability of the tokens in target. update() takes logits (batch, length, vocabulary) of
/// a floating dtype, and a target (batch, length) of integer tokens.
class Perplexity : public Metric {
 public:
  explicit Perplexity(PerplexityOptions options = {});
  std::string name() const override { return "Perplexity"; }
  /// Options of this metric.
  const PerplexityOptions& options() const { return options_; }

 protected:
  std::vector<Tensor> batch_states(const Tensor& preds, const Tensor& target) const override;
  Tensor compute_value(const std::vector<Tensor>& states) const override;

 private:
  PerplexityOptions options_;
};

}  // namespace tandem::metrics
