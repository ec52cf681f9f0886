// Arithmetic, comparisons and logic of two operands: the lists in core/elementwise_ops.h, and what takes an alpha.
#include "tandem/autograd/inplace.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/formula_inplace.h"
#include "tandem/ops/elementwise/special.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/out.h"

namespace tandem {
using namespace detail;

namespace {

/// What a gradient needs, as bits.
enum class Saves : unsigned { nothing = 0, x = 1, y = 2, x_y = 3, output = 4, x_y_output = 7 };
Saves operator|(Saves a, Saves b) { return Saves(unsigned(a) | unsigned(b)); }
bool holds(Saves all, Saves one) { return unsigned(all) & unsigned(one); }
/// A line of the lists.
struct BinaryOp {
  const char *name, *inplace_name, *out_name;
  Accepts accepts;
  Saves for_x, for_y;
  bool gives_bool;
  void (*run)(const Tensor& a, const Tensor& b, Tensor& z);
  Grads (*derivative)(const Context& ctx, const Tensor& dz);  // null: it has none
};

Operands operands(const BinaryOp& op, const char* name, const Tensor& a, const Tensor& b) {
  Operands o = prepare(name, a, b, op.accepts == Accepts::floating);
  check_accepted(name, op.accepts, o.a.dtype());
  if (op.accepts == Accepts::divided) check_divisor(name, o.b, o.sizes);
  return o;
}
DType result_type(const BinaryOp& op, const Operands& o) { return op.gives_bool ? kBool : o.a.dtype(); }
/// A number as the second operand.
Tensor number(const BinaryOp& op, const char* name, const Tensor& a, const Scalar& b) {
  if (op.accepts == Accepts::powers) {
    const DType type = tandem::result_type(a, b);
    TANDEM_CHECK(is_floating_point(type) || b.to_int64() >= 0, name, ": ", a.dtype(), " to the power of ", b,
                 "; accepted: a power of 0 or more, or one of a floating dtype");
    if (!is_floating_point(type)) check_holds(name, type, b);
  }
  return op.accepts == Accepts::floating ? beside_divided(a, b) : beside(a, b);
}
/// Returns whether op is logical_and, logical_or or logical_xor. Their in-place forms are not recorded, as in PyTorch:
/// x keeps its history.
bool is_logic(const BinaryOp& op) { return op.gives_bool && std::string_view(op.name).starts_with("logical_"); }
/// What is saved: only what the gradients that are wanted ask for, so that the rest may be changed in place.
Saves saves(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  return (autograd::wants_grad(a) ? op.for_x : Saves::nothing) | (autograd::wants_grad(b) ? op.for_y : Saves::nothing);
}

/// nextafter of half types: a step is one in their bits, away from 0 or towards it.
Tensor stepped(const Tensor& a, const Tensor& b) {
  const Tensor bits = a.view(kInt16), away = (b > a) == (a > 0);
  const Tensor from_zero = where(b > 0, Scalar(1), Scalar(-0x7fff)).to(kInt16);
  const Tensor next = where(a == 0, from_zero, where(away, bits + 1, bits - 1)).view(a.dtype());
  return where(a.isnan() | b.isnan(), a + b, where(a == b, b, next));
}
void run(const BinaryOp& op, const Tensor& a, const Tensor& b, Tensor& z) {
  if (op.accepts != Accepts::stepped || !is_half(z.dtype())) return op.run(a, b, z);
  const NoGradGuard guard;
  copy_elements(stepped(a, b), z);
}

Tensor binary(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  const Operands o = operands(op, op.name, a, b);
  Tensor z = like(o, result_type(op, o));
  run(op, o.a, o.b, z);
  if (!op.derivative || !autograd::any_wants_grad({o.a, o.b})) return z;
  const Saves kept = saves(op, o.a, o.b);
  const Tensor none;
  const Tensor &a_kept = holds(kept, Saves::x) ? o.a : none, &b_kept = holds(kept, Saves::y) ? o.b : none;
  if (holds(kept, Saves::output)) return record(op.name, z, {o.a, o.b}, {a_kept, b_kept, z}, op.derivative);
  return record(op.name, std::move(z), {o.a, o.b}, {a_kept, b_kept}, op.derivative);
}
Tensor& binary_inplace(const BinaryOp& op, Tensor& a, const Tensor& b) {
  const DType type = op.gives_bool                                                      ? kBool
                     : op.accepts == Accepts::floating && !is_floating_point(a.dtype()) ? get_default_dtype()
                                                                                        : tandem::result_type(a, b);
  check_inplace_result(op.inplace_name, a, b, type);
  const auto direct = [&] {
    if (op.gives_bool || !stands_beside(a, b)) {
      const NoGradGuard guard;
      return copy_elements(binary(op, a, b), a);
    }
    check_accepted(op.inplace_name, op.accepts, a.dtype());
    if (op.accepts == Accepts::divided) check_divisor(op.inplace_name, b, a.sizes());
    run(op, a, clear_of(a, b), a);
  };
  const auto beside = [&](const Tensor& old) {
    if (op.gives_bool)  // steps, which have no slope
      return record(op.inplace_name, binary(op, old, b).to(old.dtype()), {old, b}, {},
                    [sizes = Shape(b.sizes())](const Context&, const Tensor& dz) -> Grads {
                      return {zeros_like(dz), zeros(sizes, dz.options())};
                    });
    // a is written over, so what backward needs of it is kept as a copy.
    return binary(op, holds(saves(op, old, b), Saves::x) ? old.clone() : old, b).to(old.dtype());
  };
  const AutoGradMode mode(is_grad_enabled() && !is_logic(op));
  return autograd::inplace(op.inplace_name, a, {b}, direct, beside);
}
Tensor& binary_out(const BinaryOp& op, Tensor& out, const Tensor& a, const Tensor& b) {
  const Tensor none;  // what has no derivative loses none
  check_out(op.out_name, out, {op.derivative ? a : none, op.derivative ? b : none});
  const Operands o = operands(op, op.out_name, a, b);
  return write_out(op.out_name, out, {o.a, o.b}, o.sizes, result_type(op, o), o.device,
                   [&](Tensor& z) { run(op, o.a, o.b, z); });
}

// ---- the derivatives: of dz the gradients of x and y, which are saved(0) and saved(1), with the output as saved(2)

namespace derivative {
#define X(name, ...) Grads name(const Context& ctx, const Tensor& dz);
TANDEM_BINARY_OPS(X)
TANDEM_SPECIAL_BINARY_OPS(X)
#undef X
}  // namespace derivative
#define TANDEM_DERIVATIVES(name) \
  Grads derivative::name([[maybe_unused]] const Context& ctx, [[maybe_unused]] const Tensor& dz)

TANDEM_DERIVATIVES(mul) {
  return {ctx.needs_grad(0) ? dz * ctx.saved(1) : Tensor(), ctx.needs_grad(1) ? dz * ctx.saved(0) : Tensor()};
}
TANDEM_DERIVATIVES(div) {
  const Tensor y = ctx.saved(1), dx = dz / y;
  return {dx, ctx.needs_grad(1) ? (dx * (ctx.saved(0) / y)).neg() : Tensor()};
}
TANDEM_DERIVATIVES(pow) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1);
  Tensor dx, dy;
  if (ctx.needs_grad(0)) dx = where(y == 0, zeros_like(dz), dz * y * x.pow(y - 1));
  if (ctx.needs_grad(1)) dy = dz * where((x == 0) & (y >= 0), zeros_like(dz), ctx.saved(2) * x.log());
  return {dx, dy};
}
/// The rounded quotient of x and y: its derivative is zero, whatever that of the quotient is.
Tensor rounded_quotient(const Tensor& rounded, const Tensor& x, const Tensor& y) {
  return record("rounded_quotient", rounded, {x, y}, {},
                [x = Shape(x.sizes()), y = Shape(y.sizes())](const Context&, const Tensor& dz) -> Grads {
                  return {zeros(x, dz.options()), zeros(y, dz.options())};
                });
}
TANDEM_DERIVATIVES(fmod) {
  if (!ctx.needs_grad(1)) return {dz, Tensor()};
  const Tensor x = ctx.saved(0), y = ctx.saved(1), cut = (x.detach() / y.detach()).trunc();
  return {dz, dz.neg() * rounded_quotient(cut, x, y)};
}
TANDEM_DERIVATIVES(remainder) {
  if (!ctx.needs_grad(1)) return {dz, Tensor()};
  const Tensor x = ctx.saved(0), y = ctx.saved(1), floored = x.detach().floor_divide(y.detach());
  return {dz, dz.neg() * rounded_quotient(floored, x, y)};
}
TANDEM_DERIVATIVES(floor_divide) {
  throw NotImplementedError("floor_divide has no derivative; detach what it divides");
}
/// Equal values share the gradient, as PyTorch has it: half to each. Beside a NaN both get all of it.
Grads shared(const Context& ctx, const Tensor& dz, Tensor (Tensor::*loses)(const Tensor&) const) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), half = where(x == y, dz * 0.5, dz);
  return {where((x.*loses)(y), Scalar(0), half), where((y.*loses)(x), Scalar(0), half)};
}
TANDEM_DERIVATIVES(maximum) { return shared(ctx, dz, &Tensor::lt); }
TANDEM_DERIVATIVES(minimum) { return shared(ctx, dz, &Tensor::gt); }
TANDEM_DERIVATIVES(atan2) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), total = x * x + y * y;
  const Tensor scale = where(total == 0, Scalar(0), total.reciprocal());  // at the origin 0, as in PyTorch
  return {dz * y * scale, ctx.needs_grad(1) ? dz * x.neg() * scale : Tensor()};
}
/// Of fmax and fmin: half to each where both are equal. A NaN gets nothing beside a number, and x all beside another
/// NaN.
Grads shared_by_numbers(const Context& ctx, const Tensor& dz, Tensor (Tensor::*wins)(const Tensor&) const) {
  const Tensor x = ctx.saved(0), y = ctx.saved(1), half = where(x == y, dz * 0.5, dz);
  const Tensor of_x = (x.*wins)(y) | y.isnan();
  return {where(of_x, half, Scalar(0)), where((x == y) | of_x.logical_not(), half, Scalar(0))};
}
TANDEM_DERIVATIVES(fmax) { return shared_by_numbers(ctx, dz, &Tensor::ge); }
TANDEM_DERIVATIVES(fmin) { return shared_by_numbers(ctx, dz, &Tensor::le); }
TANDEM_DERIVATIVES(nextafter) {
  return {ctx.needs_grad(0) ? where(ctx.saved(0) == ctx.saved(1), Scalar(0), dz) : Tensor(),
          ctx.needs_grad(1) ? zeros(dz.sizes(), dz.options()) : Tensor()};
}
void refuse_first(const Context& ctx, const char* op) {
  if (ctx.needs_grad(0))
    throw NotImplementedError(std::string(op) + " has no derivative for its first argument; detach it");
}
/// x^(a - 1) e^-x / Gamma(a), the slope of igamma
Tensor gamma_density(const Context& ctx) {
  const Tensor a = ctx.saved(0), x = ctx.saved(1);
  return ((a - 1) * x.log() - x - a.lgamma()).exp();
}
TANDEM_DERIVATIVES(igamma) {
  refuse_first(ctx, "igamma");
  return {Tensor(), dz * gamma_density(ctx)};
}
TANDEM_DERIVATIVES(igammac) {
  refuse_first(ctx, "igammac");
  return {Tensor(), dz.neg() * gamma_density(ctx)};
}
TANDEM_DERIVATIVES(special_zeta) {
  refuse_first(ctx, "special_zeta");
  const Tensor x = ctx.saved(0), q = ctx.saved(1);
  return {Tensor(), dz * x.neg() * special_zeta(x + 1, q)};
}

