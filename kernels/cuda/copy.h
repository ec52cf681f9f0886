// The kernels of copy.cu and transpose.cu, which copy.cpp chooses among.
#pragma once
#include "tandem/core/device.h"
#include "tandem/kernels/cuda/element_plan.h"

namespace tandem::kernels::cuda {

/// Casts by the type that is made: float for the half types too, int64 for other integers.
struct CastRow {
  ElementKernel float32, float64, int64, int32, boolean;
};
extern const CastRow cast_from_float32, cast_from_float64, cast_from_int64;  // these for all integers and bool
extern const ElementKernel copy_bits, where_bits;                            // of one dtype, whichever it is

/// Copies `planes` planes within one dtype: y is contiguous along dimension 0 of the plan, x along dimension 1.
void copy_transposed(const ElementPlan& plan, int64_t planes, Device device);

}  // namespace tandem::kernels::cuda
