#include "tandem/ops/nn/convolution.h"

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/convolution.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
using detail::check_operands;

namespace {
/// Channels-last where the images or the weights are, as in PyTorch: what is not yet is copied, weights in most cases.
kernels::ConvShape conv_shape(const Tensor& images, const Tensor& other, Pair stride, Pair padding, Pair dilation,
                              int64_t groups) {
  const auto suggests = [](const Tensor& t) { return t.suggest_memory_format() == MemoryFormat::ChannelsLast; };
  return {{stride[0], stride[1]},
          {padding[0], padding[1]},
          {dilation[0], dilation[1]},
          groups,
          suggests(images) || suggests(other)};
}
MemoryFormat format_of(const kernels::ConvShape& s) {
  return s.channels_last ? MemoryFormat::ChannelsLast : MemoryFormat::Contiguous;
}
Tensor make(const char* op, IntArrayRef sizes, const Tensor& like, const kernels::ConvShape& s) {
  if (!s.channels_last) return core::empty(sizes, like.dtype(), like.device(), op);
  return core::empty_dense(sizes, core::strides_of(op, sizes, MemoryFormat::ChannelsLast), like.dtype(), like.device());
}
Tensor backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, const kernels::ConvShape& s);
Tensor backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, const kernels::ConvShape& s);
Tensor conv2d(const Tensor& x, const Tensor& weight, const kernels::ConvShape& s) {
  return tandem::conv2d(x, weight, {}, Pair(s.stride[0], s.stride[1]), Pair(s.padding[0], s.padding[1]),
                        Pair(s.dilation[0], s.dilation[1]), s.groups);
}
/// conv2d of integers: products of patches and kernels, which wrap.
Tensor of_integers(const Tensor& x, const Tensor& weight, IntArrayRef out, Pair stride, Pair padding, Pair dilation,
                   int64_t groups) {
  Tensor patches = constant_pad_nd(x, {padding[1], padding[1], padding[0], padding[0]});
  for (int64_t d = 0; d < 2; ++d)  // (N, C, OH, OW, KH, KW)
    patches =
        patches.unfold(d + 2, dilation[d] * (weight.size(d + 2) - 1) + 1, stride[d]).slice(-1, 0, {}, dilation[d]);
  const int64_t each = weight.numel() / weight.size(0);  // elements of a patch that a kernel meets
  patches = patches.permute({0, 2, 3, 1, 4, 5}).reshape({-1, groups, each}).transpose(0, 1);
  const Tensor y = patches.bmm(weight.reshape({groups, -1, each}).transpose(1, 2)).transpose(0, 1);
  return y.reshape({out[0], out[2], out[3], out[1]}).permute({0, 3, 1, 2}).contiguous();
}
}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding, Pair dilation,
              int64_t groups) {
  check_operands("conv2d", x, weight);
  if (x.dim() == 3) {
    const Tensor y = conv2d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups);
    return reshape_result(y, y.sizes().slice(1, 3));
  }
  TANDEM_CHECK(x.dim() == 4 && weight.dim() == 4, "conv2d: x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, H, W) and (O, C / groups, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0 && weight.size(0) > 0,
               "conv2d: x is ", x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; x must have groups * weight.size(1) channels, and weight.size(0) must be a positive multiple "
               "of groups");
  if (bias.defined()) {
    check_operands("conv2d", x, bias);
    TANDEM_CHECK(bias.dim() == 1 && bias.size(0) == weight.size(0), "conv2d: bias is ", bias.sizes(), "; accepted: (",
                 weight.size(0), ",)");
  }
  Shape out{x.size(0), weight.size(0), 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    TANDEM_CHECK(stride[i] > 0 && padding[i] >= 0 && dilation[i] > 0, "conv2d: stride ", IntArrayRef(stride),
                 ", padding ", IntArrayRef(padding), ", dilation ", IntArrayRef(dilation),
                 "; stride and dilation must be positive, padding not negative");
    TANDEM_CHECK(weight.sizes()[i + 2] > 0 && x.sizes()[i + 2] > 0, "conv2d: x is ", x.sizes(), " and weight is ",
                 weight.sizes(), "; both must have height and width");
    const int64_t reach = dilation[i] * (weight.sizes()[i + 2] - 1) + 1, held = x.sizes()[i + 2] + 2 * padding[i];
    TANDEM_CHECK(reach <= held, "conv2d: the kernel covers ", reach, " pixels, but there are only ", held,
                 ", padding included, in a dimension of x, which is ", x.sizes());
    out[i + 2] = (held - reach) / stride[i] + 1;
  }
  if (!x.is_floating_point()) {
    const Tensor y = of_integers(x, weight, out, stride, padding, dilation, groups);
    return bias.defined() ? y + bias.view({-1, 1, 1}) : y;
  }
  const kernels::ConvShape shape = conv_shape(x, weight, stride, padding, dilation, groups);
  Tensor y = make("conv2d", out, x, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_x = x.contiguous(format_of(shape)), dense_w = weight.contiguous(format_of(shape));
    const Tensor dense_bias = bias.defined() ? bias.contiguous() : Tensor();
    TANDEM_DISPATCH(x.device(), conv2d, dense_x, dense_w, dense_bias, shape, y);
  }
  return record("conv2d", y, {x, weight, bias}, {x, weight}, [shape](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), w = ctx.saved(1);
    Tensor dx, dw, db;
    if (ctx.needs_grad(0)) dx = backward_input(dy, w, x.sizes(), shape);
    const bool together = ctx.needs_grad(1) && ctx.needs_grad(2) && shape.channels_last && dy.is_cpu() &&
                          dy.dtype() == kFloat32 && !is_grad_enabled();
    if (together) {
      dw = make("conv2d_backward_weight", w.sizes(), dy, shape);
      db = core::empty({w.size(0)}, dy.dtype(), dy.device());
      const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_x = x.contiguous(format_of(shape));
      TANDEM_DISPATCH_CPU(dy.device(), conv2d_backward_weight_and_bias, dense_dy, dense_x, shape, dw, db);
    } else {
      if (ctx.needs_grad(1)) dw = backward_weight(dy, x, w.sizes(), shape);
      if (ctx.needs_grad(2)) db = dy.sum({0, 2, 3});
    }
    return {ctx.flat_in({0, 1}, dx), ctx.flat_in({0, 1}, dw), ctx.flat_in({0, 1}, db)};
  });
}

