// Elementwise loops with one input: the operations listed in core/elementwise_ops.h, and operations that also take
// scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cpu/loops/elementwise.h"

#define TANDEM_UNARY_LOOP(op, F, accepts, ...) TANDEM_DISPATCH_TABLE_FOR_##accepts(op, TANDEM_UNARY_BODY, F)
TANDEM_UNARY_OPS(TANDEM_UNARY_LOOP)
TANDEM_SPECIAL_OPS(TANDEM_UNARY_LOOP)
#define TANDEM_PREDICATE_LOOP(op, F, ...) TANDEM_ALL_TYPES_DISPATCH_TABLE(op, TANDEM_PREDICATE_BODY, F)
TANDEM_PREDICATE_OPS(TANDEM_PREDICATE_LOOP)
TANDEM_ALL_TYPES_DISPATCH_TABLE(logical_not, TANDEM_PREDICATE_BODY, LogicalNot)
// For bool, bitwise_not is a logical not, because ~ would promote bool to int.
TANDEM_DISPATCH_TABLE(bitwise_not, nullptr, nullptr, nullptr, nullptr, TANDEM_UNARY_BODY(BitwiseNot, int64_t),
                      TANDEM_UNARY_BODY(BitwiseNot, int32_t), TANDEM_UNARY_BODY(BitwiseNot, int16_t),
                      TANDEM_UNARY_BODY(BitwiseNot, int8_t), TANDEM_UNARY_BODY(BitwiseNot, uint8_t),
                      TANDEM_PREDICATE_BODY(LogicalNot, bool))

TANDEM_FLOATING_DISPATCH_TABLE(gelu_tanh, TANDEM_UNARY_BODY, GeluTanh)
TANDEM_NUMERIC_DISPATCH_TABLE(clamp, TANDEM_UNARY_BODY, Clamp)
TANDEM_FLOATING_DISPATCH_TABLE(leaky_relu, TANDEM_UNARY_BODY, LeakyRelu)
TANDEM_FLOATING_DISPATCH_TABLE(elu, TANDEM_UNARY_BODY, Elu)
TANDEM_FLOATING_DISPATCH_TABLE(softplus, TANDEM_UNARY_BODY, Softplus)
