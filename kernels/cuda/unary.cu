// Elementwise kernels with one operand: the operations listed in core/elementwise_ops.h, and operations with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"

#define TANDEM_UNARY_KERNEL(op, F, accepts, ...) TANDEM_ELEMENT_TABLE(op, accepts##_table<F, 1>())
TANDEM_UNARY_OPS(TANDEM_UNARY_KERNEL)
TANDEM_SPECIAL_OPS(TANDEM_UNARY_KERNEL)
#define TANDEM_PREDICATE_KERNEL(op, F, ...) TANDEM_ELEMENT_TABLE(op, any_table<F, 1>())
TANDEM_PREDICATE_OPS(TANDEM_PREDICATE_KERNEL)
TANDEM_ELEMENT_TABLE(logical_not, any_table<LogicalNot, 1>())
// bool needs a logical not, because ~ would promote it to int
TANDEM_ELEMENT_TABLE(bitwise_not,
                     {nullptr, nullptr, integral_table<BitwiseNot, 1>().int64, any_table<LogicalNot, 1>().boolean})

TANDEM_ELEMENT_TABLE(gelu_tanh, real_table<GeluTanh, 1>())
TANDEM_ELEMENT_TABLE(clamp, numbers_table<Clamp, 1>())
TANDEM_ELEMENT_TABLE(leaky_relu, real_table<LeakyRelu, 1>())
TANDEM_ELEMENT_TABLE(elu, real_table<Elu, 1>())
TANDEM_ELEMENT_TABLE(softplus, real_table<Softplus, 1>())
