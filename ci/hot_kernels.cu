// Instantiates the kernels that ci/sass.py measures, as kernels/cuda/binary.cu and unary.cu do, which take minutes to
// compile.
#include <stddef.h>

#include "tandem/kernels/cuda/copy.cu"
#include "tandem/kernels/cuda/elementwise.cuh"

namespace tandem::kernels::cuda {

// sass.py declares this struct again.
static_assert(offsetof(ElementPlan, is_vectorized) == 4 && offsetof(ElementPlan, plain_vectors_per_thread) == 5 &&
              offsetof(ElementPlan, items) == 8 && offsetof(ElementPlan, count) == 12 &&
              offsetof(ElementPlan, dividers) == 16 && offsetof(ElementPlan, operand_count) == 112 &&
              offsetof(ElementPlan, operands) == 120 && offsetof(ElementPlan, scalars) == 472 &&
              sizeof(ElementPlan) == 488);
static_assert(offsetof(ElementOperand, value) == 8 && offsetof(ElementOperand, strides) == 16 &&
              offsetof(ElementOperand, dtype) == 80 && offsetof(ElementOperand, size) == 81 &&
              sizeof(ElementOperand) == 88);
static_assert(kElementThreads == 128 && kPlainElements == 8);

#define TANDEM_HOT_KERNEL(F, C, N) template __global__ void elementwise_kernel<F<C>, C, N>(ElementPlan);
TANDEM_HOT_KERNEL(AddScaled, float, 2)
TANDEM_HOT_KERNEL(AddScaled, int64_t, 2)
TANDEM_HOT_KERNEL(Mul, float, 2)
TANDEM_HOT_KERNEL(Relu, float, 1)
TANDEM_HOT_KERNEL(ReluBackward, float, 2)
TANDEM_HOT_KERNEL(Eq, float, 2)
TANDEM_HOT_KERNEL(Eq, int64_t, 2)
TANDEM_HOT_KERNEL(LogicalAnd, int64_t, 2)

}  // namespace tandem::kernels::cuda
