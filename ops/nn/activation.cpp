// Activations: leaky_relu, elu, celu, selu, softplus, gelu, glu, prelu, rrelu, relu6, threshold, mish, log_sigmoid,
// hardtanh, hardsigmoid, hardswish, hardshrink, softshrink, tanhshrink. Their gradients are operations themselves, and
// so are the gradients of relu, sigmoid, tanh and silu.
#include "tandem/ops/nn/activation.h"

#include <numbers>

#include "tandem/kernels/elementwise.h"
#include "tandem/ops/elementwise/unary_op.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, prelu);
TANDEM_CAST_POLICY(float32, softplus);
TANDEM_CAST_POLICY(none, celu, elu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu, log_sigmoid,
                   mish, relu, relu6, rrelu, selu, sigmoid, silu, softshrink, softsign, tanhshrink, threshold);

/// Begins the body of a gradient operation, which programs may call directly. Checks that dy and x are on one device,
/// and promotes both to one dtype.
#define TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE(name, dy, x, ...)                                      \
  TANDEM_CHECK(dy.device() == x.device(), #name,                                                     \
               ": Expected all tensors to be on the same device, but got " #x " is on ", x.device(), \
               ", different from other tensors on ", dy.device());                                   \
  if (dy.dtype() != x.dtype()) {                                                                     \
    const DType type = result_type(dy, x);                                                           \
    return name(dy.to(type), x.to(type) __VA_OPT__(, ) __VA_ARGS__);                                 \
  }

// ---- with kernels of their own
Tensor leaky_relu(const Tensor& x, Real negative_slope) {
  const double slope = negative_slope;
  TANDEM_CHECK(x.is_floating_point(), "leaky_relu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty_result(x.sizes(), x.dtype(), x.device(), x);
  TANDEM_DISPATCH(x.device(), leaky_relu, x, slope, y);
  return record_op("leaky_relu", y, {x}, {x}, [slope](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {leaky_relu_backward(dy, ctx.saved(0), slope)};
  });
}
Tensor leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope) {
  TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE(leaky_relu_backward, dy, x, slope)
  // dx takes its strides from x, as in PyTorch.
  Tensor dx = core::empty_result(x.sizes(), x.dtype(), x.device(), x, dy);
  TANDEM_DISPATCH(x.device(), leaky_relu_backward, dy, x, slope, dx);
  return record_op("leaky_relu_backward", dx, {dy, x}, {x},
                   [slope](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     const Tensor x = ctx.saved(0);
                     return {leaky_relu_backward(ddx, x, slope), ctx.needs_grad(1) ? zeros_like(x) : Tensor()};
                   });
}
Tensor elu(const Tensor& x, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale) {
  const Tensor is_low = x <= 0;
  // Other elements are replaced by 0, as their exponential may be infinite, and its gradient NaN.
  const Tensor low = x.masked_fill(is_low.logical_not(), 0);
  return ((low * input_scale).expm1() * (alpha.to<double>() * scale.to<double>())).where(is_low, x * scale);
}
Tensor elu(const Tensor& x, Real factor) {
  const double alpha = factor;
  TANDEM_CHECK(x.is_floating_point(), "elu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty_result(x.sizes(), x.dtype(), x.device(), x);
  TANDEM_DISPATCH(x.device(), elu, x, alpha, y);
  return record_op("elu", y, {x}, {x}, [alpha](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {elu_backward(dy, ctx.saved(0), alpha)};
  });
}
Tensor elu_backward(const Tensor& dy, const Tensor& x, double alpha) {
  TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE(elu_backward, dy, x, alpha)
  Tensor dx = core::empty_result(x.sizes(), x.dtype(), x.device(), dy, x);
  TANDEM_DISPATCH(x.device(), elu_backward, dy, x, alpha, dx);
  return record_op("elu_backward", dx, {dy, x}, {dy, x},
                   [alpha](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     const Tensor dy = ctx.saved(0), x = ctx.saved(1);
                     return {elu_backward(ddx, x, alpha),
                             ctx.needs_grad(1) ? where(x < 0, ddx * dy * x.exp() * alpha, Scalar(0)) : Tensor()};
                   });
}
Tensor softplus(const Tensor& x, Real factor, Real limit) {
  const double beta = factor, threshold = limit;
  if (const Autocast cast{cast_policy::softplus, x}) return softplus(cast(x), beta, threshold);
  TANDEM_CHECK(x.is_floating_point(), "softplus: x must be floating point, got ", x.dtype());
  Tensor y = core::empty_result(x.sizes(), x.dtype(), x.device(), x);
  TANDEM_DISPATCH(x.device(), softplus, x, beta, threshold, y);
  return record_op("softplus", y, {x}, {x}, [beta, threshold](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {softplus_backward(dy, ctx.saved(0), beta, threshold)};
  });
}
Tensor softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold) {
  TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE(softplus_backward, dy, x, beta, threshold)
  Tensor dx = core::empty_result(x.sizes(), x.dtype(), x.device(), dy, x);
  TANDEM_DISPATCH(x.device(), softplus_backward, dy, x, beta, threshold, dx);
  return record_op("softplus_backward", dx, {dy, x}, {dy, x},
                   [beta, threshold](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
                     const Tensor dy = ctx.saved(0), x = ctx.saved(1);
                     Tensor second;
                     if (ctx.needs_grad(1)) {
                       const Tensor scaled = x * beta, s = scaled.sigmoid();
                       second = where(scaled < threshold, ddx * dy * s * (1 - s) * beta,
                                      Scalar(0));  // as in PyTorch, 0 above the threshold
                     }
                     return {softplus_backward(ddx, x, beta, threshold), second};
                   });
}

