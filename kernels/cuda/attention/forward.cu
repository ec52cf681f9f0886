// Attention in one pass over the keys, with a running maximum of the scores and a running sum of the weights (Milakov &
// Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022, arXiv:2205.14135). Each block has one tile of queries and loops
// over tiles of 64 keys; tile.cuh describes what limits its speed. If there are too few tiles of queries to fill a
// GPU, several blocks share a tile of queries. Each of them computes the result for one part of the keys, and a second
// kernel joins the results. The number of parts depends on the shapes alone.
#include "tandem/kernels/cuda/attention/implementations.h"
#include "tandem/kernels/cuda/attention/tile.cuh"
#include "tandem/kernels/cuda/reduce.cuh"

namespace tandem::kernels::cuda {
namespace {

/// Normalization of a query's result, computed from the query's largest score (peak) and its sum of e^(score - peak).
/// The result is the sum of e^(score - peak) * value, times `factor`; or 0 if `is_fully_masked`, because the mask hides
/// every key. `lse` is the log-sum-exp of the scores.
template <class T> struct Normalizer {
  T factor, lse;
  bool is_fully_masked;
  /// @param seen  whether any key was visible to the query
  __device__ Normalizer(T peak, T sum, bool seen)
      : factor(T(1) / sum), lse(peak + math::log(sum)), is_fully_masked(!(sum > T(0)) && !seen) {
    if (is_fully_masked) lse = T(__builtin_inf());
  }
};

/// Partition of the keys into `count` parts: part p consists of the tiles p, p + count, p + 2 count, ... If count > 1,
/// a block writes a row for each query to `data` (count, queries of all heads, v + 3): the sum of weighted values, the
/// largest score, the sum of the weights, and whether a key was visible.
template <class T> struct KeySplits {
  T* data;
  int count;
};

/// Writes the results of this thread's queries to `out` and `lse`; or to `parts`, if the keys are split into parts. Bit
/// i of `seen` tells whether this thread found a visible key for query row() + 2 i.
template <class Tile, class T>
__device__ __forceinline__ void store_queries(typename Tile::Sums& sums, const T (&peak)[Tile::kRowsPerThread],
                                              T (&sum)[Tile::kRowsPerThread], unsigned seen, int part, int matrix,
                                              int first, const HeadRows<T>& out, T* lse, const KeySplits<T>& parts,
                                              const AttentionShape& shape) {
  Tile::for_lanes_of_row([&](int bit) {
    seen |= __shfl_xor_sync(kFullWarpMask, seen, bit);
#pragma unroll
    for (int i = 0; i < Tile::kRowsPerThread; ++i) sum[i] += __shfl_xor_sync(kFullWarpMask, sum[i], bit);
  });
#pragma unroll
  for (int i = 0; i < Tile::kRowsPerThread; ++i) {
    const int query = first + Tile::row() + 2 * i;
    if (query >= shape.l) continue;
    const bool visible = seen >> i & 1;
    const int64_t row = int64_t(matrix) * shape.l + query;
    if (parts.count > 1) {
      T* const to = parts.data + (int64_t(part) * shape.matrices * shape.l + row) * (shape.v + 3);
      Tile::store(sums[i], T(1), to, shape.v, false);
      if (Tile::column() == 0) {
        to[shape.v] = peak[i];
        to[shape.v + 1] = sum[i];
        to[shape.v + 2] = T(visible);
      }
      continue;
    }
    const Normalizer<T> norm(peak[i], sum[i], visible);
    if (norm.is_fully_masked) {  // writes exact zeros, because multiplying by 0 would keep a NaN
#pragma unroll
      for (auto& group : sums[i]) group = {};
    }
    Tile::store(sums[i], norm.is_fully_masked ? T(0) : norm.factor,
                out.of(matrix / shape.heads, matrix % shape.heads) + query * out.row_stride, shape.v, out.aligned);
    if (Tile::column() == 0) lse[row] = norm.lse;
  }
}

template <class T, int D>
__global__ void __launch_bounds__(kAttentionThreads, 2)
    attention_tiles(HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v, AttentionMask<T> mask,
                    HeadRows<T> out, T* lse, KeySplits<T> parts, AttentionShape shape, T scale,
                    AttentionDropout dropout) {
  using Tile = AttentionTile<T, D>;
  constexpr int kRowsPerThread = Tile::kRowsPerThread;
  constexpr T kMinusInfinity = -T(__builtin_inf());
  TANDEM_DYNAMIC_SHARED(T, queries);
  T *const keys = queries + Tile::kRowTile, *const values = keys + Tile::kColumnTile,
           *const scores = values + Tile::kColumnTile;

  int block = static_cast<int>(blockIdx.x);
  const int part = block % parts.count;
  block /= parts.count;
  const int matrix = block % shape.matrices, b = matrix / shape.heads, h = matrix % shape.heads;
  // With `causal`, later tiles of queries have more keys, so they take longer. If all blocks run at the same time, the
  // first half of the blocks takes the later tiles in descending order, and the second half the earlier tiles in
  // ascending order. A multiprocessor that runs one block of each half then has as much work as the other
  // multiprocessors. If there are more blocks, the tiles that take longest come first.
  const int tiles = (shape.l + Tile::kRows - 1) / Tile::kRows, order = block / shape.matrices;
  const bool late = gridDim.x > kAttentionFullGpuBlocks || 2 * order < tiles;
  const int tile = !shape.causal ? order : late ? tiles - 1 - order : order - (tiles + 1) / 2;
  const int first = tile * Tile::kRows, key_end = shape.end(first + Tile::kRows - 1);
  const int64_t mask_at = b * mask.batch_stride + h * mask.head_stride;

  T peak[kRowsPerThread], sum[kRowsPerThread];
  typename Tile::Sums sums = {};
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    peak[i] = kMinusInfinity;
    sum[i] = T(0);
  }
  unsigned seen = 0;  // bit i tells whether a key was visible to the thread's i-th query
  Tile::template load<ScoreSide::rows>(q, b, h, shape.e, first, shape.l, queries);
  for (int from = part * Tile::kColumns; from < key_end; from += parts.count * Tile::kColumns) {
    __syncthreads();
    Tile::template load<ScoreSide::columns>(k, b, h, shape.e, from, shape.s, keys);
    Tile::template load<ScoreSide::columns>(v, b, h, shape.v, from, shape.s, values);
    __syncthreads();
    T x[kRowsPerThread][4];
    Tile::multiply(queries, keys, shape.e, x);
    const int query = first + Tile::row(), key = from + 4 * Tile::column();
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
      for (int j = 0; j < 4; ++j) x[i][j] = key + j < shape.end(query + 2 * i) ? x[i][j] * scale : kMinusInfinity;
    if (mask.data) {
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (query + 2 * i < shape.l && key + j < shape.s)
            seen |= unsigned(mask.apply(mask_at + (query + 2 * i) * mask.query_stride + (key + j) * mask.key_stride,
                                        x[i][j]))
                    << i;
    }
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      T found = peak[i];
#pragma unroll
      for (int j = 0; j < 4; ++j) found = ::max(found, x[i][j]);  // max() ignores NaN, but a NaN makes the sum NaN
      Tile::for_lanes_of_row([&](int bit) { found = ::max(found, __shfl_xor_sync(kFullWarpMask, found, bit)); });
      // 0 if the mask hides all keys so far; all weights are then 0
      const T base = found == kMinusInfinity ? T(0) : found;
      const T rescale = attention_exp(peak[i] - base);
      peak[i] = found;
      sum[i] *= rescale;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        x[i][j] = attention_exp(x[i][j] - base);
        sum[i] += x[i][j];
      }
#pragma unroll
      for (auto& group : sums[i])
#pragma unroll
        for (T& value : group.v) value *= rescale;
    }
    if (dropout.random) {  // after the sums, because dropout follows softmax
      const unsigned kept = Tile::template kept_weights<false>(dropout, shape, matrix, query, key);
      const T factor = T(dropout.factor);
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) x[i][j] = kept >> (4 * i + j) & 1 ? x[i][j] * factor : T(0);
    }
    Tile::store_scores(x, scores);
    __syncwarp();
    Tile::add_product(scores, values, ::min(key_end - from, Tile::kColumns), sums);
  }
  store_queries<Tile>(sums, peak, sum, mask.data ? seen : ~0u, part, matrix, first, out, lse, parts, shape);
}

