// Implements AUROC.
#include "tandem/train/metrics/auroc.h"

#include "tandem/core/internal.h"
#include "tandem/ops/ops.h"
#include "tandem/train/metrics/labels.h"

namespace tandem::metrics {

AUROC::AUROC(AUROCOptions options) : Metric(options), options_(std::move(options)) {
  const ClassificationTask task = make_task("AUROC", options_);
  if (task.task == Task::multilabel)
    check_choice(name(), "average", options_.average(), {"micro", "macro", "weighted", "none"});
  else
    check_choice(name(), "average", options_.average(), {"macro", "weighted", "none"});
  add_state("preds", {}, Reduction::CAT);
  add_state("target", {}, Reduction::CAT);
  add_state("invalid", no_invalid_label(), Reduction::MAX);
}

std::vector<Tensor> AUROC::batch_states(const Tensor& preds, const Tensor& target) const {
  const Scores scores = to_scores(make_task("AUROC", options_), preds, target);
  return {scores.preds, scores.target, scores.invalid};
}

/// Returns the area of one class as a float64 scalar. Counts are integers, so that the order of elements has no effect.
/// @param what  the class, in warnings
Tensor AUROC::area(const Tensor& scores, const Tensor& positive, const std::string& what) const {
  TANDEM_CHECK(scores.numel() > 0, name(), ": there are no elements", what,
               "; accepted: at least one that is not ignored");
  const auto [sorted, order] = scores.sort(0, /*descending=*/true);
  const Tensor hits = positive.index_select(0, order).to(kInt64);
  // A point of the curve is the last of the elements with equal scores.
  const Tensor is_point = cat({sorted.slice(0, 1) != sorted.slice(0, 0, -1), ones({1}, positive.options())});
  const Tensor origin = zeros({1}, hits.options());
  const Tensor tp = cat({origin, hits.cumsum(0).masked_select(is_point)});
  const Tensor fp = cat({origin, (1 - hits).cumsum(0).masked_select(is_point)});
  const auto positives = tp[-1].item<int64_t>(), negatives = fp[-1].item<int64_t>();
  if (positives == 0 || negatives == 0) {
    warn(std::string("target has no ") + (positives == 0 ? "positive" : "negative") + " elements" + what +
         "; the area is 0");
    return zeros({}, TensorOptions().dtype(kFloat64).device(scores.device()));
  }
  const Tensor width = fp.slice(0, 1) - fp.slice(0, 0, -1), height = tp.slice(0, 1) + tp.slice(0, 0, -1);
  const double rectangle = static_cast<double>(positives) * static_cast<double>(negatives);
  return (width * height).sum().to(kFloat64) / (2 * rectangle);
}

Tensor AUROC::compute_value(const std::vector<Tensor>& states) const {
  const ClassificationTask task = make_task("AUROC", options_);
  check_no_invalid_label(task, states[2]);
  TANDEM_CHECK(states[0].defined(), name(), ": there are no batches; accepted: compute() after update()");
  const Tensor &preds = states[0], &target = states[1];
  const Tensor keep = target != -1;
  if (task.task == Task::binary || options_.average() == "micro")
    return area(preds.masked_select(keep), target.masked_select(keep) == 1, "");

  const bool multilabel = task.task == Task::multilabel;
  const int64_t columns = multilabel ? task.num_labels : task.num_classes;
  std::vector<Tensor> areas, weights;
  for (int64_t c = 0; c < columns; ++c) {
    const Tensor kept = multilabel ? keep.select(1, c) : keep, all = multilabel ? target.select(1, c) : target;
    const Tensor positive = all.masked_select(kept) == (multilabel ? 1 : c);
    const std::string what = std::string(multilabel ? " of label " : " of class ") + std::to_string(c);
    areas.push_back(area(preds.select(1, c).masked_select(kept), positive, what));
    weights.push_back(positive.sum().to(kFloat64));
  }
  const Tensor each = stack(areas);
  if (options_.average() == "none") return each;
  if (options_.average() == "macro") return each.mean();
  const Tensor weight = stack(weights), total = weight.sum();
  return where(total != 0, (each * weight).sum() / total, zeros_like(total));
}

}  // namespace tandem::metrics
