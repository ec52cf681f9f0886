#include "tandem/autograd/elementwise.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/argument.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/thread_pool.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/kernels/fill.h"

namespace tandem {
using detail::check_holds, detail::check_real;
namespace {

int category(DType t) { return is_floating_point(t) ? 2 : is_integer(t) ? 1 : 0; }

/// An operation on floating types: integers and bool become the default floating dtype first.
Tensor floating(const Tensor& x) { return x.is_floating_point() ? x : x.to(get_default_dtype()); }
/// A number as a 0-dim tensor beside x, in the dtype of the result. Beside a GPU's tensor it stays on the host, from
/// which the kernel's launch takes it along.
Tensor beside(const Tensor& x, const Scalar& s) {
  return core::scalar(s, result_type(x, s), x.is_cuda() ? Device(kCPU) : x.device());
}

/// As beside, for true division: never an integer, of which the number might be more than the dtype holds.
Tensor beside_divided(const Tensor& x, const Scalar& s) {
  const DType type = result_type(x, s);
  return core::scalar(s, is_floating_point(type) ? type : get_default_dtype(), x.is_cuda() ? Device(kCPU) : x.device());
}
/// An integer has no quotient and no rest by 0. On a GPU, where a check would have to wait, both are 0; a divisor on
/// the host is checked for it too.
void check_divisor(const char* op, const Tensor& b, const Shape& sizes) {
  if (is_floating_point(b.dtype()) || !b.is_cpu() || numel_of(sizes) == 0) return;
  const Tensor divisors = b.contiguous();
  std::atomic<bool> zero = false;
  visit_dtype(b.dtype(), [&]<class T>() {
    parallel_for(divisors.numel(), 65536, [&zero, p = divisors.data<T>()](int64_t begin, int64_t end) {
      bool found = false;
      for (int64_t i = begin; i < end; ++i) found |= p[i] == T(0);
      if (found) zero = true;
    });
  });
  TANDEM_CHECK(!zero, op, ": ", b.dtype(), " is divided by 0; accepted: a divisor without zeros, or a floating dtype");
}
void check_no_bool(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.dtype() != kBool, op, ": dtype is bool; accepted: numbers");
}

/// x, or a number on the host that stands beside a GPU's tensor: moved there if a gradient is to come back.
Tensor placed(const Tensor& x, Device device) {
  const bool number = device.is_cuda() && x.is_cpu() && x.dim() == 0;
  return number && autograd::wants_grad(x) ? x.to(device) : x;
}
/// Where two tensors are combined: both must be there, but for a 0-dim CPU tensor beside a GPU's.
Device common_device(const char* op, const Tensor& a, const Tensor& b) {
  if (a.is_cuda() && b.is_cpu() && b.dim() == 0) return a.device();
  if (b.is_cuda() && a.is_cpu() && a.dim() == 0) return b.device();
  TANDEM_CHECK(a.device() == b.device(), op, ": a is on ", a.device(), " and b on ", b.device(),
               "; both must be on one device");
  return a.device();
}
struct Operands {
  Tensor a, b;
  Shape sizes;
  Device device;
};
/// Both in the common dtype (a floating one if asked), on one device.
Operands prepare(const char* op, const Tensor& a, const Tensor& b, bool to_floating = false) {
  const Device device = common_device(op, a, b);
  DType type = a.dtype() == b.dtype() ? a.dtype() : result_type(a, b);
  if (to_floating && !is_floating_point(type)) type = get_default_dtype();
  return {placed(a, device).to(type), placed(b, device).to(type),
          a.sizes() == b.sizes() ? Shape(a.sizes()) : broadcast_shapes(op, a.sizes(), b.sizes()), device};
}

Tensor like(const Operands& o, DType dtype) { return core::empty(o.sizes, dtype, o.device); }

}  // namespace

DType result_type(const Tensor& a, const Tensor& b) {
  if ((a.dim() == 0) == (b.dim() == 0)) return promote_types(a.dtype(), b.dtype());
  const Tensor& ranked = a.dim() ? a : b;  // the one with dimensions decides unless the other's kind is higher
  const Tensor& plain = a.dim() ? b : a;
  return category(plain.dtype()) > category(ranked.dtype()) ? promote_types(ranked.dtype(), plain.dtype())
                                                            : ranked.dtype();
}
DType result_type(const Tensor& a, const Scalar& b) {
  return category(b.dtype()) > category(a.dtype()) ? b.dtype() : a.dtype();
}

