// Triplet losses of an anchor, a positive and a negative: triplet_margin_loss, triplet_margin_with_distance_loss.
#include "tandem/ops/loss/triplet_margin_loss.h"

#include "tandem/ops/loss/loss_helpers.h"
#include "tandem/ops/nn/distance.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, triplet_margin_loss);

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, Flag swap, LossReduction reduction) {
  if (const Autocast cast{cast_policy::triplet_margin_loss, anchor, positive, negative})
    return triplet_margin_loss(cast(anchor), cast(positive), cast(negative), margin, p, eps, swap, reduction);
  TANDEM_CHECK(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
               "triplet_margin_loss: The anchor, positive, and negative tensors are expected to have the same number "
               "of dimensions, but got: anchor ",
               anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  const Tensor near = pairwise_distance(anchor, positive, p, eps);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = far.minimum(pairwise_distance(positive, negative, p, eps));
  return apply_loss_reduction((margin + near - far).clamp_min(0), reduction);
}

Tensor detail::triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                                 const std::optional<PairDistance>& distance_function, double margin,
                                                 bool swap, Reduction reduction) {
  const auto distance = [&](const Tensor& a, const Tensor& b) {
    return distance_function ? (*distance_function)(a, b) : pairwise_distance(a, b);
  };
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (swap) far = far.minimum(distance(positive, negative));
  return apply_loss_reduction((near - far + margin).clamp_min(0), reduction);
}

}  // namespace tandem
