// Arithmetic, comparisons and logic of two operands.
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/operands.h"

namespace tandem {
using namespace detail;

namespace {
Tensor add_scaled(const char* op, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const Operands o = prepare(op, a, b);
  check_alpha(op, o.a.dtype(), alpha);
  if (o.a.dtype() == kBool) return o.a.logical_or(alpha.to<bool>() ? o.b : o.b.logical_and(false));
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), add, o.a, o.b, alpha, y);
  return record("add", y, {o.a, o.b}, {},
                [alpha, one = alpha.to_double() == 1](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.needs_grad(0) ? dy : Tensor(), !ctx.needs_grad(1) ? Tensor() : one ? dy : dy.mul(alpha)};
                });
}
}  // namespace
Scalar negated(const Scalar& alpha) {
  return alpha.is_boolean()          ? alpha
         : alpha.is_floating_point() ? Scalar(-alpha.to_double())
                                     : Scalar(-alpha.to_int64());
}
Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return add_scaled("add", *this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const {
  check_subtraction("sub", dtype() == kBool || other.dtype() == kBool);
  return add_scaled("sub", *this, other, negated(alpha));
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) const { return add(beside(*this, other), alpha); }
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) const {
  check_subtraction("sub", other.is_boolean());
  return sub(beside(*this, other), alpha);
}
Tensor operator-(const Scalar& a, const Tensor& b) {
  check_subtraction("sub", a.is_boolean());
  return beside(b, a).sub(b);
}

Tensor Tensor::mul(const Tensor& other) const {
  const Operands o = prepare("mul", *this, other);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), mul, o.a, o.b, y);
  // A factor is kept only if the other one wants a gradient: changing it in place is then allowed.
  const Tensor none;
  return record(
      "mul", y, {o.a, o.b}, {autograd::wants_grad(o.b) ? o.a : none, autograd::wants_grad(o.a) ? o.b : none},
      [](const Context& ctx, const Tensor& dy) -> Grads {
        return {ctx.needs_grad(0) ? dy * ctx.saved(1) : Tensor(), ctx.needs_grad(1) ? dy * ctx.saved(0) : Tensor()};
      });
}
Tensor Tensor::div(const Tensor& other) const {
  const Operands o = prepare("div", *this, other, /*to_floating=*/true);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), div, o.a, o.b, y);
  const Tensor none;  // the quotient is not kept, which programs change in place; a only where b's gradient asks for it
  return record("div", y, {o.a, o.b}, {autograd::wants_grad(o.b) ? o.a : none, o.b},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  const Tensor b = ctx.saved(1), da = dy / b;
                  return {da, ctx.needs_grad(1) ? (da * (ctx.saved(0) / b)).neg() : Tensor()};
                });
}
Tensor Tensor::pow(const Tensor& other) const {
  const Operands o = prepare("pow", *this, other);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), pow, o.a, o.b, y);
  return record("pow", y, {o.a, o.b}, {o.a, o.b, y}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor a = ctx.saved(0), b = ctx.saved(1);
    Tensor da, db;
    if (ctx.needs_grad(0)) da = tandem::where(b == 0, zeros_like(dy), dy * b * a.pow(b - 1));
    if (ctx.needs_grad(1)) db = dy * tandem::where((a == 0) & (b >= 0), zeros_like(dy), ctx.saved(2) * a.log());
    return {da, db};
  });
}
/// y, the quotient of a and b after it was rounded: its derivative is zero, whatever that of the quotient is.
static Tensor rounded_quotient(const Tensor& y, const Tensor& a, const Tensor& b) {
  return record("rounded_quotient", y, {a, b}, {},
                [a = Shape(a.sizes()), b = Shape(b.sizes())](const Context&, const Tensor& dy) -> Grads {
                  return {zeros(a, dy.options()), zeros(b, dy.options())};
                });
}
Tensor Tensor::fmod(const Tensor& other) const {
  const Operands o = prepare("fmod", *this, other);
  check_no_bool("fmod", o.a);
  check_divisor("fmod", o.b, o.sizes);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), fmod, o.a, o.b, y);
  const Tensor none;  // only the divisor's gradient asks for anything
  const bool kept = autograd::wants_grad(o.b);
  return record("fmod", y, {o.a, o.b}, {kept ? o.a : none, kept ? o.b : none},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  if (!ctx.needs_grad(1)) return {dy, Tensor()};
                  const Tensor a = ctx.saved(0), b = ctx.saved(1), cut = (a.detach() / b.detach()).trunc();
                  return {dy, dy.neg() * rounded_quotient(cut, a, b)};
                });
}
Tensor Tensor::remainder(const Tensor& other) const {
  const Operands o = prepare("remainder", *this, other);
  check_no_bool("remainder", o.a);
  check_divisor("remainder", o.b, o.sizes);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), remainder, o.a, o.b, y);
  const Tensor none;  // only the divisor's gradient asks for anything
  const bool kept = autograd::wants_grad(o.b);
  return record("remainder", y, {o.a, o.b}, {kept ? o.a : none, kept ? o.b : none},
                [](const Context& ctx, const Tensor& dy) -> Grads {
                  if (!ctx.needs_grad(1)) return {dy, Tensor()};
                  const Tensor a = ctx.saved(0), b = ctx.saved(1), floored = a.detach().floor_divide(b.detach());
                  return {dy, dy.neg() * rounded_quotient(floored, a, b)};
                });
}
Tensor Tensor::floor_divide(const Tensor& other) const {
  const Operands o = prepare("floor_divide", *this, other);
  check_no_bool("floor_divide", o.a);
  check_divisor("floor_divide", o.b, o.sizes);
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), floor_divide, o.a, o.b, y);
  return record("floor_divide", y, {o.a, o.b}, {}, [](const Context&, const Tensor&) -> Grads {
    throw NotImplementedError("floor_divide has no derivative; detach what it divides");
  });
}

