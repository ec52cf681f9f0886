// Triplet losses of an anchor, a positive and a negative: triplet_margin_loss, triplet_margin_with_distance_loss.
#pragma once
#include <functional>
#include <optional>

#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// Returns max(0, margin + |anchor - positive| - |anchor - negative|) with the norm of pairwise_distance. If `swap`,
/// |positive - negative| replaces |anchor - negative| where it is smaller (Balntas et al. 2016).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, detail::Flag swap = false,
                           detail::LossReduction reduction = Reduction::mean);

namespace detail {
using PairDistance = std::function<Tensor(const Tensor&, const Tensor&)>;
/// Computes triplet_margin_loss with any distance function; the default is pairwise_distance.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const std::optional<PairDistance>& distance_function, double margin, bool swap,
                                         Reduction reduction);
}  // namespace detail

}  // namespace tandem
