// Shared implementation of the binary operations listed in core/elementwise_ops.h. A BinaryOp describes one line of a
// list; the operation, its in-place version and its out version are made from it. Internal.
#pragma once
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Description of an operation: one line of the lists in core/elementwise_ops.h.
struct BinaryOp {
  /// Bit set of the tensors that are saved because the gradients need them.
  enum class SavedForBackward : unsigned { nothing = 0, x = 1, y = 2, x_y = 3, output = 4, x_y_output = 7 };
  const char *name, *inplace_name, *out_name;
  CastPolicy policy;
  AcceptedDtypes accepts;
  SavedForBackward saved_for_x, saved_for_y;
  bool returns_bool;
  void (*run_kernel)(const Tensor& a, const Tensor& b, Tensor& z);
  Grads (*derivative)(const BackwardContext& ctx, const Tensor& dz);  // null if the operation has no derivative
};
Tensor run_binary_op(const BinaryOp& op, const Tensor& a, const Tensor& b);
Tensor run_binary_op(const BinaryOp& op, const Tensor& a, const Scalar& b);
Tensor& run_binary_op_inplace(const BinaryOp& op, Tensor& a, const Tensor& b);
Tensor& run_binary_op_inplace(const BinaryOp& op, Tensor& a, const Scalar& b);
Tensor& run_binary_op_out(const BinaryOp& op, Tensor& out, const Tensor& a, const Tensor& b);
/// Converts the number b to a tensor that can be the second operand of op if a is the first.
Tensor wrap_second_operand(const BinaryOp& op, const char* name, const Tensor& a, const Scalar& b);
/// Checks that no gradient of the first operand is required. @throws NotImplementedError if it is
void check_first_operand_requires_no_grad(const BackwardContext& ctx, const char* op);

}  // namespace tandem::detail

/// Declares or defines the derivatives of an operation: a function that computes the gradients of x and y from dz. x is
/// saved(0), y is saved(1), the output is saved(2).
#define TANDEM_DECLARE_BINARY_DERIVATIVES(name, ...) Grads name(const BackwardContext& ctx, const Tensor& dz);
#define TANDEM_DEFINE_BINARY_DERIVATIVES(name) \
  Grads derivative::name([[maybe_unused]] const BackwardContext& ctx, [[maybe_unused]] const Tensor& dz)
/// Defines one line of a list in core/elementwise_ops.h as a constant of type BinaryOp.
#define TANDEM_DEFINE_BINARY_DESCRIPTOR(name, policy, accepts, saved_for_x, saved_for_y, returns_bool, derivative) \
  constexpr BinaryOp name{                                                                                         \
      #name,                                                                                                       \
      #name "_",                                                                                                   \
      #name "_out",                                                                                                \
      policy,                                                                                                      \
      AcceptedDtypes::accepts,                                                                                     \
      BinaryOp::SavedForBackward::saved_for_x,                                                                     \
      BinaryOp::SavedForBackward::saved_for_y,                                                                     \
      returns_bool,                                                                                                \
      [](const Tensor& a, const Tensor& b, Tensor& z) { TANDEM_DISPATCH(z.device(), name, a, b, z); },             \
      derivative};
#define TANDEM_DEFINE_DIFFERENTIABLE_BINARY_DESCRIPTOR(name, F, accepts, saved_for_x, saved_for_y, what)   \
  TANDEM_DEFINE_BINARY_DESCRIPTOR(name, cast_policy::name.value, accepts, saved_for_x, saved_for_y, false, \
                                  derivative::name)
#define TANDEM_DEFINE_INTEGRAL_BINARY_DESCRIPTOR(name, F, accepts, saved_for_x, saved_for_y, what) \
  TANDEM_DEFINE_BINARY_DESCRIPTOR(name, CastPolicy::none, accepts, saved_for_x, saved_for_y, false, nullptr)
#define TANDEM_DEFINE_COMPARISON_DESCRIPTOR(name, F, accepts, saved_for_x, saved_for_y, what) \
  TANDEM_DEFINE_BINARY_DESCRIPTOR(name, CastPolicy::none, accepts, saved_for_x, saved_for_y, true, nullptr)
/// Defines the methods of an operation, and its out versions.
#define TANDEM_DEFINE_BINARY_OP(name, ...)                                                                    \
  Tensor Tensor::name(const Tensor& other) const { return run_binary_op(op_descriptor::name, *this, other); } \
  Tensor& Tensor::name##_(const Tensor& other) const {                                                        \
    return run_binary_op_inplace(op_descriptor::name, self(), other);                                         \
  }                                                                                                           \
  Tensor Tensor::name(const Scalar& other) const { return run_binary_op(op_descriptor::name, *this, other); } \
  Tensor& Tensor::name##_(const Scalar& other) const {                                                        \
    return run_binary_op_inplace(op_descriptor::name, self(), other);                                         \
  }                                                                                                           \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b) {                                         \
    return run_binary_op_out(op_descriptor::name, out, a, b);                                                 \
  }                                                                                                           \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b) {                                         \
    return run_binary_op_out(op_descriptor::name, out, a,                                                     \
                             wrap_second_operand(op_descriptor::name, #name "_out", a, b));                   \
  }
