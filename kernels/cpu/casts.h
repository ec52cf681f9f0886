// Declares the loops that copy and convert elements: one table for each dtype that is written, indexed by the dtype
// that is read.
#pragma once
#include "tandem/kernels/cpu/isa.h"

namespace tandem::kernels::cpu {

// clang-format off
#define TANDEM_FOR_EACH_CAST_DTYPE(X) \
  X(float32) X(float64) X(float16) X(bfloat16) X(int64) X(int32) X(int16) X(int8) X(uint8) X(boolean)
// clang-format on
#define TANDEM_DECLARE_CAST_LOOP(type) TANDEM_DECLARE_LOOP(cast_to_##type)
TANDEM_FOR_EACH_CAST_DTYPE(TANDEM_DECLARE_CAST_LOOP)
#undef TANDEM_DECLARE_CAST_LOOP

}  // namespace tandem::kernels::cpu
