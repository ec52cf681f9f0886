// Elementwise operations of one operand.
#include <numbers>

#include "tandem/core/dispatch.h"
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/factory.h"
#include "tandem/ops/operands.h"

namespace tandem {
using namespace detail;

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
  const bool alone = dy.use_count() == 1 && dy.storage()->is_alone() && dy.is_contiguous() && y.is_contiguous();
  if (is_grad_enabled() || !alone) return relu_backward(dy, y);
  Tensor dx = dy;
  TANDEM_DISPATCH(y.device(), relu_backward, dy, y, dx);
  return dx;
}
}  // namespace
// clang-format off
TANDEM_UNARY_OP(abs, numbers("abs"), x, dy * s.sign())
TANDEM_UNARY_OP(square, bool_as_integer, x, dy * 2 * s)
TANDEM_UNARY_OP(relu, numbers("relu"), y, relu_gradient(dy, s))
// clang-format on
Tensor Tensor::sign() const {
  if (dtype() == kBool) return clone();
  const Tensor& x = *this;
  Tensor y = core::empty(x.sizes(), x.dtype(), x.device());
  TANDEM_DISPATCH(x.device(), sign, x, y);
  return record("sign", y, {x}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
}
// clang-format off
TANDEM_UNARY_OP(exp, floating, y, dy * s)
TANDEM_UNARY_OP(expm1, floating, y, dy * (s + 1))
TANDEM_UNARY_OP(log, floating, x, dy / s)
TANDEM_UNARY_OP(log1p, floating, x, dy / (s + 1))
TANDEM_UNARY_OP(log2, floating, x, dy / (s * std::numbers::ln2))
TANDEM_UNARY_OP(log10, floating, x, dy / (s * std::numbers::ln10))
TANDEM_UNARY_OP(sqrt, floating, y, dy / (s * 2))
TANDEM_UNARY_OP(rsqrt, floating, y, dy * s * s * s * -0.5)
TANDEM_UNARY_OP(sin, floating, x, dy * s.cos())
TANDEM_UNARY_OP(cos, floating, x, dy * s.sin().neg())
TANDEM_UNARY_OP(tan, floating, y, dy * (s * s + 1))
TANDEM_UNARY_OP(tanh, floating, y, tanh_backward(dy, s))
TANDEM_UNARY_OP(sigmoid, floating, y, sigmoid_backward(dy, s))
TANDEM_UNARY_OP(erf, floating, x, dy * (s * s).neg().exp() * (2 * std::numbers::inv_sqrtpi))
TANDEM_UNARY_OP(erfc, floating, x, dy * (s * s).neg().exp() * (-2 * std::numbers::inv_sqrtpi))
TANDEM_UNARY_OP(reciprocal, floating, y, dy * s * s.neg())
// clang-format on

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

}  // namespace tandem