void check_subtraction(const char* op, bool either_is_bool) {
  TANDEM_CHECK(!either_is_bool, op, ": a bool is not subtracted, nor subtracted from; use logical_xor or logical_not");
}
void check_alpha(const char* op, DType result, const Scalar& alpha) {
  TANDEM_CHECK(!alpha.is_boolean() || result == kBool, op, ": alpha is a bool and the result ", result,
               "; accepted: a number");
  TANDEM_CHECK(!alpha.is_floating_point() || is_floating_point(result), op, ": alpha is the floating-point number ",
               alpha, " and the result ", result, "; accepted: an integer");
  check_holds(op, result, alpha);
}

// ---- unary: (name, what it saves and its derivative)

#define TANDEM_UNARY_OP(name, input, saved_tensor, ...)                                                               \
  Tensor Tensor::name() const {                                                                                       \
    const Tensor x = input(*this);                                                                                    \
    Tensor y = core::empty(x.sizes(), x.dtype(), x.device());                                                         \
    TANDEM_DISPATCH(x.device(), name, x, y);                                                                          \
    return record(#name, y, {x}, {saved_tensor}, [](const Context& ctx, [[maybe_unused]] const Tensor& dy) -> Grads { \
      [[maybe_unused]] const Tensor s = ctx.saved(0);                                                                 \
      return {__VA_ARGS__};                                                                                           \
    });                                                                                                               \
  }
namespace {
auto numbers(const char* op) {
  return [op](const Tensor& x) -> const Tensor& { return check_no_bool(op, x), x; };
}
auto real_only(const char* op) {
  return [op](const Tensor& x) -> const Tensor& { return check_real(op, x), x; };
}
Tensor bool_as_integer(const Tensor& x) { return x.dtype() == kBool ? x.to(kInt64) : x; }
/// In a backward that records nothing, a gradient that the engine alone holds will be read by nobody else: its memory
/// takes the result.
Tensor relu_gradient(const Tensor& dy, const Tensor& y) {
  const bool alone = dy.use_count() == 1 && dy.storage()->use_count() == 1 && dy.is_contiguous() && y.is_contiguous();
  if (is_grad_enabled() || !alone) return relu_backward(dy, y);
  Tensor dx = dy;
  TANDEM_DISPATCH(y.device(), relu_backward, dy, y, dx);
  return dx;
}
}  // namespace
TANDEM_UNARY_OP(abs, numbers("abs"), x, dy* s.sign())
TANDEM_UNARY_OP(square, bool_as_integer, x, dy * 2 * s)
TANDEM_UNARY_OP(relu, numbers("relu"), y, relu_gradient(dy, s))
Tensor Tensor::sign() const {
  if (dtype() == kBool) return clone();
  const Tensor& x = *this;
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), sign, x, y);
  return record("sign", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
}
TANDEM_UNARY_OP(exp, floating, y, dy* s)
TANDEM_UNARY_OP(expm1, floating, y, dy*(s + 1))
TANDEM_UNARY_OP(log, floating, x, dy / s)
TANDEM_UNARY_OP(log1p, floating, x, dy / (s + 1))
TANDEM_UNARY_OP(log2, floating, x, dy / (s * std::numbers::ln2))
TANDEM_UNARY_OP(log10, floating, x, dy / (s * std::numbers::ln10))
TANDEM_UNARY_OP(sqrt, floating, y, dy / (s * 2))
TANDEM_UNARY_OP(rsqrt, floating, y, dy* s* s* s * -0.5)
TANDEM_UNARY_OP(sin, floating, x, dy* s.cos())
TANDEM_UNARY_OP(cos, floating, x, dy* s.sin().neg())
TANDEM_UNARY_OP(tan, floating, y, dy*(s* s + 1))
TANDEM_UNARY_OP(tanh, floating, y, tanh_backward(dy, s))
TANDEM_UNARY_OP(sigmoid, floating, y, sigmoid_backward(dy, s))
TANDEM_UNARY_OP(erf, floating, x, dy*(s* s).neg().exp() * (2 * std::numbers::inv_sqrtpi))
TANDEM_UNARY_OP(erfc, floating, x, dy*(s* s).neg().exp() * (-2 * std::numbers::inv_sqrtpi))
TANDEM_UNARY_OP(reciprocal, floating, y, dy* s* s.neg())

