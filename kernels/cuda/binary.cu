// Elementwise kernels with two operands: the operations listed in core/elementwise_ops.h, gradients, and operations
// with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"
#include "tandem/kernels/functors/clamp.h"

#define TANDEM_BINARY_KERNEL(op, F, accepts, ...) TANDEM_DEFINE_KERNEL_TABLE(op, accepts##_kernels<F, 2>())
TANDEM_ALL_BINARY_OPS(TANDEM_BINARY_KERNEL)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_BINARY_KERNEL)
#define TANDEM_GRADIENT_KERNEL(op, F) TANDEM_DEFINE_KERNEL_TABLE(op, real_kernels<F, 2>())
TANDEM_GRADIENT_OPS(TANDEM_GRADIENT_KERNEL)

TANDEM_DEFINE_KERNEL_TABLE(squared_difference, real_kernels<SquaredDifference, 2>())
TANDEM_DEFINE_KERNEL_TABLE(add, numbers_kernels<AddScaled, 2>())
TANDEM_DEFINE_KERNEL_TABLE(clamp_backward, real_kernels<ClampBackward, 2>())
TANDEM_DEFINE_KERNEL_TABLE(leaky_relu_backward, real_kernels<LeakyReluBackward, 2>())
TANDEM_DEFINE_KERNEL_TABLE(elu_backward, real_kernels<EluBackward, 2>())
TANDEM_DEFINE_KERNEL_TABLE(softplus_backward, real_kernels<SoftplusBackward, 2>())
