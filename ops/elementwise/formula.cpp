#include "tandem/ops/elementwise/formula.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Both as they are combined, floating point already. @throws Error that names op
Operands real_operands(const char* op, const Tensor& a, const Tensor& b) {
  Operands o = prepare(op, a, b);
  check_accepted(op, Accepts::real, o.a.dtype());
  return o;
}
void check_lerp(const Tensor& start, const Tensor& end) {
  check_accepted("lerp", Accepts::real, start.dtype());
  TANDEM_CHECK(start.dtype() == end.dtype(), "lerp: start is ", start.dtype(), " and end ", end.dtype(),
               "; both must be of one dtype");
}
}  // namespace

Tensor Tensor::lerp(const Tensor& end, const Scalar& weight) const {
  check_lerp(*this, end);
  const double w = weight.to_double();  // from the nearer end, so that 0 and 1 give the ends themselves
  const Tensor way = *this - end;       // start first: the result lies as it does
  return std::abs(w) < 0.5 ? *this - way * w : way * (1 - w) + end;
}
Tensor Tensor::lerp(const Tensor& end, const Tensor& weight) const {
  check_lerp(*this, end);
  TANDEM_CHECK(weight.dtype() == dtype(), "lerp: start is ", dtype(), " and weight ", weight.dtype(),
               "; both must be of one dtype");
  const Tensor way = end - *this;
  return tandem::where(weight.abs() < 0.5, *this + weight * way, end - way * (1 - weight));
}
Tensor& Tensor::lerp_(const Tensor& end, const Scalar& weight) const {
  return formula_inplace("lerp_", self(), {end}, [&](const Tensor& x) { return x.lerp(end, weight); });
}
Tensor& Tensor::lerp_(const Tensor& end, const Tensor& weight) const {
  return formula_inplace("lerp_", self(), {end, weight}, [&](const Tensor& x) { return x.lerp(end, weight); });
}
Tensor Tensor::addcmul(const Tensor& a, const Tensor& b, const Scalar& value) const {
  const DType type = result_type(*this, a, b);
  check_accepted("addcmul", Accepts::numbers, type);
  // Beside integers a number counts without its fraction, as in PyTorch; they must hold it.
  const Scalar factor =
      visit_dtype(type, [&]<class T>() { return std::is_integral_v<T> ? Scalar(value.to<T>()) : value; });
  return to(type) + a.to(type) * factor * b.to(type);  // in this order, as PyTorch: what overflows depends on it
}
Tensor& Tensor::addcmul_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return formula_inplace("addcmul_", self(), {a, b}, [&](const Tensor& x) { return x.addcmul(a, b, value); });
}
Tensor Tensor::addcdiv(const Tensor& a, const Tensor& b, const Scalar& value) const {
  TANDEM_CHECK(a.is_floating_point() || b.is_floating_point(), "addcdiv: the operands are ", a.dtype(), " and ",
               b.dtype(), "; accepted: floating point for one of them");
  const DType type = result_type(*this, a, b);
  return to(type) + a.to(type) * value / b.to(type);
}
Tensor& Tensor::addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value) const {
  return formula_inplace("addcdiv_", self(), {a, b}, [&](const Tensor& x) { return x.addcdiv(a, b, value); });
}

