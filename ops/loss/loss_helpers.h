// Helpers of losses: checks of x and target, their difference, and the reduction. Internal.
#pragma once
#include "tandem/ops/define_op.h"
#include "tandem/ops/loss/reduction.h"

namespace tandem::detail {

inline Tensor reduced(const Tensor& losses, Reduction reduction) {
  return reduction == Reduction::none ? losses : reduction == Reduction::sum ? losses.sum() : losses.mean();
}
inline void check_sizes(const char* op, const Tensor& x, const Tensor& target) {
  TANDEM_CHECK(x.device() == target.device() && x.sizes() == target.sizes(), op, ": x is ", x.sizes(), " on ",
               x.device(), " and target is ", target.sizes(), " on ", target.device(),
               "; both must have the same shape and device");
}
inline void check_pair(const char* op, const Tensor& x, const Tensor& target) {
  check_real(op, x);
  check_sizes(op, x, target);
}
/// Returns x - target; a bool target is converted to x's dtype first.
inline Tensor difference(const Tensor& x, const Tensor& target) {
  return x - (target.dtype() == kBool ? target.to(x.dtype()) : target);
}

}  // namespace tandem::detail