/// Defines a gradient operation. If `output_strides_first`, y determines the result's strides rather than dy, as in
/// PyTorch.
#define TANDEM_DEFINE_BACKWARD_OP(name, output_strides_first, second)                                          \
  Tensor name(const Tensor& dy, const Tensor& y) {                                                             \
    TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE(name, dy, y)                                                         \
    const Tensor &first = output_strides_first ? y : dy, &other = output_strides_first ? dy : y;               \
    Tensor dx = core::empty_result(y.sizes(), y.dtype(), y.device(), first, other);                            \
    TANDEM_DISPATCH(y.device(), name, dy, y, dx);                                                              \
    return record_op(#name, dx, {dy, y}, {dy, y}, [](const BackwardContext& ctx, const Tensor& ddx) -> Grads { \
      const Tensor dy = ctx.saved(0), y = ctx.saved(1);                                                        \
      return {name(ddx, y), second};                                                                           \
    });                                                                                                        \
  }
namespace {
/// Second derivative of x Phi(x): (2 - x^2) density(x)
Tensor gelu_second_derivative(const Tensor& x) {
  const Tensor square = x.square();
  return (2 - square) * (square * -0.5).exp() * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
}
/// Second derivative of x s, where s is the sigmoid of x (a + b x^2): s' (2 p + x p') + x p^2 s (1 - s) (1 - 2 s) with
/// p = a + 3 b x^2
Tensor gelu_tanh_second_derivative(const Tensor& x) {
  const double a = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi, b = 0.044715 * a;
  const Tensor square = x.square(), s = (x * (square * b + a)).sigmoid(), p = square * (3 * b) + a;
  return s * (1 - s) * (p * 2 + square * (6 * b) + x * p.square() * (1 - s * 2));
}
Tensor silu_second_derivative(const Tensor& x) {
  const Tensor s = x.sigmoid();
  return s * (1 - s) * (x * (1 - s * 2) + 2);
}
}  // namespace
// clang-format off
TANDEM_DEFINE_BACKWARD_OP(gelu_backward, false, ctx.needs_grad(1) ? ddx * dy * gelu_second_derivative(y) : Tensor())
TANDEM_DEFINE_BACKWARD_OP(gelu_tanh_backward, false, ctx.needs_grad(1) ? ddx * dy * gelu_tanh_second_derivative(y) : Tensor())
TANDEM_DEFINE_BACKWARD_OP(silu_backward, false, ctx.needs_grad(1) ? ddx * dy * silu_second_derivative(y) : Tensor())
TANDEM_DEFINE_BACKWARD_OP(relu_backward, true, ctx.needs_grad(1) ? zeros_like(y) : Tensor())
TANDEM_DEFINE_BACKWARD_OP(sigmoid_backward, false, ctx.needs_grad(1) ? ddx * dy * (1 - y * 2) : Tensor())
TANDEM_DEFINE_BACKWARD_OP(tanh_backward, false, ctx.needs_grad(1) ? ddx * dy * y * -2 : Tensor())
// clang-format on
#undef TANDEM_DEFINE_BACKWARD_OP
#undef TANDEM_CHECK_DEVICE_AND_PROMOTE_DTYPE

