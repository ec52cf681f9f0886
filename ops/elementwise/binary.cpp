// Elementwise functions of two tensors: those listed in core/elementwise_ops.h, and those composed of other operations.
#include "tandem/ops/elementwise/binary.h"

#include <cmath>
#include <limits>

#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/binary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, pow);
TANDEM_CAST_POLICY(promote, atan2);
TANDEM_CAST_POLICY(none, copysign, div, floor_divide, float_power, fmax, fmin, fmod, heaviside, hypot, ldexp, maximum,
                   minimum, mul, nextafter, remainder, xlogy);

namespace {

// ---- derivatives of the listed operations

namespace derivative {
TANDEM_ARITHMETIC_OPS(TANDEM_DECLARE_BINARY_DERIVATIVES)
}  // namespace derivative
TANDEM_DEFINE_BINARY_DERIVATIVES(mul) {
  return {ctx.needs_grad(0) ? dz * ctx.saved(1) : Tensor(), ctx.needs_grad(1) ? dz * ctx.saved(0) : Tensor()};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(div) {
  const Tensor y = ctx.saved(1), dx = dz / y;
  return {dx, ctx.needs_grad(1) ? (dx * (ctx.saved(0) / y)).neg() : Tensor()};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(pow) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1);
  Tensor dx, dy;
  if (ctx.needs_grad(0)) dx = where(y == 0, zeros_like(dz), dz * y * x.pow(y - 1));
  if (ctx.needs_grad(1)) dy = dz * where((x == 0) & (y >= 0), zeros_like(dz), ctx.saved(2) * x.log());
  return {dx, dy};
}
/// Records `rounded`, the rounded quotient of x and y, with derivatives of zero.
Tensor record_rounded_quotient(const Tensor& rounded, const Tensor& x, const Tensor& y) {
  return record_op("rounded_quotient", rounded, {x, y}, {},
                   [x = Shape(x.sizes()), y = Shape(y.sizes())](const BackwardContext&, const Tensor& dz) -> Grads {
                     return {zeros(x, dz.options()), zeros(y, dz.options())};
                   });
}
TANDEM_DEFINE_BINARY_DERIVATIVES(fmod) {
  if (!ctx.needs_grad(1)) return {dz, Tensor()};
  const Tensor x = ctx.saved(0), y = ctx.saved(1), truncated = (x.detach() / y.detach()).trunc();
  return {dz, dz.neg() * record_rounded_quotient(truncated, x, y)};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(remainder) {
  if (!ctx.needs_grad(1)) return {dz, Tensor()};
  const Tensor x = ctx.saved(0), y = ctx.saved(1), floored = x.detach().floor_divide(y.detach());
  return {dz, dz.neg() * record_rounded_quotient(floored, x, y)};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(floor_divide) {
  throw NotImplementedError("floor_divide has no derivative; detach() its operands");
}
/// Gradients of maximum and minimum. Equal values get half the gradient each, as in PyTorch. If an operand is NaN, each
/// operand gets the whole gradient.
Grads maximum_minimum_backward(const BackwardContext& ctx, const Tensor& dz,
                               Tensor (Tensor::*is_losing)(const Tensor&) const) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), half = where(x == y, dz * 0.5, dz);
  return {where((x.*is_losing)(y), Scalar(0), half), where((y.*is_losing)(x), Scalar(0), half)};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(maximum) { return maximum_minimum_backward(ctx, dz, &Tensor::lt); }
TANDEM_DEFINE_BINARY_DERIVATIVES(minimum) { return maximum_minimum_backward(ctx, dz, &Tensor::gt); }
TANDEM_DEFINE_BINARY_DERIVATIVES(atan2) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), total = x * x + y * y;
  // The gradient at the origin is 0, as in PyTorch.
  const Tensor scale = where(total == 0, Scalar(0), total.reciprocal());
  return {dz * y * scale, ctx.needs_grad(1) ? dz * x.neg() * scale : Tensor()};
}
/// Gradients of fmax and fmin. Equal values get half the gradient each. If one operand is NaN, the other gets the whole
/// gradient; if both are NaN, x gets it.
Grads fmax_fmin_backward(const BackwardContext& ctx, const Tensor& dz,
                         Tensor (Tensor::*is_winning)(const Tensor&) const) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), half = where(x == y, dz * 0.5, dz);
  const Tensor of_x = (x.*is_winning)(y) | y.isnan();
  return {where(of_x, half, Scalar(0)), where((x == y) | of_x.logical_not(), half, Scalar(0))};
}
TANDEM_DEFINE_BINARY_DERIVATIVES(fmax) { return fmax_fmin_backward(ctx, dz, &Tensor::ge); }
TANDEM_DEFINE_BINARY_DERIVATIVES(fmin) { return fmax_fmin_backward(ctx, dz, &Tensor::le); }
TANDEM_DEFINE_BINARY_DERIVATIVES(nextafter) {
  return {ctx.needs_grad(0) ? where(ctx.saved(0) == ctx.saved(1), Scalar(0), dz) : Tensor(),
          ctx.needs_grad(1) ? zeros(dz.sizes(), dz.options()) : Tensor()};
}

