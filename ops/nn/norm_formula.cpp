// Normalisations that are made of batch_norm and layer_norm, or of plainer operations.
#include <limits>

#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/nn/norm.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {
namespace {
/// (C) as it broadcasts to x (N, C, ...), in x's dtype.
Tensor along_channels(const Tensor& part, const Tensor& x) {
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[1] = part.numel();
  return part.to(x.dtype()).reshape(sizes);
}
void check_channels(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_real(op, x);
  TANDEM_CHECK(x.dim() >= 2, op, ": x is ", x.sizes(), "; accepted: (N, C, ...)");
  check_part(op, "weight", weight, x.size(1), x);
  check_part(op, "bias", bias, x.size(1), x);
}
double epsilon_of(DType dtype) {
  switch (dtype) {
    case kFloat64: return std::numeric_limits<double>::epsilon();
    case kFloat16: return 0x1p-10;
    case kBFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}
}  // namespace

Tensor group_norm(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
  check_channels("group_norm", x, weight, bias);
  TANDEM_CHECK(groups > 0 && x.size(1) % groups == 0, "group_norm: x is ", x.sizes(), " and num_groups ", groups,
               "; accepted: a number that divides the channels");
  const int64_t positions = numel_of(x.sizes().slice(2, x.sizes().size() - 2));
  TANDEM_CHECK(x.size(1) > 0 && positions > 0, "group_norm: x is ", x.sizes(),
               "; of its sizes only the first may be 0");
  const int64_t rows = x.size(0) * groups;
  TANDEM_CHECK(numel_of(x.sizes().slice(1, x.sizes().size() - 1)) > 0, "group_norm: x is ", x.sizes(),
               "; of its sizes, only the first may be 0");
  // The gradients of x and of weight are made with the statistics, which in PyTorch are results of all three.
  const Tensor in = lead_gradient_to(x, weight, bias),
               scale = weight.defined() ? lead_gradient_to(weight, x, bias) : weight;
  const Tensor grouped = in.reshape({rows, rows ? x.numel() / rows : 0});
  Tensor y = reshape_result(layer_norm(grouped, {grouped.size(1)}, {}, {}, eps), x.sizes());
  if (scale.defined()) y = y * along_channels(scale, x);
  return bias.defined() ? y + along_channels(bias, x) : y;
}
Tensor instance_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, Flag use_input_stats, double momentum, double eps) {
  check_channels("instance_norm", x, weight, bias);
  TANDEM_CHECK(use_input_stats || (running_mean.defined() && running_var.defined()),
               "instance_norm: without use_input_stats running_mean and running_var must be defined");
  const int64_t samples = x.size(0), channels = x.size(1);
  TANDEM_CHECK(samples * channels > 0 || !(weight.defined() || bias.defined()), "instance_norm: x is ", x.sizes(),
               "; accepted beside a weight or a bias: samples and channels");
  const auto each = [&](const Tensor& part) { return part.defined() ? part.reshape({-1}).repeat({samples}) : part; };
  Shape sizes = x.sizes();
  sizes[0] = 1, sizes[1] = samples * channels;
  const Tensor mean = each(running_mean), var = each(running_var);
  const bool single = use_input_stats && x.numel() > 0 && x.numel() == samples * channels;  // each value is its mean
  const Tensor rows = x.reshape(sizes),
               y = single ? batch_norm(rows.sub(rows), each(weight), each(bias), zeros({sizes[1]}, x.options()),
                                       ones({sizes[1]}, x.options()), false, momentum, eps)
                          : batch_norm(rows, each(weight), each(bias), mean, var, use_input_stats, momentum, eps);
  if (single && mean.defined()) mean.mul_(1 - momentum).add_(rows.detach().reshape({-1}).to(mean.dtype()), momentum);
  if (use_input_stats) {
    const NoGradGuard guard;
    for (const auto& [running, updated] : {std::pair(running_mean, mean), std::pair(running_var, var)})
      if (running.defined()) Tensor(running).copy_(updated.view({samples, channels}).mean({0}));
  }
  return reshape_result(y, x.sizes());
}
Tensor norm_except_dim(const Tensor& v, int64_t p, int64_t dim) {
  if (dim == -1) return v.norm(static_cast<double>(p));
  const int64_t kept = wrap_dim("norm_except_dim", dim, v.dim());
  Shape others;
  for (int64_t d = 0; d < v.dim(); ++d)
    if (d != kept) others.push_back(d);
  return others.empty() ? v.abs() : v.norm(static_cast<double>(p), others, /*keepdim=*/true);
}
namespace {
/// (mean, 1 / deviation) over dims. As in PyTorch, a half type on the CPU has both in its own dtype, unless the weight
/// has another.
std::tuple<Tensor, Tensor> statistics(const Tensor& x, const Tensor& weight, IntArrayRef dims, double eps,
                                      bool keepdim) {
  const NoGradGuard guard;
  const Tensor wide = x.to(kFloat64);
  const DType type =
      x.is_cpu() && !(weight.defined() && weight.dtype() != x.dtype()) ? x.dtype() : detail::accumulate_type(x.dtype());
  return {wide.mean(dims, keepdim).to(type), (wide.var(dims, false, keepdim) + eps).rsqrt().to(type)};
}
}  // namespace
std::tuple<Tensor, Tensor, Tensor> native_batch_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     const Tensor& running_mean, const Tensor& running_var,
                                                     Flag training, double momentum, double eps) {
  const Tensor y = batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps);
  if (!training) return {y, x.new_empty({0}), x.new_empty({0})};
  Shape dims;
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != 1) dims.push_back(d);
  const auto [mean, inverse] = statistics(x, weight, dims, eps, /*keepdim=*/false);
  return {y, mean, inverse};
}
std::tuple<Tensor, Tensor, Tensor> native_layer_norm(const Tensor& x, IntArrayRef normalized_shape,
                                                     const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor y = layer_norm(x, normalized_shape, weight, bias, eps);
  Shape dims;
  for (size_t d = 0; d < normalized_shape.size(); ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const auto [mean, inverse] = statistics(x, weight, dims, eps, /*keepdim=*/true);
  return {y, mean, inverse};
}
std::tuple<Tensor, Tensor, Tensor> native_group_norm(const Tensor& x, const Tensor& weight, const Tensor& bias,
                                                     int64_t N, int64_t C, int64_t HxW, int64_t group, double eps) {
  TANDEM_CHECK(x.numel() == N * C * HxW, "native_group_norm: x is ", x.sizes(), " and N C HxW ", N, " ", C, " ", HxW,
               "; their product must be the number of elements");
  const Tensor y = group_norm(x, group, weight, bias, eps);
  const auto [mean, inverse] = statistics(x.reshape({N, group, -1}), weight, {2}, eps, /*keepdim=*/false);
  return {y, mean, inverse};
}
Tensor rms_norm(const Tensor& x, IntArrayRef normalized_shape, const Tensor& weight, std::optional<double> eps) {
  check_real("rms_norm", x);
  const size_t tail = normalized_shape.size(), rank = static_cast<size_t>(x.dim());
  TANDEM_CHECK(tail > 0 && tail <= rank && x.sizes().slice(rank - tail, tail) == normalized_shape, "rms_norm: x is ",
               x.sizes(), "; its last sizes must be ", normalized_shape);
  TANDEM_CHECK(!weight.defined() || weight.sizes() == normalized_shape, "rms_norm: weight is ", weight.sizes(),
               "; accepted: ", normalized_shape);
  Shape dims;
  for (size_t d = 0; d < tail; ++d) dims.push_back(-1 - static_cast<int64_t>(d));
  const Tensor wide = x.to(detail::accumulate_type(x.dtype())).contiguous(x.suggest_memory_format());
  const Tensor y = wide / root_mean_square(wide, dims, eps.value_or(epsilon_of(wide.dtype())));
  return (weight.defined() ? y * weight : y).to(x.dtype());
}

}  // namespace tandem
