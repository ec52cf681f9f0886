// Losses of distances and of pairs of embeddings: hinge_embedding_loss, cosine_embedding_loss. The slope of clamp_min
// at the margin is 1, as in PyTorch.
#include "tandem/ops/loss/embedding_loss.h"

#include "tandem/ops/loss/loss_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, cosine_embedding_loss, hinge_embedding_loss);

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, double margin, LossReduction reduction) {
  if (const Autocast cast{cast_policy::hinge_embedding_loss, x, target})
    return hinge_embedding_loss(cast(x), cast(target), margin, reduction);
  check_floating_point("hinge_embedding_loss", x);
  const Tensor near = where(target != 1, (margin - x).clamp_min(0), Scalar(0));
  return apply_loss_reduction(near + where(target != -1, x, Scalar(0)), reduction);
}
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target, double margin,
                             LossReduction reduction) {
  if (const Autocast cast{cast_policy::cosine_embedding_loss, a, b, target})
    return cosine_embedding_loss(cast(a), cast(b), cast(target), margin, reduction);
  TANDEM_CHECK(target.dim() <= 1,
               "cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported, but target is ",
               target.sizes());
  TANDEM_CHECK(a.dim() == target.dim() + 1 && b.dim() == a.dim(), "cosine_embedding_loss: ", target.dim(),
               "D target tensor expects ", target.dim() + 1, "D input tensors, but found inputs with sizes ", a.sizes(),
               " and ", b.sizes(), ".");
  constexpr double kEps = 1e-12;  // added to the squared norms, so that the cosine of a row of zeros is finite
  const Tensor aa = (a * a).sum({-1}) + kEps, bb = (b * b).sum({-1}) + kEps;
  const Tensor cosine = (a * b).sum({-1}) / (aa * bb).sqrt();
  const Tensor alike = where(target == 1, 1 - cosine, Scalar(0));
  return apply_loss_reduction(alike + where(target == -1, (cosine - margin).clamp_min(0), Scalar(0)), reduction);
}

}  // namespace tandem
