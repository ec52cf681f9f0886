// Attention of half types on tensor cores, in one pass over the keys (FlashAttention-2). Each block has a tile of
// queries and loops over tiles of keys and values. Scores, sums and results are float32; weights are rounded to the
// half type before they are multiplied with values. While the scores of a tile are computed, its values are copied to
// shared memory, and while the values are used, the next keys.
#include "tandem/kernels/cuda/attention/half_tiles.cuh"
#include "tandem/kernels/cuda/attention/implementations.h"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct HalfForward {
  HeadRows<const T> q, k, v;
  AttentionMask<T> mask;
  HeadRows<T> out;
  float* lse;
  AttentionShape shape;
  AttentionDropout dropout;
  float scale;  // of the scores in base 2
};

/// State of the softmax of a lane's queries. Query [m][j] is at row(m, 2 j) of the tile.
template <int M> struct RunningSoftmax {
  float peak[M][2], sum[M][2];  // largest score so far, in base 2; sum of 2^(score - peak) over this lane's columns
  unsigned seen = 0;            // bit 2 m + j: whether a mask showed the query a key in one of this lane's columns
};

/// Scales and masks scores. Hidden scores become -infinity.
template <class Tile, bool kMasked, class T, int M>
__device__ __forceinline__ void mask_scores(const HalfForward<T>& a, int64_t mask_at, int first, int from,
                                            typename Tile::Scores& scores, RunningSoftmax<M>& softmax) {
  const bool all = from + Tile::kColumns <= a.shape.end(first + Tile::warp_row());  // whether causal hides none of them
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (auto& four : scores[m])
#pragma unroll
      for (float& score : four) score *= a.scale;
  const bool masked = kMasked && a.mask.data;
  if (all && !masked) return;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = 0; n < Tile::kColumns / 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int query = first + Tile::row(m, i), key = from + Tile::column(n, i);
        if (key >= a.shape.end(query))
          scores[m][n][i] = -__builtin_inff();
        else if (masked && query < a.shape.l)
          softmax.seen |= unsigned(a.mask.apply(mask_at + query * a.mask.query_stride + key * a.mask.key_stride,
                                                scores[m][n][i], kLog2E))
                          << (2 * m + i / 2);
      }
}

/// Replaces scores by powers of 2, relative to the largest score so far, and scales `sums` down if that has risen.
template <int M, int N, int K>
__device__ __forceinline__ void exponentiate(float (&scores)[M][N][4], RunningSoftmax<M>& softmax,
                                             float (&sums)[M][K][4]) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float peak = softmax.peak[m][j];
#pragma unroll
      for (auto& four : scores[m]) peak = ::max(peak, ::max(four[2 * j], four[2 * j + 1]));  // ignores NaN
      peak = ::max(peak, __shfl_xor_sync(kFullWarpMask, peak, 1));
      peak = ::max(peak, __shfl_xor_sync(kFullWarpMask, peak, 2));
      const float base = peak == -__builtin_inff() ? 0 : peak;  // 0 if the query has seen no key: all weights are 0
      const float rescale = fast_exp2(softmax.peak[m][j] - base);
      softmax.peak[m][j] = peak;
      float& sum = softmax.sum[m][j];
      sum *= rescale;
#pragma unroll
      for (auto& four : scores[m])
#pragma unroll
        for (int i = 2 * j; i < 2 * j + 2; ++i) sum += four[i] = fast_exp2(four[i] - base);
#pragma unroll
      for (auto& four : sums[m]) {
        four[2 * j] *= rescale;
        four[2 * j + 1] *= rescale;
      }
    }
}

/// Divides the results by the sums of the weights, and writes the log-sum-exp of the scores.
template <class Tile, class T, int M, int K>
__device__ __forceinline__ void normalize(const HalfForward<T>& a, int matrix, int first, RunningSoftmax<M>& softmax,
                                          float (&sums)[M][K][4]) {
#pragma unroll
  for (int bit = 1; bit <= 2; bit *= 2) softmax.seen |= __shfl_xor_sync(kFullWarpMask, softmax.seen, bit);
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      float sum = softmax.sum[m][j];
#pragma unroll
      for (int bit = 1; bit <= 2; bit *= 2) sum += __shfl_xor_sync(kFullWarpMask, sum, bit);
      const bool none = a.mask.data && !(softmax.seen >> (2 * m + j) & 1) && !(sum > 0);  // the mask hides all keys
      const float factor = 1 / sum;
#pragma unroll
      for (auto& four : sums[m])
#pragma unroll
        for (int i = 2 * j; i < 2 * j + 2; ++i) four[i] = none ? 0 : four[i] * factor;
      const int query = first + Tile::row(m, 2 * j);
      if (Tile::lane() % 4 == 0 && query < a.shape.l)
        a.lse[int64_t(matrix) * a.shape.l + query] =
            none ? __builtin_inff() : softmax.peak[m][j] * (1 / kLog2E) + logf(sum);
    }
}

