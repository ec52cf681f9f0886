// Shared implementation of the unary operations listed in core/elementwise_ops.h.
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem::detail {
namespace {
/// Converts x to the dtype in which op computes.
Tensor operand(const UnaryOp& op, const char* name, const Tensor& x) {
  if (op.accepts == Accepts::floating) return promote_to_floating(x);
  if (op.accepts == Accepts::counted) return x.dtype() == kBool ? x.to(kInt64) : x;
  check_accepted_dtype(name, op.accepts, x.dtype());
  return x;
}
bool is_rounded_already(const UnaryOp& op, const Tensor& x) {
  return op.accepts == Accepts::rounded && !x.is_floating_point();
}
DType result_type(const UnaryOp& op, const Tensor& x) { return op.returns_bool ? kBool : x.dtype(); }
}  // namespace

Tensor unary(const UnaryOp& op, const Tensor& input) {
  if (const Autocast cast{op.policy, input}) return unary(op, cast(input));
  const Tensor x = operand(op, op.name, input);
  if (is_rounded_already(op, x)) return x.clone();
  Tensor y = core::empty_result(x.sizes(), result_type(op, x), x.device(), x);
  op.run(x, y);
  if (!op.derivative || !autograd::any_requires_grad({x})) return y;
  const Tensor none;
  return record(op.name, y, {x},
                {op.saves == UnaryOp::Saves::input    ? x
                 : op.saves == UnaryOp::Saves::output ? y
                                                      : none},
                [&op](const Context& ctx, const Tensor& dy) -> Grads {
                  // If nothing was saved, saved() is not called, so that backward can run through this node a second
                  // time.
                  return {op.derivative(dy, op.saves == UnaryOp::Saves::nothing ? Tensor() : ctx.saved(0))};
                });
}
Tensor& unary_inplace(const UnaryOp& op, Tensor& x) {
  const bool promotes = op.accepts == Accepts::floating || op.accepts == Accepts::counted;
  check_accepted_dtype(op.inplace_name,
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
  // x will be overwritten, so if backward needs it, a copy is saved.
  const auto compute_out_of_place = [&](const Tensor& old) {
    return unary(op, op.saves == UnaryOp::Saves::input ? old.clone() : old).to(x.dtype());
  };
  // If the operation has no derivative, it is not recorded, and x keeps its history, as in PyTorch.
  const AutoGradMode mode(is_grad_enabled() && op.derivative);
  return autograd::run_inplace(op.inplace_name, x, {}, direct, compute_out_of_place);
}
Tensor& unary_out(const UnaryOp& op, Tensor& out, const Tensor& input) {
  // undefined tensor, passed instead of the input if the operation has no derivative, so that nothing is checked
  const Tensor none;
  check_out(op.out_name, out, {op.derivative ? input : none});
  const Tensor x = operand(op, op.out_name, input);
  const bool converts = op.returns_bool || op.accepts == Accepts::floating || op.accepts == Accepts::counted;
  TANDEM_CHECK(converts || out.dtype() == x.dtype(), op.out_name, ": Expected out tensor to have dtype ", x.dtype(),
               ", but got ", out.dtype(),
               " instead");  // PyTorch, too, converts the result's dtype for only these operations
  return write_out(op.out_name, out, {x}, x.sizes(), result_type(op, x), x.device(),
                   [&](Tensor& y) { is_rounded_already(op, x) ? copy_elements(x, y) : op.run(x, y); });
}

}  // namespace tandem::detail
