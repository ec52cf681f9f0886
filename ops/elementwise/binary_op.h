// Shared implementation of the binary operations listed in core/elementwise_ops.h. A BinaryOp describes one line of a
// list; the operation, its in-place version and its out version are made from it. Internal.
#pragma once
#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

/// Description of an operation: one line of the lists in core/elementwise_ops.h.
struct BinaryOp {
  /// Bit set of the tensors that are saved because the gradients need them.
  enum class Saves : unsigned { nothing = 0, x = 1, y = 2, x_y = 3, output = 4, x_y_output = 7 };
  const char *name, *inplace_name, *out_name;
  CastPolicy policy;
  Accepts accepts;
  Saves for_x, for_y;
  bool returns_bool;
  void (*run)(const Tensor& a, const Tensor& b, Tensor& z);
  Grads (*derivative)(const Context& ctx, const Tensor& dz);  // null if the operation has no derivative
};
Tensor binary(const BinaryOp& op, const Tensor& a, const Tensor& b);
Tensor binary(const BinaryOp& op, const Tensor& a, const Scalar& b);
Tensor& binary_inplace(const BinaryOp& op, Tensor& a, const Tensor& b);
Tensor& binary_inplace(const BinaryOp& op, Tensor& a, const Scalar& b);
Tensor& binary_out(const BinaryOp& op, Tensor& out, const Tensor& a, const Tensor& b);
/// Converts the number b to a tensor that can be the second operand of op if a is the first.
Tensor number(const BinaryOp& op, const char* name, const Tensor& a, const Scalar& b);
/// Checks that no gradient of the first operand is required. @throws NotImplementedError if it is
void check_first_not_differentiated(const Context& ctx, const char* op);

}  // namespace tandem::detail

/// Declares or defines the derivatives of an operation: a function that computes the gradients of x and y from dz. x is
/// saved(0), y is saved(1), the output is saved(2).
#define TANDEM_DECLARE_BINARY_DERIVATIVES(name, ...) Grads name(const Context& ctx, const Tensor& dz);
#define TANDEM_BINARY_DERIVATIVES(name) \
  Grads derivative::name([[maybe_unused]] const Context& ctx, [[maybe_unused]] const Tensor& dz)
/// Defines one line of a list in core/elementwise_ops.h as a constant of type BinaryOp.
#define TANDEM_BINARY_LINE(name, policy, accepts, for_x, for_y, returns_bool, derivative)              \
  constexpr BinaryOp name{                                                                             \
      #name,                                                                                           \
      #name "_",                                                                                       \
      #name "_out",                                                                                    \
      policy,                                                                                          \
      Accepts::accepts,                                                                                \
      BinaryOp::Saves::for_x,                                                                          \
      BinaryOp::Saves::for_y,                                                                          \
      returns_bool,                                                                                    \
      [](const Tensor& a, const Tensor& b, Tensor& z) { TANDEM_DISPATCH(z.device(), name, a, b, z); }, \
      derivative};
#define TANDEM_DIFFERENTIABLE_BINARY_LINE(name, F, accepts, for_x, for_y, what) \
  TANDEM_BINARY_LINE(name, cast_policy::name.value, accepts, for_x, for_y, false, derivative::name)
#define TANDEM_INTEGRAL_BINARY_LINE(name, F, accepts, for_x, for_y, what) \
  TANDEM_BINARY_LINE(name, CastPolicy::none, accepts, for_x, for_y, false, nullptr)
#define TANDEM_COMPARISON_LINE(name, F, accepts, for_x, for_y, what) \
  TANDEM_BINARY_LINE(name, CastPolicy::none, accepts, for_x, for_y, true, nullptr)
/// Defines the methods of an operation, and its out versions.
#define TANDEM_DEFINE_BINARY(name, ...)                                                                           \
  Tensor Tensor::name(const Tensor& other) const { return binary(line::name, *this, other); }                     \
  Tensor& Tensor::name##_(const Tensor& other) const { return binary_inplace(line::name, self(), other); }        \
  Tensor Tensor::name(const Scalar& other) const { return binary(line::name, *this, other); }                     \
  Tensor& Tensor::name##_(const Scalar& other) const { return binary_inplace(line::name, self(), other); }        \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Tensor& b) { return binary_out(line::name, out, a, b); } \
  Tensor& name##_out(Tensor& out, const Tensor& a, const Scalar& b) {                                             \
    return binary_out(line::name, out, a, number(line::name, #name "_out", a, b));                                \
  }
