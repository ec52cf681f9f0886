// Losses with a margin: margin_ranking_loss, soft_margin_loss, multi_margin_loss, multilabel_margin_loss,
// multilabel_soft_margin_loss.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

// Targets of -1 and 1 say which of two cases it is; operands broadcast.

/// max(0, margin - target (a - b))
Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::mean);
/// ln(1 + e^(-target x)), which does not overflow.
Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// sum over the classes i but t = target[n] of max(0, margin - x[n, t] + x[n, i])^p weight[t] / C, p 1 or 2.
/// @param x       (N, C) or (C), with target (N) or (), int64 in [0, C)
Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const Scalar& p = 1, const Scalar& margin = 1,
                         const Tensor& weight = {}, Reduction reduction = Reduction::mean);
/// sum over the classes t of the target and the classes i that are none of max(0, 1 - x[n, t] + x[n, i]) / C.
/// @param target  of x's sizes, (N, C) or (C), int64: classes, of which the first negative number ends the list
Tensor multilabel_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

namespace detail {
/// The mean over the classes, the last dimension, of -weight (t ln s(x) + (1 - t) ln s(-x)) with s the sigmoid.
Tensor multilabel_soft_margin_loss(const Tensor& x, const Tensor& target, const Tensor& weight, Reduction reduction);
}  // namespace detail

}  // namespace tandem
