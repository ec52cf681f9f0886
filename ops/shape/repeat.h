// Repeating elements: tile, repeat_interleave. Tensor::repeat is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Like repeat, but a list that is too short leaves the first dimensions unrepeated.
inline Tensor tile(const Tensor& x, IntArrayRef repeats) { return x.tile(repeats); }
/// Repeats each slice along dim `repeats` times in succession. repeats is one number for all slices, or one for each
/// (int64 or int32). Elements are repeated in row-major order if dim is missing. @throws Error if output_size, the size
/// of the result along dim, is given and wrong
inline Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {},
                                std::optional<int64_t> output_size = {}) {
  return x.repeat_interleave(repeats, dim, output_size);
}
inline Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {},
                                std::optional<int64_t> output_size = {}) {
  return x.repeat_interleave(repeats, dim, output_size);
}
/// Returns the index i of each element of `repeats`, repeated repeats[i] times.
Tensor repeat_interleave(const Tensor& repeats, std::optional<int64_t> output_size = {});

}  // namespace tandem
