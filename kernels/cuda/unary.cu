// Elementwise kernels with one operand: the operations listed in core/elementwise_ops.h, and operations with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"

#define TANDEM_UNARY_KERNEL(op, F, accepts, ...) TANDEM_DEFINE_KERNEL_TABLE(op, accepts##_kernels<F, 1>())
TANDEM_UNARY_OPS(TANDEM_UNARY_KERNEL)
TANDEM_SPECIAL_OPS(TANDEM_UNARY_KERNEL)
#define TANDEM_PREDICATE_KERNEL(op, F, ...) TANDEM_DEFINE_KERNEL_TABLE(op, any_kernels<F, 1>())
TANDEM_PREDICATE_OPS(TANDEM_PREDICATE_KERNEL)
TANDEM_DEFINE_KERNEL_TABLE(logical_not, any_kernels<LogicalNot, 1>())
// bool needs a logical not, because ~ would promote it to int
TANDEM_DEFINE_KERNEL_TABLE(bitwise_not, {nullptr, nullptr, integral_kernels<BitwiseNot, 1>().int64,
                                         any_kernels<LogicalNot, 1>().boolean})

TANDEM_DEFINE_KERNEL_TABLE(gelu_tanh, real_kernels<GeluTanh, 1>())
TANDEM_DEFINE_KERNEL_TABLE(clamp, numbers_kernels<Clamp, 1>())
TANDEM_DEFINE_KERNEL_TABLE(leaky_relu, real_kernels<LeakyRelu, 1>())
TANDEM_DEFINE_KERNEL_TABLE(elu, real_kernels<Elu, 1>())
TANDEM_DEFINE_KERNEL_TABLE(softplus, real_kernels<Softplus, 1>())
