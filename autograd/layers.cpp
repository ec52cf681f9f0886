#include "tandem/autograd/layers.h"

#include "tandem/autograd/argument.h"
#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/autograd/view.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/generator.h"
#include "tandem/kernels/fill.h"
#include "tandem/kernels/nn.h"

namespace tandem {
using detail::check_part, detail::check_real, detail::dense, detail::widened;

// ---- normalisation

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, Flag training, double momentum, double eps) {
  check_real("batch_norm", input);
  TANDEM_CHECK(input.dim() >= 2, "batch_norm: x is ", input.sizes(), "; accepted: (N, C, ...)");
  const int64_t channels = input.size(1);
  check_part("batch_norm", "weight", weight, channels, input);
  check_part("batch_norm", "bias", bias, channels, input);
  check_part("batch_norm", "running_mean", running_mean, channels, input);
  check_part("batch_norm", "running_var", running_var, channels, input);
  TANDEM_CHECK(training || (running_mean.defined() && running_var.defined()),
               "batch_norm: evaluation needs running_mean and running_var");
  const Tensor wide = widened(input).reshape({input.size(0), channels, -1 * (input.numel() != 0)});
  const Tensor x = dense(wide), w = weight.defined() ? dense(weight.to(x.dtype())).detach() : Tensor(),
               b = bias.defined() ? dense(bias.to(x.dtype())).detach() : Tensor();
  const int64_t count = channels ? x.numel() / channels : 0;
  Tensor mean, rstd;
  if (training) {
    TANDEM_CHECK(input.size(0) * numel_of(input.sizes().slice(2, input.sizes().size() - 2)) != 1, "batch_norm: x is ",
                 input.sizes(), "; in training each channel needs more than one value");
    mean = core::empty({channels}, x.dtype(), x.device());
    rstd = core::empty({channels}, x.dtype(), x.device());
    Tensor var = core::empty({channels}, x.dtype(), x.device());
    if (count > 0) {
      TANDEM_DISPATCH(x.device(), batch_norm_stats, x, eps, mean, var, rstd);
    } else {  // nothing to average: any finite numbers, so that the weight's gradient is zero
      mean.zero_(), rstd.zero_();
    }
    if (running_mean.defined() && count > 0) {
      const NoGradGuard guard;
      Tensor m = running_mean, v = running_var;
      m.mul_(1 - momentum).add_(mean.to(m.dtype()), momentum);
      v.mul_(1 - momentum)
          .add_(var.to(v.dtype()), momentum * static_cast<double>(count) / static_cast<double>(count - 1));
    }
  } else {
    const NoGradGuard guard;
    mean = running_mean.to(x.dtype()).clone();
    rstd = (running_var.to(x.dtype()) + eps).rsqrt();
  }
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), batch_norm_apply, x, mean, rstd, w, b, y);
  const auto backward = [training, eps](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), mean = ctx.saved(1), rstd = ctx.saved(2), weight = ctx.saved(3);
    if (is_grad_enabled()) {  // second derivatives: the same formula from public ops
      const Tensor m = training ? x.mean({0, 2}, true) : mean.view({1, -1, 1});
      const Tensor r = training ? ((x - m).square().mean({0, 2}, true) + eps).rsqrt() : rstd.view({1, -1, 1});
      const Tensor xhat = (x - m) * r;
      const Tensor g = weight.defined() ? dy * weight.view({1, -1, 1}) : dy;
      Tensor dx = g;
      if (training) dx = g - g.mean({0, 2}, true) - xhat * (g * xhat).mean({0, 2}, true);
      const Tensor dw = weight.defined() ? (dy * xhat).sum({0, 2}) : Tensor();
      return {ctx.flat_in({0, 1}, dx * r), ctx.flat_in({0, 1}, dw), ctx.flat_in({0, 1}, dy.sum({0, 2}))};
    }
    const Tensor g = dense(dy);
    Tensor sum_dy = core::empty(mean.sizes(), x.dtype(), x.device()),
           sum_xhat = core::empty(mean.sizes(), x.dtype(), x.device());
    Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
    const Tensor from = dense(x), w = weight.defined() ? dense(weight.to(x.dtype())) : Tensor();
    TANDEM_DISPATCH(x.device(), batch_norm_backward, g, from, mean, rstd, w, training, sum_dy, sum_xhat, dx);
    return {dx, sum_xhat, sum_dy};
  };
  return reshape_result(record("batch_norm", y, {wide, weight, bias}, {wide, mean, rstd, weight}, backward),
                        input.sizes())
      .to(input.dtype());
}

Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
  check_real("layer_norm", input);
  const int64_t n = numel_of(normalized_shape);
  const size_t tail = normalized_shape.size(), rank = static_cast<size_t>(input.dim());
  TANDEM_CHECK(tail > 0 && tail <= rank && input.sizes().slice(rank - tail, tail) == normalized_shape,
               "layer_norm: x is ", input.sizes(), "; its last sizes must be ", normalized_shape);
  for (const auto& [name, part] : {std::pair("weight", &weight), std::pair("bias", &bias)}) {
    check_part("layer_norm", name, *part, n, input);
    TANDEM_CHECK(!part->defined() || part->sizes() == normalized_shape, "layer_norm: ", name, " is ", part->sizes(),
                 "; accepted: ", normalized_shape);
  }
  const Tensor wide = widened(input).reshape({n ? input.numel() / n : 0, n});
  const Tensor x = dense(wide), w = weight.defined() ? dense(weight.to(x.dtype()).reshape({n})).detach() : Tensor(),
               b = bias.defined() ? dense(bias.to(x.dtype()).reshape({n})).detach() : Tensor();
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device()), mean = core::empty({x.size(0)}, x.dtype(), x.device()),
         rstd = core::empty({x.size(0)}, x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), layer_norm, x, w, b, eps, y, mean, rstd);
  const Shape bias_sizes = bias.defined() ? Shape(bias.sizes()) : Shape();
  const auto backward = [eps, bias_sizes](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), mean = ctx.saved(1), rstd = ctx.saved(2), weight = ctx.saved(3);
    const bool wants_weight = weight.defined() && ctx.needs_grad(1), wants_bias = ctx.needs_grad(2);
    if (is_grad_enabled()) {  // second derivatives: the same formula from public ops
      const Tensor m = x.mean({1}, true), r = ((x - m).square().mean({1}, true) + eps).rsqrt();
      const Tensor xhat = (x - m) * r, g = weight.defined() ? dy * weight.reshape({1, -1}) : dy;
      return {(g - g.mean({1}, true) - xhat * (g * xhat).mean({1}, true)) * r,
              wants_weight ? ctx.flat_in({1}, (dy * xhat).sum({0}).reshape(weight.sizes())) : Tensor(),
              wants_bias ? ctx.flat_in({0, 1}, dy.sum({0}).reshape(bias_sizes)) : Tensor()};
    }
    const Tensor g = dense(dy), from = dense(x), w = weight.defined() ? dense(weight.to(x.dtype())) : Tensor();
    Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
    Tensor dw = wants_weight ? core::empty(weight.sizes(), x.dtype(), x.device()) : Tensor(),
           db = wants_bias ? core::empty(bias_sizes, x.dtype(), x.device()) : Tensor();
    TANDEM_DISPATCH(x.device(), layer_norm_backward, g, from, mean, rstd, w, dx, dw, db);
    return {dx, dw, db};
  };
  return reshape_result(record("layer_norm", y, {wide, weight, bias}, {wide, mean, rstd, weight}, backward),
                        input.sizes())
      .to(input.dtype());
}

