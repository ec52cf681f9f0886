// Bitwise operations: bitwise_and, bitwise_or, bitwise_xor, bitwise_not, bitwise_left_shift, bitwise_right_shift.
#include "tandem/ops/elementwise/bitwise.h"

#include "tandem/ops/elementwise/binary_op.h"
#include "tandem/ops/elementwise/unary_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, bitwise_not, bitwise_right_shift);

namespace {
namespace line {
TANDEM_BITWISE_OPS(TANDEM_INTEGRAL_BINARY_LINE)
TANDEM_SHIFT_OPS(TANDEM_INTEGRAL_BINARY_LINE)
TANDEM_UNARY_LINE(bitwise_not, CastPolicy::none, integral, nothing, false, nullptr)
}  // namespace line
}  // namespace

TANDEM_BITWISE_OPS(TANDEM_DEFINE_BINARY)
TANDEM_SHIFT_OPS(TANDEM_DEFINE_BINARY)
TANDEM_BITWISE_NOT_OPS(TANDEM_DEFINE_UNARY)
Tensor bitwise_left_shift(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_left_shift(b); }
Tensor bitwise_right_shift(const Scalar& a, const Tensor& b) { return wrap_scalar(b, a).bitwise_right_shift(b); }

}  // namespace tandem
