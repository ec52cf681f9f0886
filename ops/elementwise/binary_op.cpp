// Shared implementation of the binary operations listed in core/elementwise_ops.h.
#include "tandem/ops/elementwise/binary_op.h"

namespace tandem::detail {
namespace {
BinaryOp::SavedForBackward operator|(BinaryOp::SavedForBackward a, BinaryOp::SavedForBackward b) {
  return BinaryOp::SavedForBackward(unsigned(a) | unsigned(b));
}
bool contains(BinaryOp::SavedForBackward all, BinaryOp::SavedForBackward one) { return unsigned(all) & unsigned(one); }

Operands prepare_operands(const BinaryOp& op, const char* name, const Tensor& a, const Tensor& b) {
  Operands o = promote_operands(name, a, b, op.accepts == AcceptedDtypes::floating);
  check_accepted_dtype(name, op.accepts, o.a.dtype());
  if (op.accepts == AcceptedDtypes::divided) check_divisor(name, o.b, o.sizes);
  return o;
}
DType result_type(const BinaryOp& op, const Operands& o) { return op.returns_bool ? kBool : o.a.dtype(); }
/// Returns whether op is logical_and, logical_or or logical_xor. Their in-place forms are not recorded, as in PyTorch:
/// x keeps its history.
bool is_logical_op(const BinaryOp& op) { return op.returns_bool && std::string_view(op.name).starts_with("logical_"); }
/// Returns the tensors to save: only those that the required gradients need, so that the others may be changed in
/// place.
BinaryOp::SavedForBackward tensors_to_save(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  return (autograd::tensor_requires_grad(a) ? op.saved_for_x : BinaryOp::SavedForBackward::nothing) |
         (autograd::tensor_requires_grad(b) ? op.saved_for_y : BinaryOp::SavedForBackward::nothing);
}

/// Computes nextafter for half types: increments or decrements the bit pattern, which steps away from 0 or towards 0.
Tensor nextafter_half(const Tensor& a, const Tensor& b) {
  const Tensor bits = a.view(kInt16), away = (b > a) == (a > 0);
  const Tensor from_zero = where(b > 0, Scalar(1), Scalar(-0x7fff)).to(kInt16);
  const Tensor next = where(a == 0, from_zero, where(away, bits + 1, bits - 1)).view(a.dtype());
  return where(a.isnan() | b.isnan(), a + b, where(a == b, b, next));
}
void run_kernel(const BinaryOp& op, const Tensor& a, const Tensor& b, Tensor& z) {
  if (op.accepts != AcceptedDtypes::stepped || !is_reduced_floating_point(z.dtype())) return op.run_kernel(a, b, z);
  const NoGradGuard guard;
  copy_elements(nextafter_half(a, b), z);
}
}  // namespace

Tensor wrap_second_operand(const BinaryOp& op, const char* name, const Tensor& a, const Scalar& b) {
  if (op.accepts == AcceptedDtypes::powers) {
    const DType type = tandem::result_type(a, b);
    TANDEM_CHECK(is_floating_point(type) || b.to_int64() >= 0, name,
                 ": Integers to negative integer powers are not allowed. Got ", a.dtype(), " to the power of ", b,
                 "; convert the base to floating point");
    if (!is_floating_point(type)) check_representable(name, type, b);
  }
  return op.accepts == AcceptedDtypes::floating ? wrap_scalar_as_floating(a, b) : wrap_scalar(a, b);
}
Tensor run_binary_op(const BinaryOp& op, const Tensor& a, const Tensor& b) {
  if (const Autocast cast{op.policy, a, b}) return run_binary_op(op, cast(a), cast(b));
  const Operands o = prepare_operands(op, op.name, a, b);
  Tensor z = empty_result(o, result_type(op, o));
  run_kernel(op, o.a, o.b, z);
  if (!op.derivative || !autograd::any_requires_grad({o.a, o.b})) return z;
  const BinaryOp::SavedForBackward to_save = tensors_to_save(op, o.a, o.b);
  const Tensor none;
  const Tensor &a_kept = contains(to_save, BinaryOp::SavedForBackward::x) ? o.a : none,
               &b_kept = contains(to_save, BinaryOp::SavedForBackward::y) ? o.b : none;
  if (contains(to_save, BinaryOp::SavedForBackward::output))
    return record_op(op.name, z, {o.a, o.b}, {a_kept, b_kept, z}, op.derivative);
  return record_op(op.name, std::move(z), {o.a, o.b}, {a_kept, b_kept}, op.derivative);
}
Tensor& run_binary_op_inplace(const BinaryOp& op, Tensor& a, const Tensor& b) {
  const DType type = op.returns_bool ? kBool
                     : op.accepts == AcceptedDtypes::floating && !is_floating_point(a.dtype())
                         ? get_default_dtype()
                         : tandem::result_type(a, b);
  check_inplace_result(op.inplace_name, a, b, type);
  const auto direct = [&] {
    if (op.returns_bool || !is_kernel_compatible(a, b)) {
      const NoGradGuard guard;
      return copy_elements(run_binary_op(op, a, b), a);
    }
    check_accepted_dtype(op.inplace_name, op.accepts, a.dtype());
    if (op.accepts == AcceptedDtypes::divided) check_divisor(op.inplace_name, b, a.sizes());
    run_kernel(op, a, copy_if_overlapping(a, b), a);
  };
  const auto compute_out_of_place = [&](const Tensor& old) {
    if (op.returns_bool)  // comparisons are step functions, so their gradient is 0
      return record_op(op.inplace_name, run_binary_op(op, old, b).to(old.dtype()), {old, b}, {},
                       [sizes = Shape(b.sizes())](const BackwardContext&, const Tensor& dz) -> Grads {
                         return {zeros_like(dz), zeros(sizes, dz.options())};
                       });
    // a will be overwritten, so if backward needs it, a copy is saved.
    return run_binary_op(op, contains(tensors_to_save(op, old, b), BinaryOp::SavedForBackward::x) ? old.clone() : old,
                         b)
        .to(old.dtype());
  };
  const AutoGradMode mode(is_grad_enabled() && !is_logical_op(op));
  return autograd::run_inplace(op.inplace_name, a, {b}, direct, compute_out_of_place);
}
Tensor& run_binary_op_out(const BinaryOp& op, Tensor& out, const Tensor& a, const Tensor& b) {
  // undefined tensor, passed instead of the operands if the operation has no derivative, so that nothing is checked
  const Tensor none;
  check_out(op.out_name, out, {op.derivative ? a : none, op.derivative ? b : none});
  const Operands o = prepare_operands(op, op.out_name, a, b);
  return write_out(op.out_name, out, {o.a, o.b}, o.sizes, result_type(op, o), o.device,
                   [&](Tensor& z) { run_kernel(op, o.a, o.b, z); });
}
Tensor run_binary_op(const BinaryOp& op, const Tensor& a, const Scalar& b) {
  if (const Autocast cast{op.policy, a}) return run_binary_op(op, cast(a), b);
  if (op.accepts == AcceptedDtypes::powers && a.dtype() == kBool && b.is_boolean())
    return b.to_double() != 0 ? a.clone() : ones_like(a);
  const Tensor y = wrap_second_operand(op, op.name, a, b);
  if (op.accepts == AcceptedDtypes::powers && b.to_double() == 0 && autograd::any_requires_grad({a})) {
    // Recorded with a gradient of zeros that has no graph: as in PyTorch, there is no second derivative.
    const Tensor ones = ones_like(a, TensorOptions(y.dtype()));
    return record_op(op.name, ones, {a}, {},
                     [](const BackwardContext&, const Tensor& dz) -> Grads { return {zeros_like(dz)}; });
  }
  return run_binary_op(op, a, y);
}
Tensor& run_binary_op_inplace(const BinaryOp& op, Tensor& a, const Scalar& b) {
  if (op.accepts == AcceptedDtypes::powers && a.dtype() == kBool && b.is_boolean())
    return a.copy_(run_binary_op(op, a, b));
  if (!op.returns_bool) check_scalar_fits(op.inplace_name, a, b);
  if (op.accepts == AcceptedDtypes::powers && b.to_double() == 0 && autograd::any_requires_grad({a}))
    return compute_inplace(op.inplace_name, a, {}, [&](const Tensor& x) { return run_binary_op(op, x, b); });
  const Tensor y = wrap_second_operand(op, op.inplace_name, a, b);
  return run_binary_op_inplace(op, a, op.returns_bool ? y : y.to(a.dtype()));
}
void check_first_operand_requires_no_grad(const BackwardContext& ctx, const char* op) {
  if (ctx.needs_grad(0))
    throw NotImplementedError(std::string(op) + " has no derivative for its first argument; detach() that argument");
}

}  // namespace tandem::detail