// ---- composed of other operations
namespace {
Tensor make_zero_scalar(const Tensor& x) { return wrapped_scalar_tensor(x.device(), 0, x.dtype()); }
/// Gradient of a function that returns x where `mask` is true and a constant elsewhere. Returns dy where `mask` is true
/// and 0 elsewhere, in dy's layout. The second derivative with respect to x is 0; it is recorded so that the gradient
/// is connected to x, as in PyTorch.
Tensor masked_gradient(const Tensor& dy, const Tensor& x, const Tensor& mask) {
  Tensor dx = core::empty_result(dy.sizes(), dy.dtype(), dy.device(), dy, mask);
  TANDEM_DISPATCH(dy.device(), where, mask, dy, make_zero_scalar(dy), dx);
  return record_op("where", dx, {dy, x}, {x, mask}, [](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
    return {masked_gradient(ddx, ctx.saved(0), ctx.saved(1)), ctx.needs_grad(1) ? zeros_like(ddx) : Tensor()};
  });
}
}  // namespace
Tensor softshrink(const Tensor& x, const Scalar& lambd) {
  check_accepted_dtype("softshrink", AcceptedDtypes::real, x.dtype());
  const double lambda = lambd.to_double();
  TANDEM_CHECK(lambda >= 0, "softshrink: lambda must be in range [0, inf), but found ", lambd);
  Tensor y;
  {
    const NoGradGuard guard;
    y = x - x.clamp(-lambda, lambda);
  }
  return record_op("softshrink", y, {x}, {x}, [lambda](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {masked_gradient(dy, x, (x > lambda) | (x < -lambda))};  // the gradient at the bounds is 0
  });
}
Tensor Tensor::hardshrink(const Scalar& lambd) const {
  check_accepted_dtype("hardshrink", AcceptedDtypes::real, dtype());
  const double lambda = lambd.to_double();
  Tensor y = core::empty_result(sizes(), dtype(), device(), *this);
  TANDEM_DISPATCH(device(), where, (*this >= -lambda) & (*this <= lambda), make_zero_scalar(*this), *this, y);
  return record_op("hardshrink", y, {*this}, {*this}, [lambda](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    // NaN elements appear in the result, but their gradient is 0.
    return {masked_gradient(dy, x, (x > lambda) | (x < -lambda))};
  });
}

