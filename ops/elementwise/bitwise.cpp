// Bitwise operations: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift.
#include "tandem/ops/elementwise/bitwise.h"

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, bitwise_left_shift, bitwise_not, bitwise_or, bitwise_right_shift, bitwise_xor);

namespace {
namespace op_descriptor {
TANDEM_BITWISE_OPS(TANDEM_DEFINE_INTEGRAL_BINARY_DESCRIPTOR)
TANDEM_SHIFT_OPS(TANDEM_DEFINE_INTEGRAL_BINARY_DESCRIPTOR)
TANDEM_DEFINE_UNARY_DESCRIPTOR(bitwise_not, CastPolicy::none, integral, nothing, false, nullptr)
}  // namespace op_descriptor
}  // namespace

TANDEM_BITWISE_OPS(TANDEM_DEFINE_BINARY_OP)
TANDEM_SHIFT_OPS(TANDEM_DEFINE_BINARY_OP)
TANDEM_BITWISE_NOT_OPS(TANDEM_DEFINE_UNARY_OP)
Tensor bitwise_and(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_and(b); }
Tensor bitwise_or(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_or(b); }
Tensor bitwise_xor(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_xor(b); }
Tensor bitwise_left_shift(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_left_shift(b); }
Tensor bitwise_right_shift(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_right_shift(b); }

}  // namespace tandem
