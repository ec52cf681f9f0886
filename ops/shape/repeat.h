// Elements given several times: tile, repeat_interleave. Tensor::repeat is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// As repeat, but of a list that is too short the first dimensions are not repeated.
inline Tensor tile(const Tensor& x, IntArrayRef repeats) { return x.tile(repeats); }
/// Each slice along dim `repeats` times in turn: one number for all or one for each (int64 or int32). Without dim, the
/// elements in row-major order.
inline Tensor repeat_interleave(const Tensor& x, int64_t repeats, std::optional<int64_t> dim = {}) {
  return x.repeat_interleave(repeats, dim);
}
inline Tensor repeat_interleave(const Tensor& x, const Tensor& repeats, std::optional<int64_t> dim = {}) {
  return x.repeat_interleave(repeats, dim);
}
/// 0 repeats[0] times, 1 repeats[1] times, and so on.
Tensor repeat_interleave(const Tensor& repeats);

}  // namespace tandem