// These save nothing, so that backward may go through them a second time.
#define TANDEM_UNSAVED_OP(name, input, gradient)                                                            \
  Tensor Tensor::name() const {                                                                             \
    const Tensor x = input(*this);                                                                          \
    Tensor y = core::empty(x.sizes(), x.dtype(), x.device());                                               \
    TANDEM_DISPATCH(x.device(), name, x, y);                                                                \
    return record(#name, y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {gradient}; }); \
  }
TANDEM_UNSAVED_OP(neg, numbers("neg"), dy.neg())
TANDEM_UNSAVED_OP(frac, real_only("frac"), dy)

// Steps have no slope: their gradient is zero.
#define TANDEM_STEP_OP(name)                                                                                      \
  Tensor Tensor::name() const {                                                                                   \
    check_no_bool(#name, *this);                                                                                  \
    if (!is_floating_point()) return clone();                                                                     \
    const Tensor& x = *this;                                                                                      \
    Tensor y = core::empty(x.sizes(), x.dtype(), x.device());                                                     \
    TANDEM_DISPATCH(x.device(), name, x, y);                                                                      \
    return record(#name, y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; }); \
  }
TANDEM_STEP_OP(floor)
TANDEM_STEP_OP(ceil)
TANDEM_STEP_OP(trunc)
TANDEM_STEP_OP(round)

#define TANDEM_PREDICATE_OP(name, of_integers)                                           \
  Tensor Tensor::name() const {                                                          \
    if (!is_floating_point()) return full(sizes(), of_integers, options().dtype(kBool)); \
    const Tensor& x = *this;                                                             \
    Tensor y = core::empty(x.sizes(), kBool, x.device());                                \
    TANDEM_DISPATCH(x.device(), name, x, y);                                             \
    return y;                                                                            \
  }
TANDEM_PREDICATE_OP(isnan, false)
TANDEM_PREDICATE_OP(isinf, false)
TANDEM_PREDICATE_OP(isfinite, true)
Tensor Tensor::logical_not() const {
  const Tensor& x = *this;
  Tensor y = core::empty(x.sizes(), kBool, x.device());
  TANDEM_DISPATCH(x.device(), logical_not, x, y);
  return y;
}
Tensor Tensor::bitwise_not() const {
  const Tensor& x = *this;
  TANDEM_CHECK(!is_floating_point(), "bitwise_not: dtype is ", dtype(), "; accepted: integers and bool");
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), bitwise_not, x, y);
  return y;
}

// ---- binary

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

// ---- selection and clamping

namespace {
Tensor choose(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b) {
  TANDEM_CHECK(condition.dtype() == kBool, op, ": condition is ", condition.dtype(), "; accepted: bool");
  const Operands o = prepare(op, a, b);
  const Device device = common_device(op, condition, o.device.is_cuda() == a.is_cuda() ? a : b);
  Tensor y = core::empty(broadcast_shapes(op, condition.sizes(), o.sizes), o.a.dtype(), device);
  TANDEM_DISPATCH(y.device(), where, condition, o.a, o.b, y);
  return record("where", y, {o.a, o.b}, {condition}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor condition = ctx.saved(0);
    return {ctx.needs_grad(0) ? where(condition, dy, Scalar(0)) : Tensor(),
            ctx.needs_grad(1) ? where(condition, Scalar(0), dy) : Tensor()};
  });
}
}  // namespace
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) { return choose("where", condition, a, b); }
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  check_holds("where", result_type(b, a), a);
  return where(condition, beside(b, a), b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  check_holds("where", result_type(a, b), b);
  return where(condition, a, beside(a, b));
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::masked_fill(const Tensor& mask, const Scalar& value) const {
  TANDEM_CHECK(mask.dtype() == kBool, "masked_fill: mask is ", mask.dtype(), "; accepted: bool");
  check_holds("masked_fill", dtype(), value);
  return choose("masked_fill", mask, core::scalar(value, dtype(), is_cuda() ? Device(kCPU) : device()), *this);
}

DType clamped_type(const Tensor& x, const std::optional<Scalar>& min, const std::optional<Scalar>& max) {
  DType type = x.dtype();
  for (const std::optional<Scalar>& bound : {min, max})
    if (bound && category(bound->dtype()) > category(type)) type = bound->dtype();
  TANDEM_CHECK(type != kBool, "clamp: dtype is bool; accepted: numbers");
  return type;
}
Tensor Tensor::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  TANDEM_CHECK(min || max, "clamp: neither min nor max was given");
  if (const DType type = clamped_type(*this, min, max); type != dtype()) return to(type).clamp(min, max);
  const Tensor& x = *this;
  // A bound that is missing, or beyond what the dtype holds, is the dtype's own.
  const auto bound = [&](const std::optional<Scalar>& given, bool is_low) -> Scalar {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (is_floating_point()) return given.value_or(is_low ? -kInfinity : kInfinity);
    return visit_dtype(dtype(), [&]<class T>() -> Scalar {
      if constexpr (std::is_integral_v<T>) {
        const int64_t least = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
        const int64_t wanted = given ? given->to_int64() : is_low ? least : most;
        TANDEM_CHECK(is_low ? wanted <= most : wanted >= least, "clamp: ", is_low ? "min" : "max", " is ", wanted,
                     ", beyond all that ", dtype(), " holds; accepted: ", least, " to ", most);
        return std::clamp(wanted, least, most);
      } else {
        return 0;
      }
    });
  };
  const Scalar low = bound(min, true), high = bound(max, false);
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(low.to_double()) || std::isnan(high.to_double())) {
    TANDEM_DISPATCH(y.device(), fill, nan, y);
    return record("clamp", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  }
  TANDEM_DISPATCH(y.device(), clamp, x, low, high, y);
  return record("clamp", y, {x}, {x},
                [low = min.value_or(nan), high = max.value_or(nan)](const Context& ctx, const Tensor& dy) -> Grads {
                  return {clamp_backward(dy, ctx.saved(0), low, high)};
                });
}
Tensor Tensor::clamp(const Tensor& min, const Tensor& max) const {
  TANDEM_CHECK(min.defined() || max.defined(), "clamp: neither min nor max was given");
  for (const Tensor& bound : {min, max})
    if (bound.defined()) broadcast_shapes("clamp", sizes(), bound.sizes()), common_device("clamp", *this, bound);
  if (!max.defined()) return maximum(min);
  if (!min.defined()) return minimum(max);
  Tensor y;
  {
    const NoGradGuard guard;
    y = maximum(min).minimum(max);
  }
  // At a bound x shares the gradient with it, half to each, unless the bounds are equal. A NaN is passed on by x.
  return record("clamp", y, {*this, min, max}, {*this, min, max}, [](const Context& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), low = ctx.saved(1), high = ctx.saved(2);
    const Tensor ordered = low <= high, apart = low < high;
    const Tensor shared = dy * 0.5;
    Tensor dx, dlow, dhigh;
    if (ctx.needs_grad(0))
      dx = tandem::where((x < low) | (x > high), 0, tandem::where(apart & ((x == low) | (x == high)), shared, dy));
    if (ctx.needs_grad(1)) dlow = tandem::where(ordered & (x < low), dy, tandem::where(apart & (x == low), shared, 0));
    if (ctx.needs_grad(2))
      dhigh = tandem::where((ordered & (x > high)) | (low > high), dy, tandem::where(apart & (x == high), shared, 0));
    return {dx, dlow, dhigh};
  });
}
Tensor clamp_backward(const Tensor& dy, const Tensor& x, const Scalar& low, const Scalar& high) {
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), clamp_backward, dy, x, low, high, dx);
  return record("clamp_backward", dx, {dy}, {x}, [low, high](const Context& ctx, const Tensor& ddx) -> Grads {
    return {clamp_backward(ddx, ctx.saved(0), low, high)};
  });
}

