// Elementwise kernels with two operands: the operations listed in core/elementwise_ops.h, gradients, and operations
// with scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cuda/elementwise.cuh"
#include "tandem/kernels/functors/clamp.h"

#define TANDEM_BINARY_KERNEL(op, F, accepts, ...) TANDEM_ELEMENT_ROW(op, accepts##_row<F, 2>())
TANDEM_ALL_BINARY_OPS(TANDEM_BINARY_KERNEL)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_BINARY_KERNEL)
#define TANDEM_GRADIENT_KERNEL(op, F) TANDEM_ELEMENT_ROW(op, real_row<F, 2>())
TANDEM_GRADIENT_OPS(TANDEM_GRADIENT_KERNEL)

TANDEM_ELEMENT_ROW(squared_difference, real_row<SquaredDifference, 2>())
TANDEM_ELEMENT_ROW(add, numbers_row<AddScaled, 2>())
TANDEM_ELEMENT_ROW(clamp_backward, real_row<ClampSlope, 2>())
TANDEM_ELEMENT_ROW(leaky_relu_backward, real_row<LeakyReluBackward, 2>())
TANDEM_ELEMENT_ROW(elu_backward, real_row<EluBackward, 2>())
TANDEM_ELEMENT_ROW(softplus_backward, real_row<SoftplusBackward, 2>())
