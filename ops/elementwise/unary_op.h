// Shared implementation of the unary operations listed in core/elementwise_ops.h. A UnaryOp describes one line of a
// list; the operation, its in-place version and its out version are made from it. Internal.
#pragma once
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Description of an operation: one line of the lists in core/elementwise_ops.h.
struct UnaryOp {
  enum class SavedForBackward { nothing, input, output };
  const char *name, *inplace_name, *out_name;
  CastPolicy policy;
  AcceptedDtypes accepts;
  SavedForBackward saves;
  bool returns_bool;
  void (*run_kernel)(const Tensor& x, Tensor& y);
  Tensor (*derivative)(const Tensor& dy, const Tensor& s);  // null if the operation has no derivative
};
Tensor run_unary_op(const UnaryOp& op, const Tensor& input);
Tensor& run_unary_op_inplace(const UnaryOp& op, Tensor& x);
Tensor& run_unary_op_out(const UnaryOp& op, Tensor& out, const Tensor& input);

}  // namespace tandem::detail

/// Declares or defines the derivative of an operation: returns dx, computed from dy and from s, the input or output
/// that was saved.
#define TANDEM_DECLARE_UNARY_DERIVATIVE(name, ...) Tensor name(const Tensor& dy, const Tensor& s);
#define TANDEM_DEFINE_UNARY_DERIVATIVE(name) Tensor derivative::name(const Tensor& dy, [[maybe_unused]] const Tensor& s)
/// Defines one line of a list in core/elementwise_ops.h as a constant of type UnaryOp.
#define TANDEM_DEFINE_UNARY_DESCRIPTOR(name, policy, accepts, saves, returns_bool, derivative)        \
  constexpr UnaryOp name{#name,                                                                       \
                         #name "_",                                                                   \
                         #name "_out",                                                                \
                         policy,                                                                      \
                         AcceptedDtypes::accepts,                                                     \
                         UnaryOp::SavedForBackward::saves,                                            \
                         returns_bool,                                                                \
                         [](const Tensor& x, Tensor& y) { TANDEM_DISPATCH(y.device(), name, x, y); }, \
                         derivative};
#define TANDEM_DEFINE_DIFFERENTIABLE_UNARY_DESCRIPTOR(name, F, accepts, saves, what) \
  TANDEM_DEFINE_UNARY_DESCRIPTOR(name, cast_policy::name.value, accepts, saves, false, derivative::name)
/// Defines the methods of an operation, and its out version.
#define TANDEM_DEFINE_UNARY_OP(name, ...)                                                       \
  Tensor Tensor::name() const { return run_unary_op(op_descriptor::name, *this); }              \
  Tensor& Tensor::name##_() const { return run_unary_op_inplace(op_descriptor::name, self()); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return run_unary_op_out(op_descriptor::name, out, x); }
/// Defines a function named as in torch.special, and its out version. There is no method.
#define TANDEM_DEFINE_SPECIAL_OP(name, ...)                                     \
  Tensor name(const Tensor& x) { return run_unary_op(op_descriptor::name, x); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return run_unary_op_out(op_descriptor::name, out, x); }
