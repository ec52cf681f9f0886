// Implements Perplexity.
#include "tandem/train/metrics/perplexity.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/train/metrics/labels.h"

namespace tandem::metrics {
namespace {

ClassificationTask token_task(const PerplexityOptions& options, int64_t vocabulary) {
  return {.metric = "Perplexity",
          .task = Task::multiclass,
          .num_classes = vocabulary,
          .ignore_index = options.ignore_index()};
}

}  // namespace

Perplexity::Perplexity(PerplexityOptions options) : Metric(options), options_(std::move(options)) {
  add_state("total_log_probs", zeros({}, TensorOptions().dtype(kFloat64)), Reduction::SUM);
  add_state("count", zeros({}, TensorOptions().dtype(kInt64)), Reduction::SUM);
  add_state("vocabulary", zeros({}, TensorOptions().dtype(kInt64)), Reduction::MAX);
  add_state("invalid", no_invalid_label(), Reduction::MAX);
}

std::vector<Tensor> Perplexity::batch_states(const Tensor& preds, const Tensor& target) const {
  TANDEM_CHECK(preds.is_floating_point(), "Perplexity: preds is of ", preds.dtype(),
               "; accepted: a floating dtype for logits");
  TANDEM_CHECK(preds.dim() == 3 && target.dim() == 2 && preds.size(0) == target.size(0) &&
                   preds.size(1) == target.size(1) && preds.size(2) > 0,
               "Perplexity: preds is ", preds.sizes(), " and target is ", target.sizes(),
               "; accepted: logits (batch, length, vocabulary) with a target (batch, length)");
  const int64_t vocabulary = preds.size(2);
  const Labels labels = to_target_labels(token_task(options_, vocabulary), target);
  const bool is_half = preds.dtype() == kFloat16 || preds.dtype() == kBFloat16;
  const Tensor logits = (is_half ? preds.to(kFloat32) : preds).reshape({-1, vocabulary});
  const Tensor log_probs = logits.log_softmax(1).gather(1, labels.target.unsqueeze(1)).squeeze(1).to(kFloat64);
  return {-log_probs.masked_fill(labels.keep.logical_not(), 0).sum(), labels.keep.to(kInt64).sum(),
          full({}, vocabulary, labels.target.options()), labels.invalid};
}

Tensor Perplexity::compute_value(const std::vector<Tensor>& states) const {
  check_no_invalid_label(token_task(options_, states[2].item<int64_t>()), states[3]);
  return (states[0] / states[1]).exp();
}

}  // namespace tandem::metrics
