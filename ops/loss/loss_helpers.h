// Helpers of losses: checks of x and target, their difference, and the reduction. Internal.
#pragma once
#include "tandem/ops/define_op.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem::detail {

inline Tensor apply_loss_reduction(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none ? losses : reduction == Reduction::sum ? losses.sum() : losses.mean();
}
inline void check_target_size(const char* op, const Tensor& x, const Tensor& target) {
  TANDEM_CHECK(x.device() == target.device(), op,
               ": Expected all tensors to be on the same device, but got target is on ", target.device(),
               ", different from other tensors on ", x.device());
  TANDEM_CHECK(x.sizes() == target.sizes(), op, ": Target size ", target.sizes(), " must be the same as input size ",
               x.sizes());
}
inline void check_loss_inputs(const char* op, const Tensor& x, const Tensor& target) {
  check_floating_point(op, x);
  check_target_size(op, x, target);
}
/// Returns x - target; a bool target is converted to x's dtype first.
inline Tensor subtract_target(const Tensor& x, const Tensor& target) {
  return x - (target.dtype() == kBool ? target.to(x.dtype()) : target);
}

}  // namespace tandem::detail
