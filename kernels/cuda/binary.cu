// Elementwise kernels with two operands: the operations listed in core/elementwise_ops.h, gradients, and operations
// with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"
#include "tandem/kernels/functors/clamp.h"

#define TANDEM_BINARY_KERNEL(op, F, accepts, ...) TANDEM_ELEMENT_TABLE(op, accepts##_table<F, 2>())
TANDEM_ALL_BINARY_OPS(TANDEM_BINARY_KERNEL)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_BINARY_KERNEL)
#define TANDEM_GRADIENT_KERNEL(op, F) TANDEM_ELEMENT_TABLE(op, real_table<F, 2>())
TANDEM_GRADIENT_OPS(TANDEM_GRADIENT_KERNEL)

TANDEM_ELEMENT_TABLE(squared_difference, real_table<SquaredDifference, 2>())
TANDEM_ELEMENT_TABLE(add, numbers_table<AddScaled, 2>())
TANDEM_ELEMENT_TABLE(clamp_backward, real_table<ClampBackward, 2>())
TANDEM_ELEMENT_TABLE(leaky_relu_backward, real_table<LeakyReluBackward, 2>())
TANDEM_ELEMENT_TABLE(elu_backward, real_table<EluBackward, 2>())
TANDEM_ELEMENT_TABLE(softplus_backward, real_table<SoftplusBackward, 2>())
