// Bitwise operations: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift.
#pragma once
#include "tandem/ops/declare_op.h"

namespace tandem {

// core/elementwise_ops.h says what each function computes.
TANDEM_BITWISE_OPS(TANDEM_DECLARE_BINARY_OP)
TANDEM_SHIFT_OPS(TANDEM_DECLARE_BINARY_OP)
TANDEM_BITWISE_NOT_OPS(TANDEM_DECLARE_UNARY_OP)
// Overloads whose first operand is a number.
Tensor bitwise_and(const Scalar& a, const Tensor& b);
Tensor bitwise_or(const Scalar& a, const Tensor& b);
Tensor bitwise_xor(const Scalar& a, const Tensor& b);
Tensor bitwise_left_shift(const Scalar& a, const Tensor& b);
Tensor bitwise_right_shift(const Scalar& a, const Tensor& b);

}  // namespace tandem