/// Combines the results for the parts of the keys. One thread computes each element of the result.
template <class T>
__global__ void attention_combine(KeySplits<T> parts, HeadRows<T> out, T* lse, AttentionShape shape) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x, rows = int64_t(shape.matrices) * shape.l;
  const int64_t row = quotient(i, shape.v), column = remainder(i, shape.v), width = shape.v + 3;
  if (row >= rows) return;
  const T* const first = parts.data + row * width;
  T peak = -T(__builtin_inf()), sum = T(0), value = T(0);
  for (int p = 0; p < parts.count; ++p) peak = ::max(peak, first[p * rows * width + shape.v]);
  const T base = peak == -T(__builtin_inf()) ? T(0) : peak;
  bool seen = false;
  for (int p = 0; p < parts.count; ++p) {
    const T *const part = first + p * rows * width, rescale = attention_exp(part[shape.v] - base);
    value += part[column] * rescale;
    sum += part[shape.v + 1] * rescale;
    seen = seen || part[shape.v + 2] != T(0);
  }
  const Normalizer<T> norm(peak, sum, seen);
  const int64_t matrix = quotient(row, shape.l), query = remainder(row, shape.l);
  out.of(quotient(matrix, shape.heads), remainder(matrix, shape.heads))[query * out.row_stride + column] =
      norm.is_fully_masked ? T(0) : value * norm.factor;
  if (column == 0) lse[row] = norm.lse;
}

