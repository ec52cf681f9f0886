// Operands of the attention kernels: tensors of heads, mask, dropout, sizes.
#pragma once
#include <algorithm>

#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/philox.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cuda {

constexpr int kAttentionThreads = 128;
constexpr int kAttentionFullGpuBlocks = 256;  // number of blocks that fill a GPU, at two per multiprocessor

/// Pointer and strides of a tensor (batch, heads, rows, columns) whose last dimension is contiguous.
template <class T> struct HeadRows {
  T* data;
  int64_t batch_stride, head_stride, row_stride;
  bool aligned;  // whether every row starts at a multiple of 16 bytes
  __device__ T* of(int64_t b, int64_t h) const { return data + b * batch_stride + h * head_stride; }
};
template <class T> HeadRows<T> head_rows(const Tensor& x) {
  bool aligned = is_aligned(x.raw_data(), 16);
  for (int d = 0; d < 3; ++d) aligned = aligned && x.stride(d) * sizeof(T) % 16 == 0;
  return {x.data<std::remove_const_t<T>>(), x.stride(0), x.stride(1), x.stride(2), aligned};
}

/// Mask of the scores of operands of type T. A bool mask is true for the keys that a query sees; a floating-point mask,
/// of type T or OpMath<T>, is added to the scores. If `data` is null, there is no mask.
template <class T> struct AttentionMask {
  using C = OpMath<T>;
  const void* data;
  bool is_bool, is_wide;  // is_wide: of type OpMath<T>
  int64_t batch_stride, head_stride, query_stride, key_stride;
  /// Applies the mask's element at offset `at` to a score, which is given in multiples of 1 / factor. @return whether
  /// the query sees the key; if a query sees no key, the query's result is 0
  __device__ bool apply(int64_t at, C& score, C factor = C(1)) const {
    if (is_bool) {
      const bool visible = static_cast<const bool*>(data)[at];
      if (!visible) score = -C(__builtin_inf());
      return visible;
    }
    const C added = is_wide ? static_cast<const C*>(data)[at] : C(static_cast<const T*>(data)[at]);
    score += added * factor;
    return added != -C(__builtin_inf());
  }
};
template <class T> AttentionMask<T> attention_mask(const Tensor& mask) {
  if (!mask.defined()) return {};
  return {mask.raw_data(), mask.dtype() == kBool, mask.itemsize() == sizeof(OpMath<T>), mask.stride(0), mask.stride(1),
          mask.stride(2),  mask.stride(3)};
}

struct AttentionShape {
  int matrices, heads, l, s, e, v;
  bool causal;
  /// Returns the index after the last key that a query may see.
  __device__ int end(int query) const { return ::min(causal ? query + 1 : s, s); }
  /// Returns the number of a weight in the contiguous (..., L, S).
  __device__ int64_t weight(int matrix, int query, int key) const { return (int64_t(matrix) * l + query) * s + key; }
};
inline AttentionShape attention_shape(const Tensor& q, const Tensor& v, bool causal) {
  const auto size = [](const Tensor& x, int d) { return static_cast<int>(x.size(d)); };
  return {size(q, 0) * size(q, 1), size(q, 1), size(q, 2), size(v, 2), size(q, 3), size(v, 3), causal};
}

/// Dropout of attention weights, as kernels/attention.h defines it. If `random` is null, no weight is dropped.
struct AttentionDropout {
  const uint64_t* random;  // Philox's {seed, stream, block}
  float keep;              // probability of keeping a weight
  double factor;           // factor of kept weights
  /// Returns whether weight i of the contiguous (..., L, S) is kept.
  __device__ bool keeps(int64_t i) const { return keeps_four(i / 4 * 4) >> i % 4 & 1; }
  /// Returns four bits, which tell whether weights i to i + 3 are kept. i must be a multiple of 4.
  __device__ unsigned keeps_four(int64_t i) const {
    const PhiloxBlock block = philox(random[0], random[1], random[2] + static_cast<uint64_t>(i) / 4);
    unsigned bits = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) bits |= unsigned(uniform_float(block.word[j]) < keep) << j;
    return bits;
  }
};
inline AttentionDropout attention_dropout(double p, const Tensor& random) {
  return {random.defined() ? static_cast<const uint64_t*>(random.raw_data()) : nullptr, static_cast<float>(1 - p),
          1 / (1 - p)};
}

/// Returns the number of parts into which to split sums over `length` queries or keys, to get about `busy` blocks.
/// `blocks` is the number of blocks without the split. There is at most one part per 256 queries or keys.
inline int num_attention_splits(int64_t blocks, int64_t busy, int64_t length) {
  return static_cast<int>(std::clamp<int64_t>(busy / blocks, 1, ceil_div(length, 256)));
}

/// Returns e^x for x <= 0. The error is about |x| e^x times a few units in the last place of 1. Because |x| e^x is at
/// most 1/e, the error is less than about one unit in the last place of 1, which is the largest weight.
__device__ __forceinline__ float attention_exp(float x) { return __expf(x); }
__device__ __forceinline__ double attention_exp(double x) { return ::exp(x); }

/// Calls f.operator()<D>() with the smallest D (32, 64 or 128) that is at least the number of columns of q, k and v.
template <class F> void visit_attention_width(const AttentionShape& shape, F f) {
  const int columns = std::max(shape.e, shape.v);
  if (columns <= 32) return f.template operator()<32>();
  if (columns <= 64) return f.template operator()<64>();
  f.template operator()<128>();
}

}  // namespace tandem::kernels::cuda
