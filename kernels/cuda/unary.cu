// Elementwise kernels with one operand: the operations listed in core/elementwise_ops.h, and operations with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"

#define TANDEM_UNARY_KERNEL(op, F, accepts, ...) TANDEM_ELEMENT_ROW(op, accepts##_row<F, 1>())
TANDEM_UNARY_OPS(TANDEM_UNARY_KERNEL)
TANDEM_SPECIAL_OPS(TANDEM_UNARY_KERNEL)
#define TANDEM_PREDICATE_KERNEL(op, F, ...) TANDEM_ELEMENT_ROW(op, any_row<F, 1>())
TANDEM_PREDICATE_OPS(TANDEM_PREDICATE_KERNEL)
TANDEM_ELEMENT_ROW(logical_not, any_row<LogicalNot, 1>())
// bool needs a logical not, because ~ would promote it to int
TANDEM_ELEMENT_ROW(bitwise_not,
                   {nullptr, nullptr, integral_row<BitwiseNot, 1>().int64, any_row<LogicalNot, 1>().boolean})

TANDEM_ELEMENT_ROW(gelu_tanh, real_row<GeluTanh, 1>())
TANDEM_ELEMENT_ROW(clamp, numbers_row<Clamp, 1>())
TANDEM_ELEMENT_ROW(leaky_relu, real_row<LeakyRelu, 1>())
TANDEM_ELEMENT_ROW(elu, real_row<Elu, 1>())
TANDEM_ELEMENT_ROW(softplus, real_row<Softplus, 1>())
