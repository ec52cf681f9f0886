// Shared implementation of the unary operations listed in core/elementwise_ops.h.
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem::detail {
namespace {
/// Converts x to the dtype in which op computes.
Tensor convert_operand(const UnaryOp& op, const char* name, const Tensor& x) {
  if (op.accepts == AcceptedDtypes::floating) return promote_to_floating(x);
  if (op.accepts == AcceptedDtypes::counted) return x.dtype() == kBool ? x.to(kInt64) : x;
  check_accepted_dtype(name, op.accepts, x.dtype());
  return x;
}
bool is_rounding_noop(const UnaryOp& op, const Tensor& x) {
  return op.accepts == AcceptedDtypes::rounded && !x.is_floating_point();
}
DType result_type(const UnaryOp& op, const Tensor& x) { return op.returns_bool ? kBool : x.dtype(); }
}  // namespace

Tensor run_unary_op(const UnaryOp& op, const Tensor& input) {
  if (const Autocast cast{op.policy, input}) return run_unary_op(op, cast(input));
  const Tensor x = convert_operand(op, op.name, input);
  if (is_rounding_noop(op, x)) return x.clone();
  Tensor y = core::empty_result(x.sizes(), result_type(op, x), x.device(), x);
  op.run_kernel(x, y);
  if (!op.derivative || !autograd::any_requires_grad({x})) return y;
  const Tensor none;
  return record_op(
      op.name, y, {x},
      {op.saves == UnaryOp::SavedForBackward::input    ? x
       : op.saves == UnaryOp::SavedForBackward::output ? y
                                                       : none},
      [&op](const BackwardContext& ctx, const Tensor& dy) -> Grads {
        // If nothing was saved, saved() is not called, so that backward can run through this node a second
        // time.
        return {op.derivative(dy, op.saves == UnaryOp::SavedForBackward::nothing ? Tensor() : ctx.saved(0))};
      });
}
Tensor& run_unary_op_inplace(const UnaryOp& op, Tensor& x) {
  const bool promotes = op.accepts == AcceptedDtypes::floating || op.accepts == AcceptedDtypes::counted;
  check_accepted_dtype(op.inplace_name,
                       !promotes                                ? op.accepts
                       : op.accepts == AcceptedDtypes::floating ? AcceptedDtypes::real
                                                                : AcceptedDtypes::numbers,
                       x.dtype());
  const auto direct = [&] {
    if (is_rounding_noop(op, x)) return;
    if (result_type(op, x) == x.dtype()) return op.run_kernel(x, x);
    const NoGradGuard guard;
    copy_elements(run_unary_op(op, x), x);
  };
  // x will be overwritten, so if backward needs it, a copy is saved.
  const auto compute_out_of_place = [&](const Tensor& old) {
    return run_unary_op(op, op.saves == UnaryOp::SavedForBackward::input ? old.clone() : old).to(x.dtype());
  };
  // If the operation has no derivative, it is not recorded, and x keeps its history, as in PyTorch.
  const AutoGradMode mode(is_grad_enabled() && op.derivative);
  return autograd::run_inplace(op.inplace_name, x, {}, direct, compute_out_of_place);
}
Tensor& run_unary_op_out(const UnaryOp& op, Tensor& out, const Tensor& input) {
  // undefined tensor, passed instead of the input if the operation has no derivative, so that nothing is checked
  const Tensor none;
  check_out(op.out_name, out, {op.derivative ? input : none});
  const Tensor x = convert_operand(op, op.out_name, input);
  // As in PyTorch, only these operations convert their result to the dtype of `out`.
  const bool converts =
      op.returns_bool || op.accepts == AcceptedDtypes::floating || op.accepts == AcceptedDtypes::counted;
  TANDEM_CHECK(converts || out.dtype() == x.dtype(), op.out_name, ": Expected out tensor to have dtype ", x.dtype(),
               ", but got ", out.dtype(), " instead");
  return write_out(op.out_name, out, {x}, x.sizes(), result_type(op, x), x.device(),
                   [&](Tensor& y) { is_rounding_noop(op, x) ? copy_elements(x, y) : op.run_kernel(x, y); });
}

}  // namespace tandem::detail
