// Elementwise functions of one tensor: those listed in core/elementwise_ops.h, and those composed of other operations.
#include "tandem/ops/elementwise/unary.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, acos, asin, cosh, exp, expm1, log, log10, log1p, log2, reciprocal, rsqrt, sinh, square,
                   tan);
TANDEM_CAST_POLICY(none, abs, acosh, angle, asinh, atan, atanh, ceil, cos, deg2rad, exp2, floor, frac, frexp, logit,
                   neg, positive, rad2deg, round, sign, signbit, sin, sinc, sqrt, tanh, trunc);

namespace {

// ---- derivatives of the listed operations

namespace derivative {
TANDEM_MATH_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
}  // namespace derivative
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(abs)        { return dy * s.sign(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(neg)        { return dy.neg(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(exp)        { return dy * s; }
TANDEM_DEFINE_UNARY_DERIVATIVE(expm1)      { return dy * (s + 1); }
TANDEM_DEFINE_UNARY_DERIVATIVE(log)        { return dy / s; }
TANDEM_DEFINE_UNARY_DERIVATIVE(log1p)      { return dy / (s + 1); }
TANDEM_DEFINE_UNARY_DERIVATIVE(log2)       { return dy / (s * std::numbers::ln2); }
TANDEM_DEFINE_UNARY_DERIVATIVE(log10)      { return dy / (s * std::numbers::ln10); }
TANDEM_DEFINE_UNARY_DERIVATIVE(sqrt)       { return dy / (s * 2); }
TANDEM_DEFINE_UNARY_DERIVATIVE(rsqrt)      { return dy * s * s * s * -0.5; }
TANDEM_DEFINE_UNARY_DERIVATIVE(sin)        { return dy * s.cos(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(cos)        { return dy * s.sin().neg(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(tan)        { return dy * (s * s + 1); }
TANDEM_DEFINE_UNARY_DERIVATIVE(tanh)       { return tanh_backward(dy, s); }
TANDEM_DEFINE_UNARY_DERIVATIVE(reciprocal) { return dy * s * s.neg(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(square)     { return dy * 2 * s; }
TANDEM_DEFINE_UNARY_DERIVATIVE(sign)       { return zeros_like(dy); }
TANDEM_DEFINE_UNARY_DERIVATIVE(floor)      { return zeros_like(dy); }
TANDEM_DEFINE_UNARY_DERIVATIVE(ceil)       { return zeros_like(dy); }
TANDEM_DEFINE_UNARY_DERIVATIVE(round)      { return zeros_like(dy); }
TANDEM_DEFINE_UNARY_DERIVATIVE(trunc)      { return zeros_like(dy); }
TANDEM_DEFINE_UNARY_DERIVATIVE(frac)       { return dy; }
TANDEM_DEFINE_UNARY_DERIVATIVE(exp2)       { return dy * s * std::numbers::ln2; }
TANDEM_DEFINE_UNARY_DERIVATIVE(asin)       { return dy * (1 - s * s).rsqrt(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(acos)       { return dy * (1 - s * s).rsqrt().neg(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(atan)       { return dy / (s * s + 1); }
TANDEM_DEFINE_UNARY_DERIVATIVE(sinh)       { return dy * s.cosh(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(cosh)       { return dy * s.sinh(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(asinh)      { return dy * (s * s + 1).rsqrt(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(acosh)      { return dy * (s * s - 1).rsqrt(); }
TANDEM_DEFINE_UNARY_DERIVATIVE(atanh)      { return dy / (1 - s * s); }
// clang-format on

namespace op_descriptor {
TANDEM_MATH_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_MATH_OPS(TANDEM_DEFINE_UNARY_OP)

// ---- composed of other operations

Tensor Tensor::round(int64_t decimals) const {
  if (decimals == 0) return round();
  TANDEM_CHECK(is_floating_point(), "round: dtype is ", dtype(), " and decimals is ", decimals,
               "; integers are accepted with decimals 0 only");
  const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
  return decimals > 0 ? (*this * power).round() / power : (*this / power).round() * power;
}
Tensor& Tensor::round_(int64_t decimals) const {
  return compute_inplace("round_", self(), {}, [&](const Tensor& x) { return x.round(decimals); });
}
Tensor Tensor::angle() const {
  const Tensor x = is_floating_point() ? *this : to(get_default_dtype());
  const Tensor positive = tandem::where(x.isnan(), x.detach(), zeros_like(x));
  // The last term is 0. It connects the result to x with a gradient of 0.
  return tandem::where(x < 0, Scalar(std::numbers::pi), positive) + x.sign() * 0;
}
Tensor Tensor::deg2rad() const { return promote_to_floating(*this) * (std::numbers::pi / 180); }
Tensor Tensor::rad2deg() const { return promote_to_floating(*this) * (180 / std::numbers::pi); }
Tensor Tensor::sinc() const {
  const Tensor x = promote_to_floating(*this), zero = x == 0, angle = x.masked_fill(zero, Scalar(1)) * std::numbers::pi;
  return (angle.sin() / angle).masked_fill(zero, Scalar(1));
}
Tensor Tensor::logit(std::optional<double> eps) const {
  const AutocastOffGuard uncast;
  const Tensor real = promote_to_floating(*this);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor x = eps ? real.clamp(*eps, 1 - *eps) : real;
    y = (x / (1 - x)).log();
  }
  return record_op("logit", y, {real}, {real}, [eps](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), local_derivative = 1 / (x * (1 - x));
    if (eps) return {dy * local_derivative.masked_fill((x < *eps) | (x > 1 - *eps), Scalar(0))};
    return {dy * local_derivative.masked_fill((x < 0) | (x > 1), std::nan(""))
                     .masked_fill(x == 0, std::numeric_limits<double>::infinity())};  // infinite at -0 too
  });
}
Tensor Tensor::signbit() const {
  const NoGradGuard guard;
  if (dtype() == kBool) return zeros_like(*this);
  const Tensor below = *this < 0;
  return is_floating_point() ? below | ((*this == 0) & (reciprocal() < 0)) : below;
}
Tensor Tensor::positive() const {
  check_accepted_dtype("positive", AcceptedDtypes::numbers, dtype());
  return *this;
}
std::tuple<Tensor, Tensor> Tensor::frexp() const {
  check_accepted_dtype("frexp", AcceptedDtypes::real, dtype());
  Tensor mantissa, exponent;
  {
    const NoGradGuard guard;
    const Tensor wide = dtype() == kFloat64 ? *this : to(kFloat32), size = wide.abs();
    const Tensor usual = size.isfinite() & (size != 0), safe = tandem::where(usual, size, Scalar(1));
    // log2 is rounded, so the exponent may be off by one. 2^-e is computed as two factors, which do not overflow.
    const Tensor e = safe.log2().floor() + 1, half = (e * 0.5).floor();
    const Tensor m = safe * half.neg().exp2() * (half - e).exp2(), large = m >= 1, small = m < 0.5;
    const Tensor fraction = tandem::where(large, m * 0.5, tandem::where(small, m * 2, m));
    mantissa = tandem::where(usual, fraction.copysign(wide), wide).to(dtype());
    exponent = tandem::where(usual, e + large.to(e.dtype()) - small.to(e.dtype()), Scalar(0)).to(kInt32);
  }
  return record_op("frexp", std::tuple(mantissa, exponent), {*this}, {exponent},
                   [](const BackwardContext& ctx, const Grads& dy) -> Grads {
                     const DType wide = dy[0].dtype() == kFloat64 ? kFloat64 : kFloat32;
                     return {(dy[0].to(wide) / ctx.saved(0).to(wide).exp2()).to(dy[0].dtype())};
                   });
}

Tensor& Tensor::deg2rad_() const {
  return compute_inplace("deg2rad_", self(), {}, [&](const Tensor& x) { return x.deg2rad(); });
}
Tensor& Tensor::rad2deg_() const {
  return compute_inplace("rad2deg_", self(), {}, [&](const Tensor& x) { return x.rad2deg(); });
}
Tensor& Tensor::sinc_() const {
  return compute_inplace("sinc_", self(), {}, [&](const Tensor& x) { return x.sinc(); });
}
Tensor& Tensor::logit_(std::optional<double> eps) const {
  return compute_inplace("logit_", self(), {}, [&](const Tensor& x) { return x.logit(eps); });
}
Tensor& deg2rad_out(Tensor& out, const Tensor& x) {
  return assign_out("deg2rad_out", out, x, [&] { return x.deg2rad(); });
}
Tensor& rad2deg_out(Tensor& out, const Tensor& x) {
  return assign_out("rad2deg_out", out, x, [&] { return x.rad2deg(); });
}
Tensor& sinc_out(Tensor& out, const Tensor& x) {
  return assign_out("sinc_out", out, x, [&] { return x.sinc(); });
}
Tensor& logit_out(Tensor& out, const Tensor& x, std::optional<double> eps) {
  return assign_out("logit_out", out, x, [&] { return x.logit(eps); });
}

}  // namespace tandem