// ---- from the lists, the lines as values, and all forms

namespace line {
#define TANDEM_LINE(name, accepts, for_x, for_y, gives_bool, derivative) \
  constexpr BinaryOp name{                                               \
      #name,        #name "_",                                           \
      #name "_out", Accepts::accepts,                                    \
      Saves::for_x, Saves::for_y,                                        \
      gives_bool,   [](const Tensor& a, const Tensor& b, Tensor& z) { TANDEM_DISPATCH(z.device(), name, a, b, z); }, \
      derivative};
#define X(name, F, accepts, for_x, for_y, what) TANDEM_LINE(name, accepts, for_x, for_y, false, derivative::name)
TANDEM_BINARY_OPS(X)
TANDEM_SPECIAL_BINARY_OPS(X)
#undef X
#define X(name, F, accepts, for_x, for_y, what) TANDEM_LINE(name, accepts, for_x, for_y, false, nullptr)
TANDEM_BITWISE_OPS(X)
TANDEM_INTEGER_OPS(X)
#undef X
#define X(name, F, accepts, for_x, for_y, what) TANDEM_LINE(name, accepts, for_x, for_y, true, nullptr)
TANDEM_COMPARE_OPS(X)
#undef X
}  // namespace line

Tensor binary(const BinaryOp& op, const Tensor& a, const Scalar& b) {
  if (op.accepts == Accepts::powers && a.dtype() == kBool && b.is_boolean())
    return b.to_double() != 0 ? a.clone() : ones_like(a);
  const Tensor y = number(op, op.name, a, b);
  if (op.accepts == Accepts::powers && b.to_double() == 0 && autograd::any_wants_grad({a})) {
    const Tensor ones = ones_like(a, TensorOptions(y.dtype()));  // whose derivative has none, as in PyTorch
    return record(op.name, ones, {a}, {}, [](const Context&, const Tensor& dz) -> Grads { return {zeros_like(dz)}; });
  }
  return binary(op, a, y);
}
Tensor& binary_inplace(const BinaryOp& op, Tensor& a, const Scalar& b) {
  if (op.accepts == Accepts::powers && a.dtype() == kBool && b.is_boolean()) return a.copy_(binary(op, a, b));
  if (!op.gives_bool) check_number_held(op.inplace_name, a, b);
  if (op.accepts == Accepts::powers && b.to_double() == 0 && autograd::any_wants_grad({a}))
    return formula_inplace(op.inplace_name, a, {}, [&](const Tensor& x) { return binary(op, x, b); });
  const Tensor y = number(op, op.inplace_name, a, b);
  return binary_inplace(op, a, op.gives_bool ? y : y.to(a.dtype()));
}
}  // namespace