namespace {
Tensor backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, const kernels::ConvShape& shape) {
  Tensor dx = make("conv2d_backward_input", x_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_w = weight.contiguous(format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_input, dense_dy, dense_w, shape, dx);
  }
  return record("conv2d_backward_input", dx, {dy, weight}, {dy, weight},
                [shape](const Context& ctx, const Tensor& g) -> Grads {
                  const Tensor dy = ctx.saved(0), w = ctx.saved(1);  // linear in both
                  return {ctx.needs_grad(0) ? conv2d(g, w, shape) : Tensor(),
                          ctx.needs_grad(1) ? backward_weight(dy, g, w.sizes(), shape) : Tensor()};
                });
}
Tensor backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, const kernels::ConvShape& shape) {
  Tensor dw = make("conv2d_backward_weight", weight_sizes, dy, shape);
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(format_of(shape)), dense_x = x.contiguous(format_of(shape));
    TANDEM_DISPATCH(dy.device(), conv2d_backward_weight, dense_dy, dense_x, shape, dw);
  }
  return record("conv2d_backward_weight", dw, {dy, x}, {dy, x}, [shape](const Context& ctx, const Tensor& g) -> Grads {
    const Tensor dy = ctx.saved(0), x = ctx.saved(1);
    return {ctx.needs_grad(0) ? conv2d(x, g, shape) : Tensor(),
            ctx.needs_grad(1) ? backward_input(dy, g, x.sizes(), shape) : Tensor()};
  });
}
}  // namespace

Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == weight.device(), "conv2d_backward_input: dy is on ", dy.device(), " and weight on ",
               weight.device(), "; both must be on one device");
  return backward_input(dy, weight, x_sizes, conv_shape(dy, weight, stride, padding, dilation, groups));
}
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups) {
  TANDEM_CHECK(dy.device() == x.device(), "conv2d_backward_weight: dy is on ", dy.device(), " and x on ", x.device(),
               "; both must be on one device");
  return backward_weight(dy, x, weight_sizes, conv_shape(dy, x, stride, padding, dilation, groups));
}

}  // namespace tandem
