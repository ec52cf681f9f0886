// Helpers of normalizations: checks of weight and bias, 1 / standard deviation, and the statistics that
// native_batch_norm, native_layer_norm and native_group_norm return. Internal.
#pragma once
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"
#include "tandem/ops/reduce/std_var.h"

namespace tandem::detail {

inline void check_channels(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_real(op, x);
  TANDEM_CHECK(x.dim() >= 2, op, ": x is ", x.sizes(), "; accepted: (N, C, ...)");
  check_part(op, "weight", weight, x.size(1), x);
  check_part(op, "bias", bias, x.size(1), x);
}
/// Returns 1 / sqrt(var + eps) over dims, with keepdim; m is the mean of x.
inline Tensor rstd_of(const Tensor& x, const Tensor& m, IntArrayRef dims, double eps) {
  return root_mean_square(x - m, dims, eps).reciprocal().to(x.dtype());
}
/// Returns (mean, 1 / standard deviation) over dims. As in PyTorch, statistics of a half type have this dtype on the
/// CPU, unless weight has another dtype; otherwise they are float32.
inline std::tuple<Tensor, Tensor> statistics(const Tensor& x, const Tensor& weight, IntArrayRef dims, double eps,
                                             bool keepdim) {
  const NoGradGuard guard;
  const Tensor wide = x.to(kFloat64);
  const DType type =
      x.is_cpu() && !(weight.defined() && weight.dtype() != x.dtype()) ? x.dtype() : accumulate_type(x.dtype());
  return {wide.mean(dims, keepdim).to(type), (wide.var(dims, false, keepdim) + eps).rsqrt().to(type)};
}

}  // namespace tandem::detail