Tensor Tensor::hypot(const Tensor& other) const {
  const Operands o = real_operands("hypot", *this, other);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor a = o.a.abs(), b = o.b.abs(), longer = a.maximum(b), shorter = a.minimum(b);
    const Tensor usual = longer.isfinite() & (longer != 0);
    y = longer * ((tandem::where(usual, shorter / longer, Scalar(0))).square() + 1).sqrt();
    y = tandem::where(a.isinf() | b.isinf(), Scalar(kInfinite), y);
  }
  return record("hypot", y, {o.a, o.b}, {o.a, o.b, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor slope = dy / ctx.saved(2);
    return {ctx.needs_grad(0) ? slope * ctx.saved(0) : Tensor(), ctx.needs_grad(1) ? slope * ctx.saved(1) : Tensor()};
  });
}
namespace {
/// log(base^a + base^b) where the natural logarithm of the base is `scale`.
Tensor log_add(const char* op, const Tensor& a, const Tensor& b, double scale) {
  const Operands o = real_operands(op, a, b);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor larger = o.a.maximum(o.b);
    y = larger + ((o.a - o.b).abs() * -scale).exp().log1p() / scale;
    y = tandem::where((o.a == o.b) & o.a.isinf(), larger, y);
  }
  return record(op, y, {o.a, o.b}, {o.a, o.b}, [scale](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    return {ctx.needs_grad(0) ? dy * ((a - b) * scale).sigmoid() : Tensor(),
            ctx.needs_grad(1) ? dy * ((b - a) * scale).sigmoid() : Tensor()};
  });
}
}  // namespace
Tensor Tensor::logaddexp(const Tensor& other) const { return log_add("logaddexp", *this, other, 1); }
Tensor Tensor::logaddexp2(const Tensor& other) const { return log_add("logaddexp2", *this, other, std::numbers::ln2); }

Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) const {
  if (!is_floating_point()) return clone();
  const double most = detail::largest_of(dtype());
  const auto number = [&](double value) { return number_beside(device(), value, dtype()); };  // infinite if too large
  Tensor y;
  {
    const NoGradGuard guard;
    y = tandem::where(isnan(), number(nan.value_or(0)), *this);
    y = tandem::where(isposinf(), number(posinf.value_or(most)), y);
    y = tandem::where(isneginf(), number(neginf.value_or(-most)), y);
  }
  return record("nan_to_num", y, {*this}, {*this}, [](const Context& ctx, const Tensor& dy) -> Grads {
    return {dy * ctx.saved(0).isfinite().to(dy.dtype())};
  });
}
Tensor& Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf,
                            std::optional<double> neginf) const {
  return formula_inplace("nan_to_num_", self(), {}, [&](const Tensor& x) { return x.nan_to_num(nan, posinf, neginf); });
}

Tensor Tensor::signbit() const {
  const NoGradGuard guard;
  if (dtype() == kBool) return zeros_like(*this);
  const Tensor below = *this < 0;
  return is_floating_point() ? below | ((*this == 0) & (reciprocal() < 0)) : below;
}
Tensor Tensor::copysign(const Tensor& other) const {
  const Operands o = prepare("copysign", *this, other, /*to_floating=*/true);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor size = o.a.abs(), negative = o.b.signbit(), opposite = -size;
    y = like(o, o.a.dtype());  // which where() would lay out as `negative` is
    TANDEM_DISPATCH(o.device, where, negative, opposite, size, y);
  }
  const Tensor none;  // the gradient of the sign is 0, and needs nothing
  const bool wanted = autograd::wants_grad(o.a);
  return record("copysign", y, {o.a, o.b}, {wanted ? o.a : none, wanted ? y : none},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  Tensor da;
                  if (ctx.needs_grad(0)) da = dy * (ctx.saved(1) / ctx.saved(0)).masked_fill(ctx.saved(0) == 0, 0);
                  return {da, ctx.needs_grad(1) ? zeros_like(dy) : Tensor()};
                });
}
Tensor Tensor::copysign(const Scalar& other) const {
  const Tensor size = floating(*this).abs();
  return std::signbit(other.to_double()) ? -size : size;
}

Tensor Tensor::xlogy(const Tensor& other) const {
  const Operands o = prepare("xlogy", *this, other, /*to_floating=*/true);
  Tensor y;
  {
    const NoGradGuard guard;
    y = tandem::where((o.a == 0) & ~o.b.isnan(), Scalar(0), o.a * o.b.log());
  }
  return record("xlogy", y, {o.a, o.b}, {o.a, o.b}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    return {ctx.needs_grad(0) ? dy.xlogy(b).masked_fill((a == 0) & (b <= 0), 0) : Tensor(),
            ctx.needs_grad(1) ? dy * a / b : Tensor()};
  });
}
Tensor Tensor::xlogy(const Scalar& other) const { return xlogy(beside_divided(*this, other)); }
Tensor xlogy(const Scalar& a, const Tensor& b) { return beside_divided(b, a).xlogy(b); }