/// kSimple: the call has neither a mask nor dropout, which saves registers, so that more blocks run at a time.
template <class T, int D, bool kSimple>
__global__ void __launch_bounds__(kAttentionThreads) half_attention_kernel(HalfForward<T> a) {
  using Tile = HalfForwardTile<T, D>;
  constexpr int M = Tile::kRows / 64;
  TANDEM_DYNAMIC_SHARED(T, queries);
  T *const keys = queries + Tile::kRowTile, *const values = keys + Tile::kColumnTile;
  const AttentionShape& shape = a.shape;
  const int block = static_cast<int>(blockIdx.x), matrix = block % shape.matrices;
  const int tiles = (shape.l + Tile::kRows - 1) / Tile::kRows, order = block / shape.matrices;
  // With `causal`, the last tile of queries takes longest, so it comes first.
  const int first = (shape.causal ? tiles - 1 - order : order) * Tile::kRows;
  const int64_t b = matrix / shape.heads, h = matrix % shape.heads;
  const int64_t mask_at = b * a.mask.batch_stride + h * a.mask.head_stride;
  const int key_end = shape.end(first + Tile::kRows - 1);

  typename Tile::Sums sums = {};
  RunningSoftmax<M> softmax;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      softmax.peak[m][j] = -__builtin_inff();
      softmax.sum[m][j] = 0;
    }
  Tile::template load<Tile::kRows>(a.q, b, h, shape.e, first, shape.l, queries);
  Tile::template load<Tile::kColumns>(a.k, b, h, shape.e, 0, shape.s, keys);
  for (int from = 0; from < key_end; from += Tile::kColumns) {
    wait_for_copies();
    __syncthreads();  // keys are complete, and no warp uses the previous values
    Tile::template load<Tile::kColumns>(a.v, b, h, shape.v, from, shape.s, values);
    typename Tile::Scores scores;
    Tile::multiply(queries, keys, scores);
    mask_scores<Tile, !kSimple>(a, mask_at, first, from, scores, softmax);
    exponentiate(scores, softmax, sums);
    if (!kSimple && a.dropout.random) {  // after the sums, because dropout follows softmax
      const float factor = static_cast<float>(a.dropout.factor);
#pragma unroll
      for (int m = 0; m < M; ++m) {
        const unsigned kept = Tile::template kept_weights<false>(a.dropout, shape, matrix, m, first, from);
#pragma unroll
        for (int n = 0; n < Tile::kColumns / 8; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i) scores[m][n][i] = kept >> (4 * n + i) & 1 ? scores[m][n][i] * factor : 0;
      }
    }
    wait_for_copies();
    __syncthreads();  // values are complete, and no warp uses the keys
    if (from + Tile::kColumns < key_end)
      Tile::template load<Tile::kColumns>(a.k, b, h, shape.e, from + Tile::kColumns, shape.s, keys);
    Tile::add_product(scores, values, sums);
  }
  normalize<Tile>(a, matrix, first, softmax, sums);
  Tile::store(sums, 1, a.out, b, h, shape.v, first, shape.l);
}

template <class T>
void forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
             double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  const AttentionShape shape = attention_shape(q, v, causal);
  const HalfForward<T> a{head_rows<const T>(q),
                         head_rows<const T>(k),
                         head_rows<const T>(v),
                         attention_mask<T>(mask),
                         head_rows<T>(out),
                         lse.data<float>(),
                         shape,
                         attention_dropout(dropout_p, random),
                         static_cast<float>(scale) * kLog2E};
  visit_attention_width(shape, [&]<int D>() {
    using Tile = HalfForwardTile<T, D>;
    launch("attention",
           mask.defined() || random.defined() ? half_attention_kernel<T, D, false> : half_attention_kernel<T, D, true>,
           {checked_grid_size(shape.matrices * ceil_div(shape.l, Tile::kRows)), kAttentionThreads,
            kHalfForwardSharedBytes<T, D>},
           q.device(), a);
  });
}

}  // namespace

void half_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, bool causal, double scale,
                    double dropout_p, const Tensor& random, Tensor& out, Tensor& lse) {
  (q.dtype() == kFloat16 ? forward<Half> : forward<BFloat16>)(q, k, v, mask, causal, scale, dropout_p, random, out,
                                                              lse);
}

bool supports_half_attention(const AttentionProblem& problem) {
  const Tensor &q = problem.q, &v = problem.v;
  if (!is_reduced_floating_point(q.dtype()) || !has_tensor_cores(q.device())) return false;
  size_t bytes = 0;
  visit_attention_width(attention_shape(q, v, false), [&]<int D>() {
    bytes = std::max(kHalfForwardSharedBytes<Half, D>, kHalfBackwardSharedBytes<Half, D>);
  });
  return static_cast<int64_t>(bytes) <= gpu::properties(q.device().index()).shared_memory_per_block_optin;
}

}  // namespace tandem::kernels::cuda