namespace op_descriptor {
TANDEM_ARITHMETIC_OPS(TANDEM_DEFINE_DIFFERENTIABLE_BINARY_DESCRIPTOR)
TANDEM_GCD_OPS(TANDEM_DEFINE_INTEGRAL_BINARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_ARITHMETIC_OPS(TANDEM_DEFINE_BINARY_OP)
TANDEM_GCD_OPS(TANDEM_DEFINE_BINARY_OP)

Tensor Tensor::div(const Tensor& other, std::optional<std::string_view> mode) const {
  if (!mode) return div(other);
  TANDEM_CHECK(*mode == "floor" || *mode == "trunc",
               "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '", *mode, "'");
  const Operands o = promote_operands("div", *this, other);
  check_accepted_dtype("div", AcceptedDtypes::numbers, o.a.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    if (*mode == "floor")
      y = o.a.floor_divide(o.b);
    else if (!tandem::is_floating_point(o.a.dtype()))
      y = (o.a - o.a.fmod(o.b)).floor_divide(o.b);
    else if (is_reduced_floating_point(
                 o.a.dtype()))  // in float32: a quotient rounded to half precision may reach the next integer
      y = o.a.to(kFloat32).div(o.b.to(kFloat32)).trunc().to(o.a.dtype());
    else
      y = o.a.div(o.b).trunc();
  }
  return record_rounded_quotient(y, o.a, o.b);
}
Tensor Tensor::div(const Scalar& other, std::optional<std::string_view> mode) const {
  return mode ? div(wrap_scalar(*this, other), mode) : div(other);
}
Tensor& Tensor::div_(const Tensor& other, std::optional<std::string_view> mode) const {
  return compute_inplace("div_", self(), {other}, [&](const Tensor& x) { return x.div(other, mode); });
}
Tensor& Tensor::div_(const Scalar& other, std::optional<std::string_view> mode) const {
  return compute_inplace("div_", self(), {}, [&](const Tensor& x) { return x.div(other, mode); });
}
Tensor pow(const Scalar& base, const Tensor& exponent) {
  if (const Autocast cast{cast_policy::pow, exponent}) return pow(base, cast(exponent));
  return wrap_scalar(exponent, base).pow(exponent);
}
Tensor remainder(const Scalar& a, const Tensor& x) { return wrap_scalar(x, a).remainder(x); }
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent) {
  return assign_out("pow_out", out, exponent, [&] { return pow(base, exponent); });
}

// ---- composed of other operations

Tensor Tensor::hypot(const Tensor& other) const {
  const AutocastOffGuard uncast;
  const Operands o = promote_real_operands("hypot", *this, other);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor a = o.a.abs(), b = o.b.abs(), longer = a.maximum(b), shorter = a.minimum(b);
    const Tensor usual = longer.isfinite() & (longer != 0);
    y = longer * ((tandem::where(usual, shorter / longer, Scalar(0))).square() + 1).sqrt();
    y = tandem::where(a.isinf() | b.isinf(), Scalar(std::numeric_limits<double>::infinity()), y);
  }
  return record_op("hypot", y, {o.a, o.b}, {o.a, o.b, y}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor scaled_grad = dy / ctx.saved(2);
    return {ctx.needs_grad(0) ? scaled_grad * ctx.saved(0) : Tensor(),
            ctx.needs_grad(1) ? scaled_grad * ctx.saved(1) : Tensor()};
  });
}
Tensor Tensor::copysign(const Tensor& other) const {
  const Operands o = promote_operands("copysign", *this, other, /*to_floating=*/true);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor size = o.a.abs(), negative = o.b.signbit(), opposite = -size;
    y = empty_result(o, o.a.dtype());  // y is allocated here, because where() would give it the layout of `negative`
    TANDEM_DISPATCH(o.device, where, negative, opposite, size, y);
  }
  const Tensor none;  // undefined tensor, saved if `a` needs no gradient; `b` gets a gradient of 0
  const bool wanted = autograd::tensor_requires_grad(o.a);
  return record_op("copysign", y, {o.a, o.b}, {wanted ? o.a : none, wanted ? y : none},
                   [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     Tensor da;
                     if (ctx.needs_grad(0)) da = dy * (ctx.saved(1) / ctx.saved(0)).masked_fill(ctx.saved(0) == 0, 0);
                     return {da, ctx.needs_grad(1) ? zeros_like(dy) : Tensor()};
                   });
}
Tensor Tensor::copysign(const Scalar& other) const {
  const Tensor size = promote_to_floating(*this).abs();
  return std::signbit(other.to_double()) ? -size : size;
}

