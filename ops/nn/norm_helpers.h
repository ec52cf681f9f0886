// Helpers of normalizations: checks of weight and bias, 1 / standard deviation, and the statistics that
// native_batch_norm, native_layer_norm and native_group_norm return. Internal.
#pragma once
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/partial_sums.h"
#include "tandem/ops/reduce/std_var.h"

namespace tandem::detail {

inline void check_channel_params(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_floating_point(op, x);
  TANDEM_CHECK(x.dim() >= 2, op, ": Expected at least 2 dimensions for input tensor but received ", x.dim(),
               "; accepted: (N, C, ...)");
  check_parameter(op, "weight", weight, x.size(1), x);
  check_parameter(op, "bias", bias, x.size(1), x);
}
/// Checks that normalized_shape is not empty, and that it equals the last sizes of x.
inline void check_normalized_shape(const char* op, const Tensor& x, IntArrayRef normalized_shape) {
  const size_t tail = normalized_shape.size(), rank = static_cast<size_t>(x.dim());
  TANDEM_CHECK(tail > 0, op,
               ": Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
               "element, but got normalized_shape = ",
               normalized_shape);
  const auto expected = [&] {
    std::string text = "[*";
    for (const int64_t n : normalized_shape) text += ", " + std::to_string(n);
    return text + "]";
  };
  TANDEM_CHECK(tail <= rank && x.sizes().slice(rank - tail, tail) == normalized_shape, op,
               ": Given normalized_shape=", normalized_shape, ", expected input with shape ", expected(),
               ", but got input of size", x.sizes());
}
/// Checks the shape of `part`, a weight or bias, which may be undefined.
inline void check_param_shape(const char* op, const char* name, const Tensor& part, IntArrayRef normalized_shape) {
  TANDEM_CHECK(!part.defined() || part.sizes() == normalized_shape, op, ": Expected ", name,
               " to be of same shape as normalized_shape, but got ", name, " of shape ", part.sizes(),
               " and normalized_shape = ", normalized_shape);
}
/// Returns 1 / sqrt(var + eps) over dims, with keepdim; m is the mean of x.
inline Tensor compute_rstd(const Tensor& x, const Tensor& m, IntArrayRef dims, double eps) {
  return root_mean_square(x - m, dims, eps).reciprocal().to(x.dtype());
}
/// Returns (mean, 1 / standard deviation) over dims. As in PyTorch, statistics of a half type have this dtype on the
/// CPU, unless weight has another dtype; otherwise they are float32.
inline std::tuple<Tensor, Tensor> compute_mean_and_rstd(const Tensor& x, const Tensor& weight, IntArrayRef dims,
                                                        double eps, bool keepdim) {
  const NoGradGuard guard;
  const Tensor wide = x.to(kFloat64);
  const DType type =
      x.is_cpu() && !(weight.defined() && weight.dtype() != x.dtype()) ? x.dtype() : accumulate_type(x.dtype());
  return {wide.mean(dims, keepdim).to(type), (wide.var(dims, false, keepdim) + eps).rsqrt().to(type)};
}

}  // namespace tandem::detail