template <class T>
void attention_forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                       double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  const AttentionShape shape = attention_shape(q, v, causal);
  const Device device = q.device();
  visit_attention_width(shape, [&]<int D>() {
    using Tile = AttentionTile<T, D>;
    const int64_t blocks = shape.matrices * ceil_div(shape.l, Tile::kRows);
    KeySplits<T> parts{nullptr, num_attention_splits(blocks, kAttentionFullGpuBlocks, shape.s)};
    Tensor scratch;
    if (parts.count > 1) {
      scratch = core::empty(Shape{parts.count, shape.matrices, shape.l, shape.v + 3}, q.dtype(), device);
      parts.data = scratch.data<T>();
    }
    launch("attention", attention_tiles<T, D>,
           {checked_grid_size(blocks * parts.count), kAttentionThreads, Tile::kForwardSharedBytes}, device,
           head_rows<const T>(q), head_rows<const T>(k), head_rows<const T>(v), attention_mask<T>(mask),
           head_rows<T>(out), lse.data<T>(), parts, shape, T(scale), attention_dropout(dropout_p, random));
    if (parts.count > 1)
      launch("attention_join", attention_combine<T>, {checked_grid_size(ceil_div(out.numel(), 256)), 256}, device,
             parts, head_rows<T>(out), lse.data<T>(), shape);
  });
}

}  // namespace

bool supports_full_attention(const AttentionProblem& problem) {
  const Tensor &q = problem.q, &v = problem.v;
  if (is_reduced_floating_point(q.dtype())) return false;
  size_t bytes = 0;
  visit_attention_width(attention_shape(q, v, false), [&]<int D>() {
    bytes = q.dtype() == kFloat64 ? AttentionTile<double, D>::kBackwardSharedBytes
                                  : AttentionTile<float, D>::kBackwardSharedBytes;
  });
  return static_cast<int64_t>(bytes) <= gpu::properties(q.device().index()).shared_memory_per_block_optin;
}

void full_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                    double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  (q.dtype() == kFloat64 ? attention_forward<double> : attention_forward<float>)(q, k, v, mask, causal, scale,
                                                                                 dropout_p, random, out, lse);
}

}  // namespace tandem::kernels::cuda
