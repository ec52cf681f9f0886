// Elements in another order along dimensions: flip, fliplr, flipud, roll, rot90.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements in reverse order along each of dims; fliplr: along dimension 1, flipud: along 0.
inline Tensor flip(const Tensor& x, IntArrayRef dims) { return x.flip(dims); }
inline Tensor fliplr(const Tensor& x) { return x.fliplr(); }
inline Tensor flipud(const Tensor& x) { return x.flipud(); }
/// The elements moved on by `shifts` along dims, those beyond the end to the beginning; without dims in row-major
/// order.
inline Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {}) { return x.roll(shifts, dims); }
/// Turned by 90 degrees k times, from the first of dims towards the second.
inline Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1}) { return x.rot90(k, dims); }

}  // namespace tandem
