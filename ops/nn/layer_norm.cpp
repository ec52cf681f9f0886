// Normalization over the last dimensions, and its gradient: layer_norm, native_layer_norm, rms_norm.
#include "tandem/ops/nn/layer_norm.h"

#include <limits>

#include "tandem/kernels/norm.h"
#include "tandem/ops/nn/norm_helpers.h"
#include "tandem/ops/reduce/partial_sums.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, layer_norm, native_layer_norm, rms_norm);

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  if (const Autocast cast{cast_policy::layer_norm, input, weight, bias})
    return layer_norm(cast(input), normalized_shape, cast(weight), cast(bias), eps);
  check_floating_point("layer_norm", input);
  const int64_t n = numel_of(normalized_shape);
  check_normalized_shape("layer_norm", input, normalized_shape);
  for (const auto& [name, part] : {std::pair("weight", &weight), std::pair("bias", &bias)}) {
    check_param_shape("layer_norm", name, *part, normalized_shape);
    check_parameter("layer_norm", name, *part, n, input);
  }
  const DType statistic = accumulate_type(input.dtype());
  const Tensor rows = input.reshape({n ? input.numel() / n : 0, n});
  const Tensor x = contiguous_detached(rows);
  // For many rows, a half-precision weight is converted to float once. For few rows, the converted copy could be as
  // large as x, so kernels take the weight as it is.
  const bool few_rows = x.device().is_cpu() && x.size(0) < 8;
  const auto prepare = [&](const Tensor& part) {
    return few_rows && part.defined() ? contiguous_detached(part.detach()) : prepare_parameter(part, x.dtype());
  };
  const Tensor w = prepare(weight), b = prepare(bias);
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device()), mean = core::empty({x.size(0)}, statistic, x.device()),
         rstd = core::empty({x.size(0)}, statistic, x.device());
  TANDEM_DISPATCH(x.device(), layer_norm, x, w, b, eps, y, mean, rstd);
  const Shape bias_sizes = bias.defined() ? Shape(bias.sizes()) : Shape();
  const auto backward = [eps, bias_sizes](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), mean = ctx.saved(1), rstd = ctx.saved(2), weight = ctx.saved(3);
    const bool wants_weight = weight.defined() && ctx.needs_grad(1), wants_bias = ctx.needs_grad(2);
    if (is_grad_enabled()) {  // second derivatives are required: computes the same formula with public operations
      const Tensor m = x.mean({1}, true), r = compute_rstd(x, m, {1}, eps);
      const Tensor xhat = (x - m) * r, g = weight.defined() ? dy * weight.to(x.dtype()).reshape({1, -1}) : dy;
      return {
          (g - g.mean({1}, true) - xhat * (g * xhat).mean({1}, true)) * r,
          wants_weight ? ctx.attach_zero_derivative({0, 1, 2}, (dy * xhat).sum({0}).reshape(weight.sizes())) : Tensor(),
          wants_bias ? ctx.attach_zero_derivative({0, 1, 2}, dy.sum({0}).reshape(bias_sizes)) : Tensor()};
    }
    const Tensor g = contiguous_detached(dy), from = contiguous_detached(x);
    const Tensor w =
        x.device().is_cpu() && weight.defined() ? contiguous_detached(weight) : prepare_parameter(weight, x.dtype());
    Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
    Tensor dw = wants_weight ? core::empty(weight.sizes(), mean.dtype(), x.device()) : Tensor(),
           db = wants_bias ? core::empty(bias_sizes, mean.dtype(), x.device()) : Tensor();
    TANDEM_DISPATCH(x.device(), layer_norm_backward, g, from, mean, rstd, w, dx, dw, db);
    return {dx, dw, db};
  };
  return reshape_result(record_op("layer_norm", y, {rows, weight, bias}, {rows, mean, rstd, weight}, backward),
                        input.sizes());
}
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps) {
  if (const Autocast cast{cast_policy::native_layer_norm, x, weight, bias})
    return native_layer_norm(cast(x), normalized_shape, cast(weight), cast(bias), eps);
  const Tensor y = layer_norm(x, normalized_shape, weight, bias, eps);
  Shape dims;
  for (size_t d = 0; d < normalized_shape.size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const auto [mean, inverse] = compute_mean_and_rstd(x, weight, dims, eps, /*keepdim=*/true);
  return {y, mean, inverse};
}

static double default_epsilon(DType dtype) {
  switch (dtype) {
    case kFloat64: return std::numeric_limits<double>::epsilon();
    case kFloat16: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, std::optional<double> eps) {
  if (const Autocast cast{cast_policy::rms_norm, x, weight})
    return rms_norm(cast(x), normalized_shape, cast(weight), eps);
  check_floating_point("rms_norm", x);
  const size_t tail = normalized_shape.size();
  check_normalized_shape("rms_norm", x, normalized_shape);
  check_param_shape("rms_norm", "weight", weight, normalized_shape);
  Shape dims;
  for (size_t d = 0; d < tail; ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor wide = x.to(accumulate_type(x.dtype())).contiguous(x.suggest_memory_format());
  const Tensor y = wide / root_mean_square(wide, dims, eps.value_or(default_epsilon(wide.dtype())));
  return (weight.defined() ? y * weight : y).to(x.dtype());
}

}  // namespace tandem