// ---- pooling

namespace {
/// Output size of one window dimension, as PyTorch rounds it: a last window that starts in the right padding is left
/// out.
int64_t pooled(const char* op, int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
               bool ceil) {
  TANDEM_CHECK(kernel > 0 && stride > 0 && dilation > 0 && padding >= 0 && padding * 2 <= kernel, op, ": kernel ",
               kernel, ", stride ", stride, ", padding ", padding, ", dilation ", dilation,
               "; all but padding must be positive, and padding at most half the kernel");
  TANDEM_CHECK(size > 0, op, ": x is empty in a dimension that is pooled; accepted: one or more elements");
  // A window that is larger than the padded size hangs over its end, which ceil_mode allows by less than a stride.
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
  TANDEM_CHECK(room >= 0, op, ": a window of ", dilation * (kernel - 1) + 1, " is larger than the padded size ",
               size + 2 * padding, ceil ? " by a stride or more" : "");
  int64_t out = room / stride + 1;
  if (ceil && (out - 1) * stride >= size + padding) --out;
  return out;
}
kernels::PoolShape pool_shape(Pair k, IntArrayRef stride, Pair p, Pair d, bool include) {
  const Pair s = stride.empty() ? k : Pair(stride);
  return {{k[0], k[1]}, {s[0], s[1]}, {p[0], p[1]}, {d[0], d[1]}, include};
}
struct Planes {
  Tensor x;   // (planes, H, W), contiguous
  Shape out;  // the output's full shape
  int64_t oh, ow;
  Planes(const char* op, const Tensor& input, const kernels::PoolShape& s, bool ceil) : Planes(op, input) {
    TANDEM_CHECK(input.size(-3) > 0, op, ": x is ", input.sizes(), "; only the first of four sizes may be 0");
    oh = pooled(op, x.size(1), s.kernel[0], s.stride[0], s.padding[0], s.dilation[0], ceil);
    ow = pooled(op, x.size(2), s.kernel[1], s.stride[1], s.padding[1], s.dilation[1], ceil);
    finish();
  }
  Planes(const char* op, const Tensor& input) {
    check_real(op, input);
    TANDEM_CHECK(input.dim() == 3 || input.dim() == 4, op, ": x is ", input.sizes(),
                 "; accepted: (N, C, H, W) or (C, H, W)");
    out = input.sizes();
    int64_t planes = 1;
    for (int64_t d = 0; d + 2 < input.dim(); ++d) planes *= input.size(d);
    x = core::try_view(dense(widened(input)), {planes, input.size(-2), input.size(-1)});
  }
  void finish() { out[out.size() - 2] = oh, out[out.size() - 1] = ow; }
  Tensor make(DType dtype) const { return core::empty({x.size(0), oh, ow}, dtype, x.device()); }
};

Tensor max_pool_backward(const Tensor& dy, const Tensor& index, const kernels::PoolShape& s, IntArrayRef x_sizes) {
  const Tensor wide = dense(widened(dy));
  const Tensor g = core::try_view(wide, index.sizes());
  const Shape planes{index.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()};
  Tensor dx = core::empty(planes, wide.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), max_pool2d_backward, g, index, s, dx);
  return record("max_pool2d_backward", core::try_view(dx, x_sizes).to(dy.dtype()), {dy}, {index},
                [sizes = Shape(dy.sizes()), planes](const Context& ctx, const Tensor& ddx) -> Grads {
                  const Tensor index = ctx.saved(0).flatten(1), none = index < 0;
                  const Tensor ddy = ddx.reshape(planes).flatten(1).gather(1, where(none, zeros_like(index), index));
                  return {where(none, Scalar(0), ddy).reshape(sizes)};
                });
}
/// A linear op and its transpose, each the other's derivative.
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil);
Tensor avg_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil) {
  const Planes p("avg_pool2d", input, s, ceil);
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), avg_pool2d, p.x, s, y);
  return record("avg_pool2d", core::try_view(y, p.out).to(input.dtype()), {input}, {},
                [=, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, avg_pool_backward(dy, s, sizes, ceil))};
                });
}
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil) {
  const Planes p("avg_pool2d_backward", dy);
  Tensor dx = core::empty({p.x.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()}, p.x.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), avg_pool2d_backward, p.x, s, dx);
  return record("avg_pool2d_backward", core::try_view(dx, x_sizes).to(dy.dtype()), {dy}, {},
                [s, ceil](const Context&, const Tensor& ddx) -> Grads { return {avg_pool(ddx, s, ceil)}; });
}
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes);
}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, Pair kernel, IntArrayRef stride, Pair padding,
                                                   Pair dilation, Flag ceil_mode) {
  const kernels::PoolShape s = pool_shape(kernel, stride, padding, dilation, true);
  const Planes p("max_pool2d", input, s, ceil_mode);
  Tensor y = p.make(p.x.dtype()), index = p.make(kInt64);
  TANDEM_DISPATCH(input.device(), max_pool2d, p.x, s, y, index);
  return {record("max_pool2d", core::try_view(y, p.out).to(input.dtype()), {input}, {index},
                 [s, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                   return {ctx.flat_in(0, max_pool_backward(dy, ctx.saved(0), s, sizes))};
                 }),
          core::try_view(index, p.out)};
}
Tensor max_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Pair dilation, Flag ceil_mode) {
  return std::get<0>(max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Flag ceil_mode,
                  Flag count_include_pad) {
  return avg_pool(x, pool_shape(kernel, stride, padding, 1, count_include_pad), ceil_mode);
}
Tensor adaptive_avg_pool2d(const Tensor& input, Pair size) {
  if (size[0] == 1 && size[1] == 1 && (input.dim() == 3 || input.dim() == 4)) {
    check_real("adaptive_avg_pool2d", input);
    return input.mean({-2, -1}, true);
  }
  Planes p("adaptive_avg_pool2d", input);
  TANDEM_CHECK(size[0] > 0 && size[1] > 0 && p.x.size(1) > 0 && p.x.size(2) > 0, "adaptive_avg_pool2d: from ",
               input.sizes(), " to ", IntArrayRef(size), "; sizes must be positive");
  p.oh = size[0], p.ow = size[1];
  p.finish();
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), adaptive_avg_pool2d, p.x, y);
  return record("adaptive_avg_pool2d", core::try_view(y, p.out).to(input.dtype()), {input}, {},
                [sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, adaptive_backward(dy, sizes))};
                });
}
namespace {
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes) {
  const Planes p("adaptive_avg_pool2d_backward", dy);
  Tensor dx = core::empty({p.x.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()}, p.x.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), adaptive_avg_pool2d_backward, p.x, dx);
  const Pair size(dy.size(-2), dy.size(-1));
  return record("adaptive_avg_pool2d_backward", core::try_view(dx, x_sizes).to(dy.dtype()), {dy}, {},
                [size](const Context&, const Tensor& ddx) -> Grads { return {adaptive_avg_pool2d(ddx, size)}; });
}
}  // namespace

