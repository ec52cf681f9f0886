#include "tandem/autograd/matmul.h"

#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/convolution.h"
#include "tandem/kernels/matmul.h"

namespace tandem {
namespace {

void check_operands(const char* op, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(a.device() == b.device(), op, ": a is on ", a.device(), " and b on ", b.device(),
               "; both must be on one device");
  TANDEM_CHECK(a.dtype() == b.dtype() && a.is_floating_point(), op, ": a is ", a.dtype(), " and b is ", b.dtype(),
               "; both must be of one floating dtype");
}
/// The matrix as it is when its rows or its columns lie densely, else a contiguous copy.
Tensor straight(const Tensor& x) {
  const bool rows = x.stride(2) == 1 && x.stride(1) >= std::max<int64_t>(x.size(2), 1);
  const bool columns = x.stride(1) == 1 && x.stride(2) >= std::max<int64_t>(x.size(1), 1);
  const NoGradGuard guard;
  return rows || columns ? core::alias(x) : core::alias(x).clone();
}
/// (batch, m, k) times (batch, k, n), recorded. Half types are multiplied in float.
Tensor batched(const char* op, const Tensor& a, const Tensor& b) {
  if (is_half(a.dtype())) return batched(op, a.to(kFloat32), b.to(kFloat32)).to(a.dtype());
  Tensor y = core::empty({a.size(0), a.size(1), b.size(2)}, a.dtype(), a.device());
  if (a.size(2) == 0) {
    y.zero_();
  } else {
    const Tensor left = straight(a), right = straight(b);
    TANDEM_DISPATCH(a.device(), matmul, left, right, false, y);
  }
  return record(op, y, {a, b}, {a, b}, [op](const Context& ctx, const Tensor& dy) -> Grads {
    return {ctx.needs_grad(0) ? batched(op, dy, ctx.saved(1).transpose(1, 2)) : Tensor(),
            ctx.needs_grad(1) ? batched(op, ctx.saved(0).transpose(1, 2), dy) : Tensor()};
  });
}

}  // namespace

Tensor mm(const Tensor& a, const Tensor& b) {
  check_operands("mm", a, b);
  TANDEM_CHECK(a.dim() == 2 && b.dim() == 2 && a.size(1) == b.size(0), "mm: a is ", a.sizes(), " and b is ", b.sizes(),
               "; accepted: (n, k) and (k, m)");
  return batched("mm", a.unsqueeze(0), b.unsqueeze(0)).squeeze(0);
}
Tensor bmm(const Tensor& a, const Tensor& b) {
  check_operands("bmm", a, b);
  TANDEM_CHECK(a.dim() == 3 && b.dim() == 3 && a.size(0) == b.size(0) && a.size(2) == b.size(1), "bmm: a is ",
               a.sizes(), " and b is ", b.sizes(), "; accepted: (b, n, k) and (b, k, m)");
  return batched("bmm", a, b);
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  check_operands("matmul", a, b);
  TANDEM_CHECK(a.dim() > 0 && b.dim() > 0, "matmul: a is ", a.sizes(), " and b is ", b.sizes(),
               "; both need at least one dimension");
  TANDEM_CHECK(a.size(-1) == b.size(b.dim() == 1 ? 0 : -2), "matmul: a is ", a.sizes(), " and b is ", b.sizes(),
               "; the last dimension of a must equal the second last of b");
  if (a.dim() == 1) {
    const Tensor y = matmul(a.unsqueeze(0), b);
    return b.dim() == 1 ? y.squeeze(0) : y.squeeze(-2);
  }
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  if (b.dim() == 2) {  // one product of all rows
    Shape out = a.sizes();
    out.back() = b.size(1);
    return a.dim() == 2 ? mm(a, b)
                        : mm(a.reshape({a.numel() / std::max<int64_t>(a.size(-1), 1), a.size(-1)}), b).reshape(out);
  }
  const size_t ra = static_cast<size_t>(a.dim()), rb = static_cast<size_t>(b.dim());
  const Shape batch = broadcast_shapes("matmul", a.sizes().slice(0, ra - 2), b.sizes().slice(0, rb - 2));
  const auto spread = [&](const Tensor& x) {
    Shape sizes = batch;
    sizes.push_back(x.size(-2)), sizes.push_back(x.size(-1));
    return x.expand(sizes).reshape({numel_of(batch), x.size(-2), x.size(-1)});
  };
  Shape out = batch;
  out.push_back(a.size(-2)), out.push_back(b.size(-1));
  return batched("matmul", spread(a), spread(b)).reshape(out);
}

Tensor addmm(const Tensor& bias, const Tensor& a, const Tensor& b, double beta, double alpha) {
  Tensor product = mm(a, b);
  if (alpha != 1) product = product * alpha;
  return product + (beta == 1 ? bias : bias * beta);
}

Tensor Tensor::matmul(const Tensor& other) const { return tandem::matmul(*this, other); }
Tensor Tensor::mm(const Tensor& other) const { return tandem::mm(*this, other); }
Tensor Tensor::bmm(const Tensor& other) const { return tandem::bmm(*this, other); }

namespace {
kernels::ConvShape conv_shape(Pair stride, Pair padding, Pair dilation, int64_t groups) {
  return {{stride[0], stride[1]}, {padding[0], padding[1]}, {dilation[0], dilation[1]}, groups};
}
}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Pair stride, Pair padding, Pair dilation,
              int64_t groups) {
  check_operands("conv2d", x, weight);
  if (x.dim() == 3) return conv2d(x.unsqueeze(0), weight, bias, stride, padding, dilation, groups).squeeze(0);
  TANDEM_CHECK(x.dim() == 4 && weight.dim() == 4, "conv2d: x is ", x.sizes(), " and weight is ", weight.sizes(),
               "; accepted: (N, C, H, W) and (O, C / groups, KH, KW)");
  TANDEM_CHECK(groups > 0 && x.size(1) == weight.size(1) * groups && weight.size(0) % groups == 0, "conv2d: x is ",
               x.sizes(), " and weight is ", weight.sizes(), " with ", groups,
               " groups; x must have groups times weight's second size of channels, and weight a multiple of groups");
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
    const int64_t reach = dilation[i] * (weight.sizes()[i + 2] - 1) + 1, held = x.sizes()[i + 2] + 2 * padding[i];
    TANDEM_CHECK(reach <= held, "conv2d: the kernel spans ", reach, " of the ", held, " padded pixels of ", x.sizes());
    out[i + 2] = (held - reach) / stride[i] + 1;
  }
  Tensor y = core::empty(out, x.dtype(), x.device());
  {
    const NoGradGuard guard;
    const Tensor dense_x = x.contiguous(), dense_w = weight.contiguous();
    const Tensor dense_bias = bias.defined() ? bias.contiguous() : Tensor();
    const kernels::ConvShape shape = conv_shape(stride, padding, dilation, groups);
    TANDEM_DISPATCH(x.device(), conv2d, dense_x, dense_w, dense_bias, shape, y);
  }
  return record("conv2d", y, {x, weight, bias}, {x, weight}, [=](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), w = ctx.saved(1);
    return {ctx.needs_grad(0) ? conv2d_backward_input(dy, w, x.sizes(), stride, padding, dilation, groups) : Tensor(),
            ctx.needs_grad(1) ? conv2d_backward_weight(dy, x, w.sizes(), stride, padding, dilation, groups) : Tensor(),
            ctx.needs_grad(2) ? dy.sum({0, 2, 3}) : Tensor()};
  });
}

