// Group normalization: group_norm, native_group_norm.
#include "tandem/ops/nn/group_norm.h"

#include "tandem/ops/nn/layer_norm.h"
#include "tandem/ops/nn/norm_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, group_norm);
TANDEM_CAST_POLICY(none, native_group_norm);

namespace {
/// Converts `part` (C) to x's dtype, and to a shape that broadcasts to x (N, C, ...).
Tensor broadcast_to_channels(const Tensor& part, const Tensor& x) {
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = part.numel();
  return part.to(x.dtype()).reshape(sizes);
}
}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  if (const Autocast cast{cast_policy::group_norm, x, weight, bias})
    return group_norm(cast(x), groups, cast(weight), cast(bias), eps);
  check_channel_params("group_norm", x, weight, bias);
  TANDEM_CHECK(groups > 0, "group_norm: Expected num groups to be greater than 0, got ", groups);
  TANDEM_CHECK(
      x.size(1) % groups == 0,
      "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of shape ",
      x.sizes(), " and num_groups=", groups);
  const int64_t positions = numel_of(x.sizes().slice(2, x.sizes().size() - 2));
  TANDEM_CHECK(x.size(1) > 0 && positions > 0, "group_norm: x is ", x.sizes(), "; only the batch size may be 0");
  const int64_t rows = x.size(0) * groups;
  // The gradients of x and weight depend on the statistics, which PyTorch's graph connects to all three inputs.
  const Tensor in = attach_inputs_to_backward(x, weight, bias),
               scale = weight.defined() ? attach_inputs_to_backward(weight, x, bias) : weight;
  const Tensor grouped = in.reshape({rows, rows ? x.numel() / rows : 0});
  Tensor y = reshape_result(layer_norm(grouped, {grouped.size(1)}, {}, {}, eps), x.sizes());
  if (scale.defined()) y = y * broadcast_to_channels(scale, x);
  return bias.defined() ? y + broadcast_to_channels(bias, x) : y;
}
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  const AutocastOffGuard uncast;
  TANDEM_CHECK(x.numel() == N * C * HxW, "native_group_norm: Expected X.numel() == N * C * HxW, but X is ", x.sizes(),
               ", N is ", N, ", C is ", C, " and HxW is ", HxW);
  const Tensor y = group_norm(x, group, weight, bias, eps);
  const auto [mean, inverse] = compute_mean_and_rstd(x.reshape({N, group, -1}), weight, {2}, eps, /*keepdim=*/false);
  return {y, mean, inverse};
}

}  // namespace tandem
