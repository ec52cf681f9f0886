// Kernels of copy.cu and transpose.cu; copy.cpp chooses among them.
#pragma once
#include "tandem/core/device.h"
#include "tandem/kernels/cuda/element_plan.h"

namespace tandem::kernels::cuda {

/// Cast kernels by destination dtype. float32 also serves the half types, int64 the integers other than int32.
struct CastRow {
  ElementKernel float32, float64, int64, int32, boolean;
};
extern const CastRow cast_from_float32, cast_from_float64, cast_from_int64;  // cast_from_int64: all integers and bool
extern const ElementKernel copy_bits, where_bits;                            // one dtype in and out; any dtype

/// Copies `planes` 2-d planes without changing the dtype: y is contiguous along dimension 0 of the plan, x along
/// dimension 1.
void copy_transposed(const ElementPlan& plan, int64_t planes, Device device);

}  // namespace tandem::kernels::cuda