Tensor conv2d_backward_input(const Tensor& dy, const Tensor& weight, IntArrayRef x_sizes, Pair stride, Pair padding,
                             Pair dilation, int64_t groups) {
  Tensor dx = core::empty(x_sizes, dy.dtype(), dy.device());
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(), dense_w = weight.contiguous();
    const kernels::ConvShape shape = conv_shape(stride, padding, dilation, groups);
    TANDEM_DISPATCH(dy.device(), conv2d_backward_input, dense_dy, dense_w, shape, dx);
  }
  return record(
      "conv2d_backward_input", dx, {dy, weight}, {dy, weight}, [=](const Context& ctx, const Tensor& g) -> Grads {
        const Tensor dy = ctx.saved(0), w = ctx.saved(1);  // linear in both
        return {
            ctx.needs_grad(0) ? conv2d(g, w, {}, stride, padding, dilation, groups) : Tensor(),
            ctx.needs_grad(1) ? conv2d_backward_weight(dy, g, w.sizes(), stride, padding, dilation, groups) : Tensor()};
      });
}
Tensor conv2d_backward_weight(const Tensor& dy, const Tensor& x, IntArrayRef weight_sizes, Pair stride, Pair padding,
                              Pair dilation, int64_t groups) {
  Tensor dw = core::empty(weight_sizes, dy.dtype(), dy.device());
  {
    const NoGradGuard guard;
    const Tensor dense_dy = dy.contiguous(), dense_x = x.contiguous();
    const kernels::ConvShape shape = conv_shape(stride, padding, dilation, groups);
    TANDEM_DISPATCH(dy.device(), conv2d_backward_weight, dense_dy, dense_x, shape, dw);
  }
  return record("conv2d_backward_weight", dw, {dy, x}, {dy, x}, [=](const Context& ctx, const Tensor& g) -> Grads {
    const Tensor dy = ctx.saved(0), x = ctx.saved(1);
    return {ctx.needs_grad(0) ? conv2d(x, g, {}, stride, padding, dilation, groups) : Tensor(),
            ctx.needs_grad(1) ? conv2d_backward_input(dy, g, x.sizes(), stride, padding, dilation, groups) : Tensor()};
  });
}

}  // namespace tandem