Tensor Tensor::deg2rad() const { return floating(*this) * (std::numbers::pi / 180); }
Tensor Tensor::rad2deg() const { return floating(*this) * (180 / std::numbers::pi); }
Tensor Tensor::sinc() const {
  const Tensor x = floating(*this), zero = x == 0, angle = x.masked_fill(zero, Scalar(1)) * std::numbers::pi;
  return (angle.sin() / angle).masked_fill(zero, Scalar(1));
}
Tensor Tensor::logit(std::optional<double> eps) const {
  const Tensor real = floating(*this);
  Tensor y;
  {
    const NoGradGuard guard;
    const Tensor x = eps ? real.clamp(*eps, 1 - *eps) : real;
    y = (x / (1 - x)).log();
  }
  return record("logit", y, {real}, {real}, [eps](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), slope = 1 / (x * (1 - x));
    if (eps) return {dy * slope.masked_fill((x < *eps) | (x > 1 - *eps), Scalar(0))};
    return {dy * slope.masked_fill((x < 0) | (x > 1), std::nan("")).masked_fill(x == 0, kInfinite)};  // of -0 too
  });
}
Tensor Tensor::isposinf() const { return is_floating_point() ? *this == kInfinite : zeros_like(*this, kBool); }
Tensor Tensor::isneginf() const { return is_floating_point() ? *this == -kInfinite : zeros_like(*this, kBool); }
Tensor Tensor::isreal() const { return ones_like(*this, kBool); }
Tensor Tensor::positive() const {
  check_accepted("positive", Accepts::numbers, dtype());
  return *this;
}
Tensor Tensor::float_power(const Tensor& exponent) const { return to(kFloat64).pow(exponent.to(kFloat64)); }
Tensor Tensor::float_power(const Scalar& exponent) const { return to(kFloat64).pow(exponent.to_double()); }
Tensor float_power(const Scalar& x, const Tensor& exponent) {
  return number_beside(exponent.device(), x, kFloat64).pow(exponent.to(kFloat64));
}
Tensor Tensor::ldexp(const Tensor& other) const {
  if (!is_floating_point() || other.is_floating_point()) return *this * beside(other, 2.0).pow(other);
  const Tensor exponent = other.to(dtype() == kFloat64 ? kFloat64 : kFloat32);  // 2^other may not fit a half type
  return (*this * beside(exponent, 2.0).pow(exponent)).to(dtype());
}
Tensor Tensor::heaviside(const Tensor& values) const {
  TANDEM_CHECK(dtype() == values.dtype(), "heaviside: x is ", dtype(), " and values ", values.dtype(),
               "; both must be of one dtype");
  const NoGradGuard guard;
  return tandem::where(*this == 0, values, (*this > 0).to(dtype()));
}
Tensor rsub(const Tensor& x, const Tensor& other, const Scalar& alpha) { return other.sub(x, alpha); }
Tensor rsub(const Tensor& x, const Scalar& other, const Scalar& alpha) { return beside(x, other).sub(x, alpha); }
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan) const {
  TANDEM_CHECK(dtype() == other.dtype(), "isclose: a is ", dtype(), " and b is ", other.dtype(),
               "; both must be of one dtype");
  TANDEM_CHECK(rtol >= 0 && atol >= 0, "isclose: rtol is ", rtol, " and atol ", atol, "; accepted: 0 or more");
  const NoGradGuard guard;
  const Tensor a = to(kFloat64), b = other.to(kFloat64), off = (a - b).abs();
  const Tensor close = (a == b) | (off.isfinite() & (off <= b.abs() * rtol + atol));
  return equal_nan ? close | (a.isnan() & b.isnan()) : close;
}
std::vector<Tensor> where(const Tensor& condition) {
  return nonzero(condition.dim() == 0 ? condition.unsqueeze(0) : condition).unbind(1);
}

}  // namespace tandem
