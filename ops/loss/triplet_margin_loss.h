// The margin between distances from an anchor: triplet_margin_loss.
#pragma once
#include "tandem/ops/loss/reduction.h"

namespace tandem {

/// max(0, margin + |anchor - positive| - |anchor - negative|) with pairwise_distance's norm. With `swap` the negative's
/// distance is the smaller of those from the anchor and from the positive (Balntas et al. 2016).
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, detail::Flag swap = false,
                           Reduction reduction = Reduction::mean);

}  // namespace tandem
