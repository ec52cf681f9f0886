// Losses with a margin: margin_ranking_loss, soft_margin_loss, multi_margin_loss, multilabel_margin_loss,
// multilabel_soft_margin_loss.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

// In margin_ranking_loss and soft_margin_loss, targets are -1 or 1. The operands of margin_ranking_loss broadcast.

/// Returns max(0, margin - target (a - b)): target is 1 if a should be larger than b, and -1 if b should.
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           detail::LossReduction reduction = Reduction::mean);
/// Returns ln(1 + e^(-target x)), computed without overflow. x and target must have the same sizes.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean);
/// Returns, for each sample n with class t = target[n], the sum over all other classes i of max(0, margin - x[n, t] +
/// x[n, i])^p weight[t] / C. p must be 1 or 2.
/// @param x       (N, C) or (C), with a target (N) or (), int64 in [0, C)
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p = 1, const Scalar& margin = 1,
                         const Tensor& weight = {}, detail::LossReduction reduction = Reduction::mean);
/// Returns, for each sample n, the sum of max(0, 1 - x[n, t] + x[n, i]) / C over the target's classes t and all classes
/// i that are not in the target.
/// @param target  (N, C) or (C), with x's sizes, int64: a list of classes that ends at the first negative number
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, detail::LossReduction reduction = Reduction::mean);

namespace detail {
/// Returns the mean over the classes (the last dimension) of -weight (t ln s(x) + (1 - t) ln s(-x)), where s is the
/// sigmoid.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight, Reduction reduction);
}  // namespace detail

}  // namespace tandem