// ---- dropout

Tensor dropout(const Tensor& x, double p, Flag training) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout: p is ", p, "; accepted: 0 to 1");
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p == 1) return x * zeros({}, x.options());
  check_real("dropout", x);
  const double scale = 1 / (1 - p);
  const Tensor from = dense(x);
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device()), mask = core::empty(x.sizes(), kBool, x.device());
  const PhiloxState random = default_generator(x.device()).reserve(static_cast<uint64_t>(x.numel()));
  TANDEM_DISPATCH(x.device(), dropout, from, 1 - p, scale, random, y, mask);
  return record("dropout", y, {x}, {mask}, [scale](const Context& ctx, const Tensor& dy) -> Grads {
    return {where(ctx.saved(0), dy * scale, Scalar(0))};
  });
}
Tensor dropout2d(const Tensor& x, double p, Flag training) {
  TANDEM_CHECK(p >= 0 && p <= 1, "dropout2d: p is ", p, "; accepted: 0 to 1");
  if (!training || p == 0 || x.numel() == 0) return x;
  if (p < 1) check_real("dropout2d", x);
  TANDEM_CHECK(x.dim() >= 2, "dropout2d: x is ", x.sizes(), "; accepted: (N, C, ...)");
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[0] = x.size(0), sizes[1] = x.size(1);
  return x * dropout(ones(sizes, x.options()), p, true);
}

}  // namespace tandem
