// Reordering elements along dimensions: flip, fliplr, flipud, roll, rot90.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Reverse the order of elements along each of dims (flip), along dimension 1 (fliplr), or along dimension 0 (flipud).
inline Tensor flip(const Tensor& x, IntArrayRef dims) { return x.flip(dims); }
inline Tensor fliplr(const Tensor& x) { return x.fliplr(); }
inline Tensor flipud(const Tensor& x) { return x.flipud(); }
/// Shifts the elements by `shifts` along dims; elements shifted beyond the end reappear at the beginning. Without dims,
/// the elements are shifted in row-major order.
inline Tensor roll(const Tensor& x, IntArrayRef shifts, IntArrayRef dims = {}) { return x.roll(shifts, dims); }
/// Rotates x by 90 degrees k times, from the first of dims towards the second.
inline Tensor rot90(const Tensor& x, int64_t k = 1, IntArrayRef dims = {0, 1}) { return x.rot90(k, dims); }

}  // namespace tandem
