// Activations that are made of other operations.
#include "tandem/ops/nn/activation.h"

#include <cmath>
#include <numbers>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce/reduce.h"

namespace tandem {

namespace {
Tensor zero_beside(const Tensor& x) { return number_beside(x.device(), 0, x.dtype()); }
/// The gradient of what hands x on where `mask` holds and is constant elsewhere: dy or 0, laid out as dy is. Its own
/// gradient for x is 0, so that it has a history where x has one, as in PyTorch.
Tensor masked_gradient(const Tensor& dy, const Tensor& x, const Tensor& mask) {
  Tensor dx = core::empty_for(dy.sizes(), dy.dtype(), dy.device(), dy, mask);
  TANDEM_DISPATCH(dy.device(), where, mask, dy, zero_beside(dy), dx);
  return record("where", dx, {dy, x}, {x, mask}, [](const Context& ctx, const Tensor& ddx) -> Grads {
    return {masked_gradient(ddx, ctx.saved(0), ctx.saved(1)), ctx.needs_grad(1) ? zeros_like(ddx) : Tensor()};
  });
}
}  // namespace
Tensor softshrink(const Tensor& x, const Scalar& lambd) {
  check_accepted("softshrink", Accepts::real, x.dtype());
  const double most = lambd.to_double();
  TANDEM_CHECK(most >= 0, "softshrink: lambd is ", lambd, "; accepted: 0 or more");
  Tensor y;
  {
    const NoGradGuard guard;
    y = x - x.clamp(-most, most);
  }
  return record("softshrink", y, {x}, {x}, [most](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {masked_gradient(dy, x, (x > most) | (x < -most))};  // nothing at the bounds
  });
}
Tensor Tensor::hardshrink(const Scalar& lambd) const {
  check_accepted("hardshrink", Accepts::real, dtype());
  const double most = lambd.to_double();
  Tensor y = core::empty_for(sizes(), dtype(), device(), *this);
  TANDEM_DISPATCH(device(), where, (*this >= -most) & (*this <= most), zero_beside(*this), *this, y);
  return record("hardshrink", y, {*this}, {*this}, [most](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {masked_gradient(dy, x, (x > most) | (x < -most))};  // a NaN is handed on without a gradient
  });
}
Tensor gelu(const Tensor& x, std::string_view approximate) {
  if (approximate == "none") return x.gelu();
  TANDEM_CHECK(approximate == "tanh", "gelu: approximate is \"", approximate, "\"; accepted: \"none\" and \"tanh\"");
  check_accepted("gelu", Accepts::real, x.dtype());
  Tensor y = core::empty_for(x.sizes(), x.dtype(), x.device(), x);
  TANDEM_DISPATCH(x.device(), gelu_tanh, x, y);
  return record("gelu", y, {x}, {x},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {gelu_tanh_backward(dy, ctx.saved(0))}; });
}
Tensor& gelu_(Tensor& x, std::string_view approximate) {
  return formula_inplace("gelu_", x, {}, [&](const Tensor& old) { return gelu(old, approximate); });
}
Tensor tanhshrink(const Tensor& x) {
  check_accepted("tanhshrink", Accepts::real, x.dtype());
  return x - x.tanh();
}
Tensor celu(const Tensor& x, const Scalar& alpha) {
  check_accepted("celu", Accepts::real, x.dtype());
  const double a = alpha.to_double();
  TANDEM_CHECK(a != 0, "celu: alpha is 0; accepted: any other number");
  return a > 0 ? elu(x / a) * a : where(x > 0, x, (x / a).expm1() * a);
}
Tensor selu(const Tensor& x) {
  check_accepted("selu", Accepts::real, x.dtype());
  return elu(x, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946;
}
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value) {
  return x.masked_fill(x <= threshold, value);
}
Tensor hardtanh(const Tensor& x, const Scalar& min_val, const Scalar& max_val) {
  check_accepted("hardtanh", Accepts::numbers, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    y = x.clamp(min_val, max_val);
  }
  return record("hardtanh", y, {x}, {x}, [min_val, max_val](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {masked_gradient(dy, x, (x > min_val) & (x < max_val))};
  });
}
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardsigmoid(const Tensor& x) {
  check_accepted("hardsigmoid", Accepts::real, x.dtype());
  return relu6(x + 3) / 6;
}
Tensor hardswish(const Tensor& x) {
  check_accepted("hardswish", Accepts::real, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    y = x * relu6(x + 3) / 6;
  }
  return record("hardswish", y, {x}, {x}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    // A NaN hands its gradient on, as in PyTorch. The product leads to x already.
    return {masked_gradient(where(x < 3, dy * (x / 3 + 0.5), dy), x.detach(), (x <= -3).logical_not())};
  });
}
Tensor mish(const Tensor& x) {
  check_accepted("mish", Accepts::real, x.dtype());
  return x * softplus(x).tanh();
}
Tensor log_sigmoid(const Tensor& x) {
  check_accepted("log_sigmoid", Accepts::real, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor rows = x.contiguous();  // as is PyTorch's result, whatever the layout of x
    y = rows.clamp({}, 0.0) - (-rows.abs()).exp().log1p();
  }
  return record("log_sigmoid", y, {x}, {x},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {dy * (-ctx.saved(0)).sigmoid()}; });
}
Tensor glu(const Tensor& x, int64_t dim) {
  check_accepted("glu", Accepts::real, x.dtype());
  TANDEM_CHECK(x.dim() > 0, "glu: x is a scalar; accepted: one dimension or more");
  const int64_t d = wrap_dim("glu", dim, x.dim()), half = x.size(d) / 2;
  TANDEM_CHECK(x.size(d) % 2 == 0, "glu: dimension ", d, " of ", x.sizes(), " is odd; accepted: an even size");
  return x.narrow(d, 0, half) * x.narrow(d, half, half).sigmoid();
}
Tensor Tensor::prelu(const Tensor& weight) const {
  check_accepted("prelu", Accepts::real, dtype());
  const int64_t channels = dim() > 1 ? size(1) : 1;
  TANDEM_CHECK(weight.dim() <= 1 && (weight.numel() == 1 || weight.numel() == channels) && weight.dtype() == dtype(),
               "prelu: weight is ", weight.dtype(), weight.sizes(), " for x of ", dtype(), sizes(),
               "; accepted: x's dtype, and one element or one for each channel (dimension 1)");
  Shape sizes(static_cast<size_t>(std::max<int64_t>(dim(), 1)), 1);
  if (weight.numel() != 1) sizes[1] = channels;
  const Tensor slope = weight.reshape(dim() == 0 ? IntArrayRef() : IntArrayRef(sizes));
  return tandem::where(*this > 0, *this, slope * *this);
}
Tensor rrelu(const Tensor& x, const Scalar& lower, const Scalar& upper, Flag training) {
  check_accepted("rrelu", Accepts::real, x.dtype());
  const double low = lower.to_double(), high = upper.to_double();
  TANDEM_CHECK(low <= high, "rrelu: lower is ", low, " and upper ", high, "; lower must not be above upper");
  return training ? where(x <= 0, x * empty_like(x).uniform_(low, high), x) : leaky_relu(x, (low + high) / 2);
}

}  // namespace tandem