// ---- activations and their gradients

Tensor leaky_relu(const Tensor& x, double slope) {
  TANDEM_CHECK(x.is_floating_point(), "leaky_relu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), leaky_relu, x, slope, y);
  return record("leaky_relu", y, {x}, {x}, [slope](const Context& ctx, const Tensor& dy) -> Grads {
    return {leaky_relu_backward(dy, ctx.saved(0), slope)};
  });
}
Tensor leaky_relu_backward(const Tensor& dy, const Tensor& x, double slope) {
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), leaky_relu_backward, dy, x, slope, dx);
  return record("leaky_relu_backward", dx, {dy, x}, {x}, [slope](const Context& ctx, const Tensor& ddx) -> Grads {
    const Tensor x = ctx.saved(0);
    return {leaky_relu_backward(ddx, x, slope), ctx.needs_grad(1) ? zeros_like(x) : Tensor()};
  });
}
Tensor elu(const Tensor& x, double alpha) {
  TANDEM_CHECK(x.is_floating_point(), "elu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), elu, x, alpha, y);
  return record("elu", y, {x}, {x}, [alpha](const Context& ctx, const Tensor& dy) -> Grads {
    return {elu_backward(dy, ctx.saved(0), alpha)};
  });
}
Tensor elu_backward(const Tensor& dy, const Tensor& x, double alpha) {
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), elu_backward, dy, x, alpha, dx);
  return record("elu_backward", dx, {dy, x}, {dy, x}, [alpha](const Context& ctx, const Tensor& ddx) -> Grads {
    const Tensor dy = ctx.saved(0), x = ctx.saved(1);
    return {elu_backward(ddx, x, alpha),
            ctx.needs_grad(1) ? where(x < 0, ddx * dy * x.exp() * alpha, Scalar(0)) : Tensor()};
  });
}
Tensor silu(const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), "silu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), silu, x, y);
  return record("silu", y, {x}, {x},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {silu_backward(dy, ctx.saved(0))}; });
}
Tensor gelu(const Tensor& x) {
  TANDEM_CHECK(x.is_floating_point(), "gelu: x must be floating point, got ", x.dtype());
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), gelu, x, y);
  return record("gelu", y, {x}, {x},
                [](const Context& ctx, const Tensor& dy) -> Grads { return {gelu_backward(dy, ctx.saved(0))}; });
}
Tensor softplus(const Tensor& x, double beta, double threshold) {
  TANDEM_CHECK(x.is_floating_point(), "softplus: x must be floating point, got ", x.dtype());
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), softplus, x, beta, threshold, y);
  return record("softplus", y, {x}, {x}, [beta, threshold](const Context& ctx, const Tensor& dy) -> Grads {
    return {softplus_backward(dy, ctx.saved(0), beta, threshold)};
  });
}
Tensor softplus_backward(const Tensor& dy, const Tensor& x, double beta, double threshold) {
  Tensor dx = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), softplus_backward, dy, x, beta, threshold, dx);
  return record("softplus_backward", dx, {dy, x}, {dy, x},
                [beta, threshold](const Context& ctx, const Tensor& ddx) -> Grads {
                  const Tensor dy = ctx.saved(0), x = ctx.saved(1);
                  Tensor second;
                  if (ctx.needs_grad(1)) {
                    const Tensor scaled = x * beta, s = scaled.sigmoid();
                    second = where(scaled > threshold, 0, ddx * dy * s * (1 - s) * beta);
                  }
                  return {softplus_backward(ddx, x, beta, threshold), second};
                });
}

