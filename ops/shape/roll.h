// Elements moved on along dimensions, around the end: roll.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements moved on by `shifts` along dims, those beyond the end to the beginning; without dims in row-major
/// order.
inline Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {}) { return x.roll(shifts, dims); }

}  // namespace tandem
