// The margin between distances from an anchor: triplet_margin_loss, triplet_margin_with_distance_loss.
#pragma once
#include <functional>
#include <optional>

#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// max(0, margin + |anchor - positive| - |anchor - negative|) with pairwise_distance's norm. With `swap` the negative's
/// distance is the smaller of those from the anchor and from the positive (Balntas et al. 2016).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, detail::Flag swap = false,
                           Reduction reduction = Reduction::mean);

namespace detail {
using PairDistance = std::function<Tensor(const Tensor&, const Tensor&)>;
/// triplet_margin_loss with any distance; pairwise_distance unless given.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const std::optional<PairDistance>& distance_function, double margin, bool swap,
                                         Reduction reduction);
}  // namespace detail

}  // namespace tandem
