// Shared implementation of the unary operations listed in core/elementwise_ops.h. A UnaryOp describes one line of a
// list; the operation, its in-place version and its out version are made from it. Internal.
#pragma once
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Description of an operation: one line of the lists in core/elementwise_ops.h.
struct UnaryOp {
  enum class Saves { nothing, input, output };
  const char *name, *inplace_name, *out_name;
  CastPolicy policy;
  Accepts accepts;
  Saves saves;
  bool returns_bool;
  void (*run)(const Tensor& x, Tensor& y);
  Tensor (*derivative)(const Tensor& dy, const Tensor& s);  // null if the operation has no derivative
};
Tensor unary(const UnaryOp& op, const Tensor& input);
Tensor& unary_inplace(const UnaryOp& op, Tensor& x);
Tensor& unary_out(const UnaryOp& op, Tensor& out, const Tensor& input);

}  // namespace tandem::detail

/// Declares or defines the derivative of an operation: returns dx, computed from dy and from s, the input or output
/// that was saved.
#define TANDEM_DECLARE_UNARY_DERIVATIVE(name, ...) Tensor name(const Tensor& dy, const Tensor& s);
#define TANDEM_UNARY_DERIVATIVE(name) Tensor derivative::name(const Tensor& dy, [[maybe_unused]] const Tensor& s)
/// Defines one line of a list in core/elementwise_ops.h as a constant of type UnaryOp.
#define TANDEM_UNARY_LINE(name, policy, accepts, saves, returns_bool, derivative)                     \
  constexpr UnaryOp name{#name,                                                                       \
                         #name "_",                                                                   \
                         #name "_out",                                                                \
                         policy,                                                                      \
                         Accepts::accepts,                                                            \
                         UnaryOp::Saves::saves,                                                       \
                         returns_bool,                                                                \
                         [](const Tensor& x, Tensor& y) { TANDEM_DISPATCH(y.device(), name, x, y); }, \
                         derivative};
#define TANDEM_DIFFERENTIABLE_UNARY_LINE(name, F, accepts, saves, what) \
  TANDEM_UNARY_LINE(name, cast_policy::name.value, accepts, saves, false, derivative::name)
/// Defines the methods of an operation, and its out version.
#define TANDEM_DEFINE_UNARY(name, ...)                                          \
  Tensor Tensor::name() const { return unary(line::name, *this); }              \
  Tensor& Tensor::name##_() const { return unary_inplace(line::name, self()); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return unary_out(line::name, out, x); }
/// Defines a function named as in torch.special, and its out version. There is no method.
#define TANDEM_DEFINE_SPECIAL(name, ...)                        \
  Tensor name(const Tensor& x) { return unary(line::name, x); } \
  Tensor& name##_out(Tensor& out, const Tensor& x) { return unary_out(line::name, out, x); }