Tensor gelu(const Tensor& x, std::string_view approximate) {
  if (approximate == "none") return x.gelu();
  TANDEM_CHECK(approximate == "tanh", "gelu: approximate argument must be either none or tanh. Got \"", approximate,
               "\"");
  check_accepted_dtype("gelu", AcceptedDtypes::real, x.dtype());
  Tensor y = core::empty_result(x.sizes(), x.dtype(), x.device(), x);
  TANDEM_DISPATCH(x.device(), gelu_tanh, x, y);
  return record_op("gelu", y, {x}, {x}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {gelu_tanh_backward(dy, ctx.saved(0))};
  });
}
Tensor& gelu_(Tensor& x, std::string_view approximate) {
  return compute_inplace("gelu_", x, {}, [&](const Tensor& old) { return gelu(old, approximate); });
}
Tensor tanhshrink(const Tensor& x) {
  check_accepted_dtype("tanhshrink", AcceptedDtypes::real, x.dtype());
  return x - x.tanh();
}
Tensor celu(const Tensor& x, const Scalar& alpha) {
  const AutocastOffGuard uncast;
  check_accepted_dtype("celu", AcceptedDtypes::real, x.dtype());
  const double a = alpha.to_double();
  TANDEM_CHECK(a != 0, "celu: alpha cannot be 0 for CELU");
  return a > 0 ? elu(x / a) * a : where(x > 0, x, (x / a).expm1() * a);
}
Tensor selu(const Tensor& x) {
  check_accepted_dtype("selu", AcceptedDtypes::real, x.dtype());
  return elu(x, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946;
}
Tensor threshold(const Tensor& x, const Scalar& threshold, const Scalar& value) {
  return x.masked_fill(x <= threshold, value);
}
Tensor hardtanh(const Tensor& x, const Scalar& min_val, const Scalar& max_val) {
  check_accepted_dtype("hardtanh", AcceptedDtypes::numbers, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    y = x.clamp(min_val, max_val);
  }
  return record_op("hardtanh", y, {x}, {x}, [min_val, max_val](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {masked_gradient(dy, x, (x > min_val) & (x < max_val))};
  });
}
Tensor relu6(const Tensor& x) { return hardtanh(x, 0, 6); }
Tensor hardsigmoid(const Tensor& x) {
  check_accepted_dtype("hardsigmoid", AcceptedDtypes::real, x.dtype());
  return relu6(x + 3) / 6;
}
Tensor hardswish(const Tensor& x) {
  check_accepted_dtype("hardswish", AcceptedDtypes::real, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    y = x * relu6(x + 3) / 6;
  }
  return record_op("hardswish", y, {x}, {x}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    // A NaN element passes dy on, as in PyTorch. The first argument already depends on x, so the second is detached.
    return {masked_gradient(where(x < 3, dy * (x / 3 + 0.5), dy), x.detach(), (x <= -3).logical_not())};
  });
}
Tensor mish(const Tensor& x) {
  const AutocastOffGuard uncast;
  check_accepted_dtype("mish", AcceptedDtypes::real, x.dtype());
  return x * softplus(x).tanh();
}
Tensor log_sigmoid(const Tensor& x) {
  const AutocastOffGuard uncast;
  check_accepted_dtype("log_sigmoid", AcceptedDtypes::real, x.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor rows = x.contiguous();  // because PyTorch's result is contiguous for any layout of x
    y = rows.clamp({}, 0.0) - (-rows.abs()).exp().log1p();
  }
  return record_op("log_sigmoid", y, {x}, {x}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {dy * (-ctx.saved(0)).sigmoid()};
  });
}
Tensor glu(const Tensor& x, int64_t dim) {
  check_accepted_dtype("glu", AcceptedDtypes::real, x.dtype());
  TANDEM_CHECK(x.dim() > 0, "glu does not support scalars because halving size must be even");
  const int64_t d = wrap_dim("glu", dim, x.dim()), half = x.size(d) / 2;
  TANDEM_CHECK(x.size(d) % 2 == 0, "glu: Halving dimension must be even, but dimension ", d, " is size ", x.size(d));
  return x.narrow(d, 0, half) * x.narrow(d, half, half).sigmoid();
}
Tensor Tensor::prelu(const Tensor& weight) const {
  if (const Autocast cast{cast_policy::prelu, *this, weight}) return cast(*this).prelu(cast(weight));
  check_accepted_dtype("prelu", AcceptedDtypes::real, dtype());
  const int64_t channels = dim() > 1 ? size(1) : 1;
  check_same_dtype("prelu", "x", *this, "weight", weight);
  TANDEM_CHECK(weight.dim() <= 1,
               "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  TANDEM_CHECK(
      weight.numel() == 1 || weight.numel() == channels,
      "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
      " and channel size = ", channels, ". Accepted: one parameter, or one for each channel (dimension 1)");
  Shape sizes(static_cast<size_t>(std::max<int64_t>(dim(), 1)), 1);
  if (weight.numel() != 1) sizes[1] = channels;
  const Tensor slope = weight.reshape(dim() == 0 ? IntArrayRef() : IntArrayRef(sizes));
  return tandem::where(*this > 0, *this, slope * *this);
}
Tensor rrelu(const Tensor& x, const Scalar& lower, const Scalar& upper, Flag training) {
  check_accepted_dtype("rrelu", AcceptedDtypes::real, x.dtype());
  const double low = lower.to_double(), high = upper.to_double();
  TANDEM_CHECK(low <= high, "rrelu: Lower bound should be less than or equal to the upper bound, but lower is ", low,
               " and upper is ", high);
  return training ? where(x <= 0, x * empty_like(x).uniform_(low, high), x) : leaky_relu(x, (low + high) / 2);
}