#define X(name, ...)                                                                                              \
  Tensor Tensor::name(const Tensor& other) const { return binary(line::name, *this, other); }                     \
  Tensor& Tensor::name##_(const Tensor& other) const { return binary_inplace(line::name, self(), other); }        \
  Tensor Tensor::name(const Scalar& other) const { return binary(line::name, *this, other); }                     \
  Tensor& Tensor::name##_(const Scalar& other) const { return binary_inplace(line::name, self(), other); }        \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b) { return binary_out(line::name, out, a, b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b) {                                             \
    return binary_out(line::name, out, a, number(line::name, #name "_out", a, b));                                \
  }
TANDEM_ALL_BINARY_OPS(X)
#undef X
#define X(name, ...)                                                                                              \
  Tensor name(const Tensor& x, const Tensor& y) { return binary(line::name, x, y); }                              \
  Tensor name(const Tensor& x, const Scalar& y) { return binary(line::name, x, y); }                              \
  Tensor name(const Scalar& x, const Tensor& y) { return binary(line::name, beside_divided(y, x), y); }           \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Tensor& y) { return binary_out(line::name, out, x, y); } \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Scalar& y) {                                             \
    return binary_out(line::name, out, x, number(line::name, #name "_out", x, y));                                \
  }                                                                                                               \
  Tensor& name##_out(Tensor& out, const Scalar& x, const Tensor& y) {                                             \
    return binary_out(line::name, out, beside_divided(y, x), y);                                                  \
  }
TANDEM_SPECIAL_BINARY_OPS(X)
#undef X
Tensor Tensor::div(const Tensor& other, std::optional<std::string_view> mode) const {
  if (!mode) return div(other);
  TANDEM_CHECK(*mode == "floor" || *mode == "trunc", "div: rounding_mode is ", *mode,
               "; accepted: floor, trunc, or none");
  const Operands o = prepare("div", *this, other);
  check_accepted("div", Accepts::numbers, o.a.dtype());
  Tensor y;
  {
    const NoGradGuard guard;
    if (*mode == "floor")
      y = o.a.floor_divide(o.b);
    else if (!tandem::is_floating_point(o.a.dtype()))
      y = (o.a - o.a.fmod(o.b)).floor_divide(o.b);
    else if (is_half(o.a.dtype()))  // whose quotient may be rounded up to a whole number
      y = o.a.to(kFloat32).div(o.b.to(kFloat32)).trunc().to(o.a.dtype());
    else
      y = o.a.div(o.b).trunc();
  }
  return rounded_quotient(y, o.a, o.b);
}
Tensor Tensor::div(const Scalar& other, std::optional<std::string_view> mode) const {
  return mode ? div(beside(*this, other), mode) : div(other);
}
Tensor& Tensor::div_(const Tensor& other, std::optional<std::string_view> mode) const {
  return formula_inplace("div_", self(), {other}, [&](const Tensor& x) { return x.div(other, mode); });
}
Tensor& Tensor::div_(const Scalar& other, std::optional<std::string_view> mode) const {
  return formula_inplace("div_", self(), {}, [&](const Tensor& x) { return x.div(other, mode); });
}
Tensor bitwise_left_shift(const Scalar& a, const Tensor& b) { return beside(b, a).bitwise_left_shift(b); }
Tensor bitwise_right_shift(const Scalar& a, const Tensor& b) { return beside(b, a).bitwise_right_shift(b); }
Tensor operator%(const Scalar& a, const Tensor& b) { return beside(b, a).remainder(b); }

namespace {
Tensor add_scaled(const char* op, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  const Operands o = prepare(op, a, b);
  check_alpha(op, o.a.dtype(), alpha);
  if (o.a.dtype() == kBool) return o.a.logical_or(alpha.to<bool>() ? o.b : o.b.logical_and(false));
  Tensor y = like(o, o.a.dtype());
  TANDEM_DISPATCH(y.device(), add, o.a, o.b, alpha, y);
  return record("add", std::move(y), {o.a, o.b}, {},
                [alpha, one = alpha.to_double() == 1](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.needs_grad(0) ? dy : Tensor(), !ctx.needs_grad(1) ? Tensor() : one ? dy : dy.mul(alpha)};
                });
}
Tensor& add_scaled_inplace(const char* op, Tensor& x, const Tensor& other, const Scalar& alpha) {
  const DType type = result_type(x, other);
  check_inplace_result(op, x, other, type);
  check_alpha(op, type, alpha);
  const auto direct = [&] {
    if (!stands_beside(x, other) || x.dtype() == kBool) {
      const NoGradGuard guard;
      return copy_elements(x.add(other, alpha), x);
    }
    const Tensor from = clear_of(x, other);
    TANDEM_DISPATCH(x.device(), add, x, from, alpha, x);
  };
  return autograd::inplace(op, x, {other}, direct,
                           [&](const Tensor& old) { return old.add(other, alpha).to(x.dtype()); });
}
Tensor& add_scaled_out(const char* op, Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  check_out(op, out, {a, b});
  const Operands o = prepare(op, a, b);
  check_alpha(op, o.a.dtype(), alpha);
  return write_out(op, out, {o.a, o.b}, o.sizes, o.a.dtype(), o.device, [&](Tensor& y) {
    if (y.dtype() == kBool) return copy_elements(o.a.add(o.b, alpha), y);
    TANDEM_DISPATCH(y.device(), add, o.a, o.b, alpha, y);
  });
}
void check_subtraction(const char* op, const Tensor& a, const Tensor& b) {
  tandem::check_subtraction(op, a.dtype() == kBool || b.dtype() == kBool);
}
/// -alpha; a bool stays one, for check_alpha to refuse.
Scalar negated(const Scalar& alpha) {
  return alpha.is_boolean()          ? alpha
         : alpha.is_floating_point() ? Scalar(-alpha.to_double())
                                     : Scalar(-alpha.to_int64());
}
/// A number to add in place: x must hold it.
Tensor addend(const char* op, const Tensor& x, const Scalar& s) {
  check_number_held(op, x, s);
  return number_beside(x.device(), s, x.dtype());
}
}  // namespace
Tensor Tensor::add(const Tensor& other, const Scalar& alpha) const { return add_scaled("add", *this, other, alpha); }
Tensor Tensor::sub(const Tensor& other, const Scalar& alpha) const {
  check_subtraction("sub", *this, other);
  return add_scaled("sub", *this, other, negated(alpha));
}
Tensor Tensor::add(const Scalar& other, const Scalar& alpha) const { return add(beside(*this, other), alpha); }
Tensor Tensor::sub(const Scalar& other, const Scalar& alpha) const {
  check_subtraction("sub", other.is_boolean());
  return sub(beside(*this, other), alpha);
}
Tensor& Tensor::add_(const Tensor& other, const Scalar& alpha) const {
  return add_scaled_inplace("add_", self(), other, alpha);
}
Tensor& Tensor::sub_(const Tensor& other, const Scalar& alpha) const {
  check_subtraction("sub_", self(), other);
  return add_scaled_inplace("sub_", self(), other, negated(alpha));
}
Tensor& Tensor::add_(const Scalar& other, const Scalar& alpha) const {
  return add_(addend("add_", self(), other), alpha);
}
Tensor& Tensor::sub_(const Scalar& other, const Scalar& alpha) const {
  check_subtraction("sub_", other.is_boolean());
  return sub_(addend("sub_", self(), other), alpha);
}
Tensor& add_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  return add_scaled_out("add_out", out, a, b, alpha);
}
Tensor& sub_out(Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha) {
  check_subtraction("sub_out", a, b);
  return add_scaled_out("sub_out", out, a, b, negated(alpha));
}
Tensor operator-(const Scalar& a, const Tensor& b) {
  check_subtraction("sub", a.is_boolean());
  return beside(b, a).sub(b);
}
Tensor pow(const Scalar& base, const Tensor& exponent) { return beside(exponent, base).pow(exponent); }
Tensor& pow_out(Tensor& out, const Scalar& base, const Tensor& exponent) {
  return assign_out("pow_out", out, exponent, [&] { return pow(base, exponent); });
}
Tensor operator/(const Scalar& a, const Tensor& b) { return beside_divided(b, a).div(b); }

}  // namespace tandem