// Equal values share the gradient, as PyTorch has it: half to each. Beside a NaN both get all of it.
#define TANDEM_EXTREME_OP(name, compare)                                                                \
  Tensor name(const Tensor& a, const Tensor& b) {                                                       \
    const Operands o = prepare(#name, a, b);                                                            \
    Tensor y = like(o, o.a.dtype());                                                                    \
    TANDEM_DISPATCH(y.device(), name, o.a, o.b, y);                                                     \
    return record(#name, y, {o.a, o.b}, {o.a, o.b}, [](const Context& ctx, const Tensor& dy) -> Grads { \
      const Tensor a = ctx.saved(0), b = ctx.saved(1), shared = where(a == b, dy * 0.5, dy);            \
      return {where(b compare a, Scalar(0), shared), where(a compare b, Scalar(0), shared)};            \
    });                                                                                                 \
  }
TANDEM_EXTREME_OP(maximum, >)
TANDEM_EXTREME_OP(minimum, <)
Tensor Tensor::maximum(const Tensor& other) const { return tandem::maximum(*this, other); }
Tensor Tensor::minimum(const Tensor& other) const { return tandem::minimum(*this, other); }

#define TANDEM_COMPARE_OP(name)                      \
  Tensor Tensor::name(const Tensor& other) const {   \
    const Operands o = prepare(#name, *this, other); \
    Tensor y = like(o, kBool);                       \
    TANDEM_DISPATCH(y.device(), name, o.a, o.b, y);  \
    return y;                                        \
  }
TANDEM_COMPARE_OP(eq)
TANDEM_COMPARE_OP(ne)
TANDEM_COMPARE_OP(lt)
TANDEM_COMPARE_OP(le)
TANDEM_COMPARE_OP(gt)
TANDEM_COMPARE_OP(ge)
TANDEM_COMPARE_OP(logical_and)
TANDEM_COMPARE_OP(logical_or)
TANDEM_COMPARE_OP(logical_xor)
#define TANDEM_BITWISE_OP(name)                                                             \
  Tensor Tensor::name(const Tensor& other) const {                                          \
    const Operands o = prepare(#name, *this, other);                                        \
    TANDEM_CHECK(!tandem::is_floating_point(o.a.dtype()), #name ": dtype is ", o.a.dtype(), \
                 "; accepted: integers and bool");                                          \
    Tensor y = like(o, o.a.dtype());                                                        \
    TANDEM_DISPATCH(y.device(), name, o.a, o.b, y);                                         \
    return y;                                                                               \
  }
TANDEM_BITWISE_OP(bitwise_and)
TANDEM_BITWISE_OP(bitwise_or)
TANDEM_BITWISE_OP(bitwise_xor)
#define TANDEM_NUMBER_OP(name) \
  Tensor Tensor::name(const Scalar& other) const { return name(beside(*this, other)); }
TANDEM_NUMBER_OP(mul)
TANDEM_NUMBER_OP(fmod)
TANDEM_NUMBER_OP(remainder)
TANDEM_NUMBER_OP(floor_divide)
TANDEM_NUMBER_OP(eq)
TANDEM_NUMBER_OP(ne)
TANDEM_NUMBER_OP(lt)
TANDEM_NUMBER_OP(le)
TANDEM_NUMBER_OP(gt)
TANDEM_NUMBER_OP(ge)
TANDEM_NUMBER_OP(logical_and)
TANDEM_NUMBER_OP(logical_or)
TANDEM_NUMBER_OP(logical_xor)
TANDEM_NUMBER_OP(bitwise_and)
TANDEM_NUMBER_OP(bitwise_or)
TANDEM_NUMBER_OP(bitwise_xor)
Tensor Tensor::div(const Scalar& other) const { return div(beside_divided(*this, other)); }
Tensor operator/(const Scalar& a, const Tensor& b) { return beside_divided(b, a).div(b); }
Tensor Tensor::pow(const Scalar& other) const {
  const DType type = result_type(*this, other);
  TANDEM_CHECK(tandem::is_floating_point(type) || other.to_int64() >= 0, "pow: ", dtype(), " to the power of ", other,
               "; accepted: a power of 0 or more, or one of a floating dtype");
  check_holds("pow", type, other);
  if (other.to_double() == 0 && autograd::any_wants_grad({*this})) {  // its derivative has none, as in PyTorch
    const Tensor y = ones_like(*this, TensorOptions(type));
    return record("pow", y, {*this}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  }
  return pow(beside(*this, other));
}

}  // namespace tandem
