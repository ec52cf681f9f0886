// Merges dimensions that are contiguous with each other in all operands of an elementwise operation, so that loops have
// fewer dimensions. Used by the planners of both backends.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::kernels {

/// Writes to `strides` the byte strides of t after it is broadcast to `rank` dimensions: 0 for each dimension along
/// which t repeats.
inline void broadcast_strides(const Tensor& t, int rank, int64_t* strides) {
  const TensorImpl& x = *t.impl();
  const int64_t itemsize = element_size(x.dtype);
  const int missing = rank - static_cast<int>(x.sizes.size());
  for (int d = 0; d < rank; ++d) {
    const auto from = static_cast<size_t>(d - missing);
    strides[d] = d < missing || x.sizes[from] == 1 ? 0 : x.strides[from] * itemsize;
  }
}

/// Drops dimensions of size 1, orders the others by the strides of operand 0 (so that a permuted output is traversed in
/// memory order), and merges neighbours that are contiguous with each other in all operands. The resulting dimensions
/// are ordered from outermost to innermost.
/// @param sizes      sizes of the output
/// @param strides    strides of each of the `count` operands in the output's dimensions
/// @param collapsed  receives the sizes of the resulting dimensions
/// @param stride_at  stride_at(k, i) returns a reference, which receives the stride of operand k in resulting dimension
/// i
/// @return number of resulting dimensions; 0 if the output is a single element
template <class StrideAt>
int collapse_dims(IntArrayRef sizes, int count, const int64_t (*strides)[kMaxDims], int64_t* collapsed,
                  StrideAt stride_at) {
  const int rank = static_cast<int>(sizes.size());
  int order[kMaxDims];
  for (int d = 0; d < rank; ++d) order[d] = d;
  for (int d = 1; d < rank; ++d)
    for (int k = d;
         k > 0 && strides[0][order[k - 1]] < strides[0][order[k]] && sizes[static_cast<size_t>(order[k])] > 1; --k)
      std::swap(order[k - 1], order[k]);
  int out_rank = 0;
  for (int o = 0; o < rank; ++o) {
    const int d = order[o], last = out_rank - 1;
    const int64_t size = sizes[static_cast<size_t>(d)];
    if (size == 1) continue;
    bool merges = last >= 0;
    for (int k = 0; k < count && merges; ++k) merges = stride_at(k, last) == strides[k][d] * size;
    const int at = merges ? last : out_rank++;
    collapsed[at] = merges ? collapsed[at] * size : size;
    for (int k = 0; k < count; ++k) stride_at(k, at) = strides[k][d];
  }
  return out_rank;
}

}  // namespace tandem::kernels