Tensor Tensor::xlogy(const Tensor& other) const {
  const AutocastOffGuard uncast;
  const Operands o = promote_operands("xlogy", *this, other, /*to_floating=*/true);
  Tensor y;
  {
    const NoGradGuard guard;
    y = tandem::where((o.a == 0) & ~o.b.isnan(), Scalar(0), o.a * o.b.log());
  }
  return record_op("xlogy", y, {o.a, o.b}, {o.a, o.b}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    return {ctx.needs_grad(0) ? dy.xlogy(b).masked_fill((a == 0) & (b <= 0), 0) : Tensor(),
            ctx.needs_grad(1) ? dy * a / b : Tensor()};
  });
}
Tensor Tensor::xlogy(const Scalar& other) const { return xlogy(wrap_scalar_as_floating(*this, other)); }
Tensor xlogy(const Scalar& a, const Tensor& b) { return wrap_scalar_as_floating(b, a).xlogy(b); }

Tensor Tensor::float_power(const Tensor& exponent) const { return to(kFloat64).pow(exponent.to(kFloat64)); }
Tensor Tensor::float_power(const Scalar& exponent) const { return to(kFloat64).pow(exponent.to_double()); }
Tensor float_power(const Scalar& x, const Tensor& exponent) {
  return wrapped_scalar_tensor(exponent.device(), x, kFloat64).pow(exponent.to(kFloat64));
}
Tensor Tensor::ldexp(const Tensor& other) const {
  const AutocastOffGuard uncast;
  if (!is_floating_point() || other.is_floating_point()) return *this * wrap_scalar(other, 2.0).pow(other);
  // The exponent is float32, because 2^other may overflow a half type.
  const Tensor exponent = other.to(dtype() == kFloat64 ? kFloat64 : kFloat32);
  return (*this * wrap_scalar(exponent, 2.0).pow(exponent)).to(dtype());
}
Tensor Tensor::heaviside(const Tensor& values) const {
  check_same_dtype("heaviside", "x", *this, "values", values);
  const NoGradGuard guard;
  return tandem::where(*this == 0, values, (*this > 0).to(dtype()));
}

Tensor& Tensor::hypot_(const Tensor& other) const {
  return compute_inplace("hypot_", self(), {other}, [&](const Tensor& x) { return x.hypot(other); });
}
Tensor& Tensor::copysign_(const Tensor& other) const {
  return compute_inplace("copysign_", self(), {other}, [&](const Tensor& x) { return x.copysign(other); });
}
Tensor& Tensor::copysign_(const Scalar& other) const {
  return compute_inplace("copysign_", self(), {}, [&](const Tensor& x) { return x.copysign(other); });
}
Tensor& Tensor::xlogy_(const Tensor& other) const {
  return compute_inplace("xlogy_", self(), {other}, [&](const Tensor& x) { return x.xlogy(other); });
}
Tensor& Tensor::xlogy_(const Scalar& other) const {
  return compute_inplace("xlogy_", self(), {}, [&](const Tensor& x) { return x.xlogy(other); });
}
Tensor& Tensor::ldexp_(const Tensor& other) const {
  return compute_inplace("ldexp_", self(), {other}, [&](const Tensor& x) { return x.ldexp(other); });
}
Tensor& Tensor::heaviside_(const Tensor& values) const {
  return compute_inplace("heaviside_", self(), {values}, [&](const Tensor& x) { return x.heaviside(values); });
}
namespace {
void check_float_power(const Tensor& x) {
  TANDEM_CHECK(x.dtype() == kFloat64, "float_power_: the base given to float_power_ has dtype ", x.dtype(),
               " but the operation's result requires dtype ", kFloat64);
}
}  // namespace
Tensor& Tensor::float_power_(const Tensor& exponent) const {
  check_float_power(self());
  return compute_inplace("float_power_", self(), {exponent}, [&](const Tensor& x) { return x.float_power(exponent); });
}
Tensor& Tensor::float_power_(const Scalar& exponent) const {
  check_float_power(self());
  return compute_inplace("float_power_", self(), {}, [&](const Tensor& x) { return x.float_power(exponent); });
}

#define TANDEM_DEFINE_COMPOSED_BINARY_OUT(name)                              \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b) {        \
    return assign_out(#name "_out", out, {a, b}, [&] { return a.name(b); }); \
  }
TANDEM_DEFINE_COMPOSED_BINARY_OUT(hypot)
TANDEM_DEFINE_COMPOSED_BINARY_OUT(copysign)
TANDEM_DEFINE_COMPOSED_BINARY_OUT(xlogy)
TANDEM_DEFINE_COMPOSED_BINARY_OUT(ldexp)
TANDEM_DEFINE_COMPOSED_BINARY_OUT(heaviside)
TANDEM_DEFINE_COMPOSED_BINARY_OUT(float_power)
#undef TANDEM_DEFINE_COMPOSED_BINARY_OUT
Tensor& xlogy_out(Tensor& out, const Tensor& x, const Scalar& other) {
  return assign_out("xlogy_out", out, x, [&] { return x.xlogy(other); });
}
Tensor& xlogy_out(Tensor& out, const Scalar& a, const Tensor& b) {
  return assign_out("xlogy_out", out, b, [&] { return xlogy(a, b); });
}

}  // namespace tandem
