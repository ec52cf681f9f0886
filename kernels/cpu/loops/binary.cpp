// Elementwise loops with two inputs: the operations listed in core/elementwise_ops.h, gradients, and operations that
// also take scalars.
#include "tandem/core/elementwise_ops.h"
#include "tandem/kernels/cpu/loops/elementwise.h"
#include "tandem/kernels/functors/clamp.h"

#define TANDEM_BINARY_LOOP(op, F, accepts, ...) TANDEM_DISPATCH_TABLE_FOR_##accepts(op, TANDEM_BINARY_BODY, F)
TANDEM_BINARY_OPS(TANDEM_BINARY_LOOP)
TANDEM_SPECIAL_BINARY_OPS(TANDEM_BINARY_LOOP)
TANDEM_BITWISE_OPS(TANDEM_BINARY_LOOP)
TANDEM_INTEGER_OPS(TANDEM_BINARY_LOOP)
#define TANDEM_COMPARE_LOOP(op, F, ...) TANDEM_ALL_TYPES_DISPATCH_TABLE(op, TANDEM_COMPARE_BODY, F)
TANDEM_COMPARE_OPS(TANDEM_COMPARE_LOOP)
#define TANDEM_GRADIENT_LOOP(op, F) TANDEM_FLOATING_DISPATCH_TABLE(op, TANDEM_BINARY_BODY, F)
TANDEM_GRADIENT_OPS(TANDEM_GRADIENT_LOOP)

TANDEM_FLOATING_DISPATCH_TABLE(squared_difference, TANDEM_BINARY_BODY, SquaredDifference)
TANDEM_NUMERIC_DISPATCH_TABLE(add, TANDEM_BINARY_BODY, AddScaled)
TANDEM_FLOATING_DISPATCH_TABLE(clamp_backward, TANDEM_BINARY_BODY, ClampBackward)
TANDEM_FLOATING_DISPATCH_TABLE(leaky_relu_backward, TANDEM_BINARY_BODY, LeakyReluBackward)
TANDEM_FLOATING_DISPATCH_TABLE(elu_backward, TANDEM_BINARY_BODY, EluBackward)
TANDEM_FLOATING_DISPATCH_TABLE(softplus_backward, TANDEM_BINARY_BODY, SoftplusBackward)
