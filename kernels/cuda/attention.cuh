// Code that the forward and backward attention kernels share: tiles of scores (products of queries with keys), and
// products of a tile of scores with rows of a tensor. A block of four warps computes a tile of kRows x 64 scores. The
// kernels are compute-bound if shared memory is fast enough. For this, each number that a lane reads from shared memory
// is used for kRowsPerThread or four multiply-adds, and a lane reads 16 bytes at a time. A 16-byte read by 32 lanes
// takes two passes instead of four if the lanes that differ only in bit 0, or only in bit 1, read the same address, and
// the addresses of a pass cover all banks. The assignment of rows and columns to lanes, and the distance between rows
// in shared memory, are chosen to achieve this.
//
// Each row of a score tile belongs to one warp, so maxima, sums and the exchange of scores through shared memory need
// no block-wide barrier. The order of every sum depends only on the shapes.
#pragma once
#include <algorithm>

#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"

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

/// Mask of the scores. A bool mask is true for the keys that a query sees; a floating-point mask is added to the
/// scores. If `data` is null, there is no mask.
template <class T> struct AttentionMask {
  const void* data;
  bool is_bool;
  int64_t batch_stride, head_stride, query_stride, key_stride;
  /// Applies the mask's element at offset `at` to a score. @return whether the query sees the key; if a query sees no
  /// key, the query's result is 0
  __device__ bool apply(int64_t at, T& score) const {
    if (is_bool) {
      const bool visible = static_cast<const bool*>(data)[at];
      if (!visible) score = -T(__builtin_inf());
      return visible;
    }
    const T added = static_cast<const T*>(data)[at];
    score += added;
    return added != -T(__builtin_inf());
  }
};
template <class T> AttentionMask<T> attention_mask(const Tensor& mask) {
  if (!mask.defined()) return {};
  return {mask.raw_data(), mask.dtype() == kBool, mask.stride(0), mask.stride(1), mask.stride(2), mask.stride(3)};
}

