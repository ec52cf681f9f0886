// Helpers of the normalisations: checks of weight and bias, 1 / deviation, and the statistics that native_batch_norm,
// native_layer_norm and native_group_norm give. Internal.
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
/// 1 / sqrt(var + eps) with the dimensions of x, of 1; m is the mean.
inline Tensor rstd_of(const Tensor& x, const Tensor& m, IntArrayRef dims, double eps) {
  return root_mean_square(x - m, dims, eps).reciprocal().to(x.dtype());
}
/// (mean, 1 / deviation) over dims. As in PyTorch, a half type on the CPU has both in its own dtype, unless the weight
/// has another.
inline std::tuple<Tensor, Tensor> statistics(const Tensor& x, const Tensor& weight, IntArrayRef dims, double eps,
                                             bool keepdim) {
  const NoGradGuard guard;
  const Tensor wide = x.to(kFloat64);
  const DType type =
      x.is_cpu() && !(weight.defined() && weight.dtype() != x.dtype()) ? x.dtype() : accumulate_type(x.dtype());
  return {wide.mean(dims, keepdim).to(type), (wide.var(dims, false, keepdim) + eps).rsqrt().to(type)};
}

}  // namespace tandem::detail
