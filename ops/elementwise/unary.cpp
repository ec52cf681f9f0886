// Elementwise operations of one operand: the list in core/elementwise_ops.h.
#include <numbers>

#include "tandem/autograd/inplace.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/special.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/out.h"

namespace tandem {
using namespace detail;

namespace {

enum class Saves { nothing, input, output };
/// A line of the list.
struct UnaryOp {
  const char *name, *inplace_name, *out_name;
  Accepts accepts;
  Saves saves;
  bool gives_bool;
  void (*run)(const Tensor& x, Tensor& y);
  Tensor (*derivative)(const Tensor& dy, const Tensor& s);  // null: it has none
};

/// x as op computes with it.
Tensor operand(const UnaryOp& op, const char* name, const Tensor& x) {
  if (op.accepts == Accepts::floating) return floating(x);
  if (op.accepts == Accepts::counted) return x.dtype() == kBool ? x.to(kInt64) : x;
  check_accepted(name, op.accepts, x.dtype());
  return x;
}
bool is_rounded_already(const UnaryOp& op, const Tensor& x) {
  return op.accepts == Accepts::rounded && !x.is_floating_point();
}
DType result_type(const UnaryOp& op, const Tensor& x) { return op.gives_bool ? kBool : x.dtype(); }

Tensor unary(const UnaryOp& op, const Tensor& input) {
  const Tensor x = operand(op, op.name, input);
  if (is_rounded_already(op, x)) return x.clone();
  Tensor y = core::empty_for(x.sizes(), result_type(op, x), x.device(), x);
  op.run(x, y);
  if (!op.derivative || !autograd::any_wants_grad({x})) return y;
  const Tensor none;
  return record(op.name, y, {x},
                {op.saves == Saves::input    ? x
                 : op.saves == Saves::output ? y
                                             : none},
                [&op](const Context& ctx, const Tensor& dy) -> Grads {
                  // What saved nothing may be gone through a second time.
                  return {op.derivative(dy, op.saves == Saves::nothing ? Tensor() : ctx.saved(0))};
                });
}
Tensor& unary_inplace(const UnaryOp& op, Tensor& x) {
  const bool promotes = op.accepts == Accepts::floating || op.accepts == Accepts::counted;
  check_accepted(op.inplace_name,
                 !promotes                         ? op.accepts
                 : op.accepts == Accepts::floating ? Accepts::real
                                                   : Accepts::numbers,
                 x.dtype());
  const auto direct = [&] {
    if (is_rounded_already(op, x)) return;
    if (result_type(op, x) == x.dtype()) return op.run(x, x);
    const NoGradGuard guard;
    copy_elements(unary(op, x), x);
  };
  // x is written over, so what backward needs of it is kept as a copy.
  const auto beside = [&](const Tensor& old) {
    return unary(op, op.saves == Saves::input ? old.clone() : old).to(x.dtype());
  };
  const AutoGradMode mode(is_grad_enabled() && op.derivative);  // without one x keeps its history, as in PyTorch
  return autograd::inplace(op.inplace_name, x, {}, direct, beside);
}
Tensor& unary_out(const UnaryOp& op, Tensor& out, const Tensor& input) {
  const Tensor none;  // what has no derivative loses none
  check_out(op.out_name, out, {op.derivative ? input : none});
  const Tensor x = operand(op, op.out_name, input);
  const bool converts = op.gives_bool || op.accepts == Accepts::floating || op.accepts == Accepts::counted;
  TANDEM_CHECK(converts || out.dtype() == x.dtype(), op.out_name, ": out is ", out.dtype(), " and the result ",
               x.dtype(), "; both must be of one dtype");  // PyTorch's ops convert none but these either
  return write_out(op.out_name, out, {x}, x.sizes(), result_type(op, x), x.device(),
                   [&](Tensor& y) { is_rounded_already(op, x) ? copy_elements(x, y) : op.run(x, y); });
}

// ---- the derivatives: dx of dy and of s, which is what the list says is saved

namespace derivative {
#define X(name, ...) Tensor name(const Tensor& dy, const Tensor& s);
TANDEM_UNARY_OPS(X)
TANDEM_SPECIAL_OPS(X)
#undef X
}  // namespace derivative
/// In a backward that records nothing, a gradient that the engine alone holds will be read by nobody else: its memory
/// takes the result.
Tensor relu_gradient(const Tensor& dy, const Tensor& y) {
  const bool alone =
      dy.use_count() == 1 && dy.storage()->is_alone() && dy.strides() == y.strides() && core::is_dense(*y.impl());
  if (is_grad_enabled() || !alone) return relu_backward(dy, y);
  Tensor dx = dy;
  TANDEM_DISPATCH(y.device(), relu_backward, dy, y, dx);
  return dx;
}
/// y / x of a function that is x / 2 beside 0.
Tensor quotient_of_odd(const Tensor& y, const Tensor& x) {
  const Tensor zero = x == 0;
  return (y / x.masked_fill(zero, 1)).masked_fill(zero, 0.5);
}
// clang-format off
#define TANDEM_DERIVATIVE(name) Tensor derivative::name(const Tensor& dy, [[maybe_unused]] const Tensor& s)
TANDEM_DERIVATIVE(abs)        { return dy * s.sign(); }
TANDEM_DERIVATIVE(neg)        { return dy.neg(); }
TANDEM_DERIVATIVE(exp)        { return dy * s; }
TANDEM_DERIVATIVE(expm1)      { return dy * (s + 1); }
TANDEM_DERIVATIVE(log)        { return dy / s; }
TANDEM_DERIVATIVE(log1p)      { return dy / (s + 1); }
TANDEM_DERIVATIVE(log2)       { return dy / (s * std::numbers::ln2); }
TANDEM_DERIVATIVE(log10)      { return dy / (s * std::numbers::ln10); }
TANDEM_DERIVATIVE(sqrt)       { return dy / (s * 2); }
TANDEM_DERIVATIVE(rsqrt)      { return dy * s * s * s * -0.5; }
TANDEM_DERIVATIVE(sin)        { return dy * s.cos(); }
TANDEM_DERIVATIVE(cos)        { return dy * s.sin().neg(); }
TANDEM_DERIVATIVE(tan)        { return dy * (s * s + 1); }
TANDEM_DERIVATIVE(tanh)       { return tanh_backward(dy, s); }
TANDEM_DERIVATIVE(sigmoid)    { return sigmoid_backward(dy, s); }
TANDEM_DERIVATIVE(erf)        { return (s * s).neg().exp() * dy * (2 * std::numbers::inv_sqrtpi); }
TANDEM_DERIVATIVE(erfc)       { return (s * s).neg().exp() * dy * (-2 * std::numbers::inv_sqrtpi); }
TANDEM_DERIVATIVE(reciprocal) { return dy * s * s.neg(); }
TANDEM_DERIVATIVE(square)     { return dy * 2 * s; }
TANDEM_DERIVATIVE(sign)       { return zeros_like(dy); }
TANDEM_DERIVATIVE(floor)      { return zeros_like(dy); }
TANDEM_DERIVATIVE(ceil)       { return zeros_like(dy); }
TANDEM_DERIVATIVE(round)      { return zeros_like(dy); }
TANDEM_DERIVATIVE(trunc)      { return zeros_like(dy); }
TANDEM_DERIVATIVE(frac)       { return dy; }
TANDEM_DERIVATIVE(relu)       { return relu_gradient(dy, s); }
TANDEM_DERIVATIVE(silu)       { return silu_backward(dy, s); }
TANDEM_DERIVATIVE(gelu)       { return gelu_backward(dy, s); }
TANDEM_DERIVATIVE(softsign)   { return dy / (s.abs() + 1).square(); }
TANDEM_DERIVATIVE(exp2)       { return dy * s * std::numbers::ln2; }
TANDEM_DERIVATIVE(asin)       { return dy * (1 - s * s).rsqrt(); }
TANDEM_DERIVATIVE(acos)       { return dy * (1 - s * s).rsqrt().neg(); }
TANDEM_DERIVATIVE(atan)       { return dy / (s * s + 1); }
TANDEM_DERIVATIVE(sinh)       { return dy * s.cosh(); }
TANDEM_DERIVATIVE(cosh)       { return dy * s.sinh(); }
TANDEM_DERIVATIVE(asinh)      { return dy * (s * s + 1).rsqrt(); }
TANDEM_DERIVATIVE(acosh)      { return dy * (s * s - 1).rsqrt(); }
TANDEM_DERIVATIVE(atanh)      { return dy / (1 - s * s); }
TANDEM_DERIVATIVE(erfinv)     { return s.erfinv().square().exp() * (0.5 / std::numbers::inv_sqrtpi) * dy; }
TANDEM_DERIVATIVE(lgamma)     { return dy * s.digamma(); }
TANDEM_DERIVATIVE(digamma)    { return dy * s.polygamma(1); }
TANDEM_DERIVATIVE(i0)         { return dy * special_i1(s); }
TANDEM_DERIVATIVE(special_erfcx) { return dy * (s * special_erfcx(s) * 2 - 2 * std::numbers::inv_sqrtpi); }
TANDEM_DERIVATIVE(special_ndtri) { return dy * (s * s * 0.5).exp() * (std::numbers::sqrt2 / std::numbers::inv_sqrtpi); }
TANDEM_DERIVATIVE(special_i0e)   { return dy * (special_i1e(s) - s.sign() * special_i0e(s)); }
TANDEM_DERIVATIVE(special_i1)    { return dy * (s.i0() - quotient_of_odd(special_i1(s), s)); }
TANDEM_DERIVATIVE(special_i1e)   { const Tensor y = special_i1e(s);
                                   return dy * (special_i0e(s) - s.sign() * y - quotient_of_odd(y, s)); }
// clang-format on

// ---- from the list, the lines as values, and all forms

namespace line {
#define TANDEM_LINE(name, accepts, saves, gives_bool, derivative)                                     \
  constexpr UnaryOp name{#name,                                                                       \
                         #name "_",                                                                   \
                         #name "_out",                                                                \
                         Accepts::accepts,                                                            \
                         Saves::saves,                                                                \
                         gives_bool,                                                                  \
                         [](const Tensor& x, Tensor& y) { TANDEM_DISPATCH(y.device(), name, x, y); }, \
                         derivative};
#define X(name, F, accepts, saves, what) TANDEM_LINE(name, accepts, saves, false, derivative::name)
TANDEM_UNARY_OPS(X)
TANDEM_SPECIAL_OPS(X)
#undef X
TANDEM_LINE(logical_not, any, nothing, true, nullptr)
TANDEM_LINE(bitwise_not, integral, nothing, false, nullptr)
}  // namespace line
}  // namespace

#define X(name, ...)                                                            \
  Tensor Tensor::name() const { return unary(line::name, *this); }              \
  Tensor& Tensor::name##_() const { return unary_inplace(line::name, self()); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return unary_out(line::name, out, x); }
TANDEM_ALL_UNARY_OPS(X)
#undef X
#define X(name, ...)                                            \
  Tensor name(const Tensor& x) { return unary(line::name, x); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return unary_out(line::name, out, x); }
TANDEM_SPECIAL_OPS(X)
#undef X
#define X(name, ...)                                             \
  Tensor Tensor::name() const {                                  \
    Tensor y = core::empty_for(sizes(), kBool, device(), *this); \
    TANDEM_DISPATCH(device(), name, *this, y);                   \
    return y;                                                    \
  }
TANDEM_PREDICATE_OPS(X)
#undef X

}  // namespace tandem