struct AttentionShape {
  int matrices, heads, l, s, e, v;
  bool causal;
  /// Returns the index after the last key that a query may see.
  __device__ int end(int query) const { return ::min(causal ? query + 1 : s, s); }
};
inline AttentionShape attention_shape(const Tensor& q, const Tensor& v, bool causal) {
  const auto size = [](const Tensor& x, int d) { return static_cast<int>(x.size(d)); };
  return {size(q, 0) * size(q, 1), size(q, 1), size(q, 2), size(v, 2), size(q, 3), size(v, 3), causal};
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

/// Whether the rows of a tile of queries, keys or values become the rows or the columns of the score tile.
enum class ScoreSide { rows, columns };

/// Tiles of queries, keys and values with up to D columns, where D is 32, 64 or 128.
template <class T, int D> struct AttentionTile {
  using Four = Packet<T, 4>;
  /// Number of rows of the score tile per thread. It is limited by the registers in backward, where a thread also keeps
  /// kRowsPerThread rows of each of two gradients.
  static constexpr int kRowsPerThread = (D > 64 ? 16 : 32) / static_cast<int>(sizeof(T));
  static constexpr int kRows = kAttentionThreads / 16 * kRowsPerThread, kColumns = 64;
  // Distance, in elements, from one row to the next in shared memory, for tiles of queries, keys and values, and for
  // tiles of scores.
  static constexpr int kRowPitch = D + 4, kScorePitch = kColumns + 16;
  static constexpr int kRowTile = kRows * kRowPitch, kColumnTile = kColumns * kRowPitch,
                       kScoreTile = kRows * kScorePitch;
  static constexpr size_t kForwardSharedBytes = (kRowTile + 2 * kColumnTile + kScoreTile) * sizeof(T);
  static constexpr size_t kBackwardSharedBytes = kForwardSharedBytes + kRowTile * sizeof(T);
  // A thread computes kGroups groups of kWidth consecutive columns of a result with D columns.
  static constexpr int kWidth = D < 64 ? D / 16 : 4, kGroups = D / 16 / kWidth;
  using Sums = Packet<T, kWidth>[kRowsPerThread][kGroups];

  /// A thread computes rows row() + 2 i (0 <= i < kRowsPerThread) of a score tile, and in each of these rows the
  /// columns 4 column() to 4 column() + 3.
  __device__ static int row() { return threadIdx.x / kWarpSize * 2 * kRowsPerThread + (threadIdx.x >> 1 & 1); }
  __device__ static int column() { return (threadIdx.x & 1) | (threadIdx.x >> 1 & 14); }
  /// Calls f(bit) for each bit of the lane number that differs between lanes with the same rows. Used to reduce over
  /// these lanes by shuffles.
  template <class F> __device__ static void for_lanes_of_row(F f) {
    f(1);
    f(4);
    f(8);
    f(16);
  }

  /// Loads a tile of a head's rows, from row `first` on, into shared memory. Rows at or after `end` and columns at or
  /// after `columns` become zeros. For ScoreSide::columns, each row becomes a column of the scores. Then the rows are
  /// permuted, so that the four score columns that a thread computes come from rows that are 16 apart.
  template <ScoreSide kSide>
  __device__ static void load(const HeadRows<const T>& x, int64_t b, int64_t h, int columns, int first, int end,
                              T* to) {
    constexpr int kPackets = D / 4,
                  kLoads = (kSide == ScoreSide::rows ? kRows : kColumns) * kPackets / kAttentionThreads,
                  kStep = kAttentionThreads / kPackets;
    const int c = static_cast<int>(threadIdx.x) % kPackets * 4, r = static_cast<int>(threadIdx.x) / kPackets;
    const T* const from = x.of(b, h) + (first + r) * x.row_stride + c;
    const auto place = [&](int i) {
      const int at = r + i * kStep;
      return to + (kSide == ScoreSide::rows ? at : at % 4 * 16 + at / 4) * kRowPitch + c;
    };
    if (x.aligned && columns % 4 == 0) {  // a separate loop issues all loads before the first value is used
      Four held[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        held[i] = Four{};
        if (first + r + i * kStep < end && c < columns) held[i] = word_at<Four>(from + i * kStep * x.row_stride);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i) word_at<Four>(place(i)) = held[i];
      return;
    }
#pragma unroll 1
    for (int i = 0; i < kLoads; ++i)
      for (int j = 0; j < 4; ++j)
        place(i)[j] = first + r + i * kStep < end && c + j < columns ? from[i * kStep * x.row_stride + j] : T(0);
  }

  /// Computes this thread's scores: the dot products of its rows of the tile `rows` with its rows of the tile
  /// `columns`, over `depth` elements.
  __device__ static void multiply(const T* rows, const T* columns, int depth, T (&scores)[kRowsPerThread][4]) {
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) scores[i][j] = T(0);
    rows += row() * kRowPitch;
    columns += column() * kRowPitch;
#pragma unroll 2
    for (int d = 0; d < depth; d += 4) {
      Four a[kRowsPerThread], b[4];
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) a[i] = word_at<Four>(rows + 2 * i * kRowPitch + d);
#pragma unroll
      for (int j = 0; j < 4; ++j) b[j] = word_at<Four>(columns + 16 * j * kRowPitch + d);
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) scores[i][j] += a[i][n] * b[j][n];
    }
  }
  /// Writes this thread's scores to shared memory, where the other lanes of its warp read them.
  __device__ static void store_scores(const T (&mine)[kRowsPerThread][4], T* scores) {
    scores += row() * kScorePitch + 4 * column();
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i)
      word_at<Four>(scores + 2 * i * kScorePitch) = Four{mine[i][0], mine[i][1], mine[i][2], mine[i][3]};
  }
  /// Adds to `sums` the matrix product of this thread's rows of `scores` with the tile `columns`. Only the first
  /// `count` rows of `columns` are valid.
  __device__ static void add_product(const T* scores, const T* columns, int count, Sums& sums) {
    using Some = Packet<T, kWidth>;
    scores += row() * kScorePitch;
    columns += column() * kWidth;
#pragma unroll 2
    for (int k = 0; k < count; k += 4) {
      Four a[kRowsPerThread];
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i) a[i] = word_at<Four>(scores + 2 * i * kScorePitch + k);
#pragma unroll
      for (int n = 0; n < 4; ++n) {
        Some b[kGroups];
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
          b[g] = word_at<Some>(columns + (16 * n + k / 4) * kRowPitch + g * 16 * kWidth);
#pragma unroll
        for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
          for (int g = 0; g < kGroups; ++g)
#pragma unroll
            for (int w = 0; w < kWidth; ++w) sums[i][g][w] += a[i][n] * b[g][w];
      }
    }
  }
  /// Stores one of this thread's rows of a result, multiplied by `factor`.
  __device__ static void store(const Packet<T, kWidth> (&sums)[kGroups], T factor, T* to, int columns, bool aligned) {
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      Packet<T, kWidth> x;
#pragma unroll
      for (int w = 0; w < kWidth; ++w) x[w] = sums[g][w] * factor;
      store_packet<kWidth>(x, to, (g * 16 + column()) * kWidth, columns, aligned);
    }
  }
};

/// Calls f.operator()<D>() with the smallest D (32, 64 or 128) that is at least the number of columns of q, k and v.
template <class F> void visit_attention_width(const AttentionShape& shape, F f) {
  const int columns = std::max(shape.e, shape.v);
  if (columns <= 32) return f.template operator()<32>();
  if (columns <= 64) return f.template operator()<64>();
  f.template operator()<128>();
}

}  // namespace tandem::kernels::cuda