#define TANDEM_GRADIENT_OP(name, second)                                                            \
  Tensor name(const Tensor& dy, const Tensor& y) {                                                  \
    Tensor dx = core::empty(y.sizes(), y.dtype(), y.device());                                      \
    TANDEM_DISPATCH(y.device(), name, dy, y, dx);                                                   \
    return record(#name, dx, {dy, y}, {dy, y}, [](const Context& ctx, const Tensor& ddx) -> Grads { \
      const Tensor dy = ctx.saved(0), y = ctx.saved(1);                                             \
      return {name(ddx, y), second};                                                                \
    });                                                                                             \
  }
namespace {
/// of x Phi(x): (2 - x^2) density(x)
Tensor gelu_curvature(const Tensor& x) {
  const Tensor square = x.square();
  return (2 - square) * (square * -0.5).exp() * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
}
Tensor silu_curvature(const Tensor& x) {
  const Tensor s = x.sigmoid();
  return s * (1 - s) * (x * (1 - s * 2) + 2);
}
}  // namespace
TANDEM_GRADIENT_OP(gelu_backward, ctx.needs_grad(1) ? ddx* dy* gelu_curvature(y) : Tensor())
TANDEM_GRADIENT_OP(silu_backward, ctx.needs_grad(1) ? ddx* dy* silu_curvature(y) : Tensor())
TANDEM_GRADIENT_OP(relu_backward, ctx.needs_grad(1) ? zeros_like(y) : Tensor())
TANDEM_GRADIENT_OP(sigmoid_backward, ctx.needs_grad(1) ? ddx* dy*(1 - y * 2) : Tensor())
TANDEM_GRADIENT_OP(tanh_backward, ctx.needs_grad(1) ? ddx* dy* y * -2 : Tensor())

}  // namespace tandem