// ---- listed in core/elementwise_ops.h
namespace {
namespace derivative {
TANDEM_ACTIVATION_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
}  // namespace derivative
/// Returns the gradient of relu. In a backward that is not recorded, a gradient that only the engine holds will not be
/// read again, so the result is written into its memory.
Tensor relu_backward_maybe_inplace(const Tensor& dy, const Tensor& y) {
  const bool is_exclusive = dy.use_count() == 1 && dy.storage()->is_unique() && dy.strides() == y.strides() &&
                            core::is_non_overlapping_and_dense(*y.impl());
  if (is_grad_enabled() || !is_exclusive) return relu_backward(dy, y);
  Tensor dx = dy;
  TANDEM_DISPATCH(y.device(), relu_backward, dy, y, dx);
  return dx;
}
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(sigmoid)    { return sigmoid_backward(dy, s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(relu)       { return relu_backward_maybe_inplace(dy, s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(silu)       { return silu_backward(dy, s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(gelu)       { return gelu_backward(dy, s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(softsign)   { return dy / (s.abs() + 1).square(); }
// clang-format on
namespace op_descriptor {
TANDEM_ACTIVATION_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_ACTIVATION_OPS(TANDEM_DEFINE_UNARY_OP)

// ---- in place
#define TANDEM_DEFINE_ACTIVATION_INPLACE(name, parameters, call)                                       \
  Tensor& name##_ parameters {                                                                         \
    return compute_inplace(#name "_", target, {}, [&](const Tensor& x) { return tandem::name call; }); \
  }
TANDEM_DEFINE_ACTIVATION_INPLACE(leaky_relu, (Tensor & target, Real negative_slope), (x, negative_slope))
TANDEM_DEFINE_ACTIVATION_INPLACE(elu, (Tensor & target, Real alpha), (x, alpha))
TANDEM_DEFINE_ACTIVATION_INPLACE(elu,
                                 (Tensor & target, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale),
                                 (x, alpha, scale, input_scale))
TANDEM_DEFINE_ACTIVATION_INPLACE(celu, (Tensor & target, const Scalar& alpha), (x, alpha))
TANDEM_DEFINE_ACTIVATION_INPLACE(selu, (Tensor & target), (x))
TANDEM_DEFINE_ACTIVATION_INPLACE(threshold, (Tensor & target, const Scalar& threshold, const Scalar& value),
                                 (x, threshold, value))
TANDEM_DEFINE_ACTIVATION_INPLACE(hardtanh, (Tensor & target, const Scalar& min_val, const Scalar& max_val),
                                 (x, min_val, max_val))
TANDEM_DEFINE_ACTIVATION_INPLACE(relu6, (Tensor & target), (x))
TANDEM_DEFINE_ACTIVATION_INPLACE(hardsigmoid, (Tensor & target), (x))
TANDEM_DEFINE_ACTIVATION_INPLACE(hardswish, (Tensor & target), (x))
TANDEM_DEFINE_ACTIVATION_INPLACE(mish, (Tensor & target), (x))
TANDEM_DEFINE_ACTIVATION_INPLACE(rrelu,
                                 (Tensor & target, const Scalar& lower, const Scalar& upper, detail::Flag training),
                                 (x, lower, upper, training))
#undef TANDEM_DEFINE_ACTIVATION_INPLACE

}  // namespace tandem
