// What the operations of layers and losses ask of their arguments, and how kernels get them. Internal.
#pragma once
#include "tandem/autograd/copy.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Contiguous, and without history: for kernels.
inline Tensor dense(const Tensor& x) {
  const NoGradGuard guard;
  return x.contiguous();
}
inline void check_real(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), op, ": dtype is ", x.dtype(), "; accepted: floating point");
}
/// A weight, bias or statistic, or none: `size` elements on x's device.
inline void check_part(const char* op, const char* name, const Tensor& part, int64_t size, const Tensor& x) {
  TANDEM_CHECK(!part.defined() || (part.numel() == size && part.device() == x.device()), op, ": ", name, " is ",
               part.sizes(), " on ", part.device(), "; accepted: ", size, " elements on ", x.device(), ", as x of ",
               x.sizes(), " has");
}
/// Kernels of whole rows exist for float32 and float64; half types go through float.
inline Tensor widened(const Tensor& x) { return is_half(x.dtype()) ? x.to(kFloat32) : x; }

}  // namespace tandem::detail
