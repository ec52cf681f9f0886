// Functions of torch.special: erfcx, ndtri, zeta, entr, ndtr, log_ndtr, xlog1py.
#include "tandem/ops/elementwise/special.h"

#include <cmath>
#include <numbers>

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, special_erfcx, special_log_ndtr, special_ndtr, special_ndtri, special_xlog1py, special_zeta);

namespace {
namespace derivative {
TANDEM_SPECIAL_ERF_OPS(TANDEM_DECLARE_UNARY_DERIVATIVE)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_DECLARE_BINARY_DERIVATIVES)
}  // namespace derivative
// clang-format off
TANDEM_DEFINE_UNARY_DERIVATIVE(special_erfcx) { return dy * (s * special_erfcx(s) * 2 - 2 * std::numbers::inv_sqrtpi); }
TANDEM_DEFINE_UNARY_DERIVATIVE(special_ndtri) { return dy * (s * s * 0.5).exp() * (std::numbers::sqrt2 / std::numbers::inv_sqrtpi); }
// clang-format on
TANDEM_DEFINE_BINARY_DERIVATIVES(special_zeta) {
  check_first_operand_requires_no_grad(ctx, "special_zeta");
  const Tensor x = ctx.saved(0), q = ctx.saved(1);
  return {Tensor(), dz * x.neg() * special_zeta(x + 1, q)};
}

namespace op_descriptor {
TANDEM_SPECIAL_ERF_OPS(TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_DEFINE_DIFFERENTIABLE_BINARY_DESCRIPTOR)
}  // namespace op_descriptor
}  // namespace

TANDEM_SPECIAL_ERF_OPS(TANDEM_DEFINE_SPECIAL_OP)
#define TANDEM_DEFINE_SPECIAL_BINARY(name, ...)                                                      \
  Tensor name(const Tensor& x, const Tensor& y) { return run_binary_op(op_descriptor::name, x, y); } \
  Tensor name(const Tensor& x, const Scalar& y) { return run_binary_op(op_descriptor::name, x, y); } \
  Tensor name(const Scalar& x, const Tensor& y) {                                                    \
    return run_binary_op(op_descriptor::name, wrap_scalar_as_floating(y, x), y);                     \
  }                                                                                                  \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Tensor& y) {                                \
    return run_binary_op_out(op_descriptor::name, out, x, y);                                        \
  }                                                                                                  \
  Tensor& name##_out(Tensor& out, const Tensor& x, const Scalar& y) {                                \
    return run_binary_op_out(op_descriptor::name, out, x,                                            \
                             wrap_second_operand(op_descriptor::name, #name "_out", x, y));          \
  }                                                                                                  \
  Tensor& name##_out(Tensor& out, const Scalar& x, const Tensor& y) {                                \
    return run_binary_op_out(op_descriptor::name, out, wrap_scalar_as_floating(y, x), y);            \
  }
TANDEM_SPECIAL_BINARY_OPS(TANDEM_DEFINE_SPECIAL_BINARY)
#undef TANDEM_DEFINE_SPECIAL_BINARY

Tensor special_entr(const Tensor& input) {
  const AutocastOffGuard uncast;
  const Tensor x = promote_to_floating(input);
  Tensor y;
  {
    const NoGradGuard guard;
    y = where(x == 0, 0, where(x < 0, Scalar(-INFINITY), x.neg() * x.log()));
  }
  return record_op("special_entr", y, {x}, {x}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    return {dy * (-1 - ctx.saved(0).log())};
  });
}
Tensor special_ndtr(const Tensor& x) { return (promote_to_floating(x) * -(0.5 * std::numbers::sqrt2)).erfc() * 0.5; }
Tensor special_log_ndtr(const Tensor& input) {
  const AutocastOffGuard uncast;
  const Tensor x = promote_to_floating(input), far = x < -1, t = x * (0.5 * std::numbers::sqrt2);
  const Tensor below = (special_erfcx(where(far, -t, Scalar(1))) * 0.5).log() - t * t;
  const Tensor above = (where(far, Scalar(0), t).erfc() * -0.5).log1p();
  return where(far, below, above);
}
Tensor special_xlog1py(const Tensor& x, const Tensor& y) {
  const AutocastOffGuard uncast;
  const Operands o = promote_operands("special_xlog1py", x, y, /*to_floating=*/true);
  Tensor z;
  {
    const NoGradGuard guard;
    z = where((o.a == 0) & ~o.b.isnan(), Scalar(0), o.a * o.b.log1p());
  }
  return record_op("special_xlog1py", z, {o.a, o.b}, {o.a, o.b},
                   [](const BackwardContext& ctx, const Tensor& dz) -> Grads {
                     const Tensor a = ctx.saved(0), b = ctx.saved(1);
                     return {ctx.needs_grad(0) ? special_xlog1py(dz, b).masked_fill((a == 0) & (b <= -1), 0) : Tensor(),
                             ctx.needs_grad(1) ? dz * a / (b + 1) : Tensor()};
                   });
}
Tensor special_xlog1py(const Tensor& x, const Scalar& y) { return special_xlog1py(x, wrap_scalar_as_floating(x, y)); }
Tensor special_xlog1py(const Scalar& x, const Tensor& y) { return special_xlog1py(wrap_scalar_as_floating(y, x), y); }

Tensor& special_entr_out(Tensor& out, const Tensor& x) {
  return assign_out("special_entr_out", out, x, [&] { return special_entr(x); });
}
Tensor& special_ndtr_out(Tensor& out, const Tensor& x) {
  return assign_out("special_ndtr_out", out, x, [&] { return special_ndtr(x); });
}
Tensor& special_log_ndtr_out(Tensor& out, const Tensor& x) {
  return assign_out("special_log_ndtr_out", out, x, [&] { return special_log_ndtr(x); });
}
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Tensor& y) {
  return assign_out("special_xlog1py_out", out, {x, y}, [&] { return special_xlog1py(x, y); });
}
Tensor& special_xlog1py_out(Tensor& out, const Tensor& x, const Scalar& y) {
  return assign_out("special_xlog1py_out", out, x, [&] { return special_xlog1py(x, y); });
}
Tensor& special_xlog1py_out(Tensor& out, const Scalar& x, const Tensor& y) {
  return assign_out("special_xlog1py_out", out, y, [&] { return special_xlog1py(x, y); });
}

}  // namespace tandem
