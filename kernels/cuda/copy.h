// Declarations of the kernels in copy.cu and transpose.cu, for copy.cpp, which chooses among them.
#pragma once
#include "tandem/core/device.h"
#include "tandem/kernels/cuda/element_plan.h"

namespace tandem::kernels::cuda {

/// Kernels that cast to one destination dtype each. float32 also casts to the half types, and int64 to all integers
/// other than int32.
struct CastKernelTable {
  ElementKernel float32, float64, int64, int32, boolean;
};
// tables by source dtype; cast_from_int64 is for all integer dtypes and bool
extern const CastKernelTable cast_from_float32, cast_from_float64, cast_from_int64;
extern const ElementKernel copy_bits, where_bits;  // kernels for any dtype, which move elements without conversion

/// Copies x to y, of the same dtype, where y is contiguous along dimension 0 of the plan, and x along dimension 1.
/// `planes` is the product of the sizes of the other dimensions.
void copy_transposed(const ElementPlan& plan, int64_t planes, Device device);

}  // namespace tandem::kernels::cuda
