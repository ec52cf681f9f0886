// Gradients of attention of half types on tensor cores. backward.cu has the formulas. One pass computes dk and dv: a
// block per tile of keys loops over the queries. Another pass computes dq: a block per tile of queries loops over the
// keys. Both recompute the weights, so that each sum is computed by one block in a fixed order, without atomic
// additions. Scores, their gradients and sums are float32; weights and gradients of scores are rounded to the half type
// before they are multiplied. While a tile of columns is used, the next one is copied to shared memory.
#include "tandem/kernels/cuda/attention/delta.cuh"
#include "tandem/kernels/cuda/attention/half_tiles.cuh"
#include "tandem/kernels/cuda/attention/implementations.h"

namespace tandem::kernels::cuda {
namespace {

template <class T> struct HalfBackward {
  HeadRows<const T> dout, q, k, v;
  AttentionMask<T> mask;
  const float *lse, *delta;
  HeadRows<T> dq, dk, dv;
  AttentionShape shape;
  AttentionDropout dropout;
  float scale;
};

/// lse (in base 2) and delta of a lane's queries: the rows of its scores [m][i / 2], or the columns [n][i % 2].
template <int K> struct QueryNumbers { float lse[K][2], delta[K][2]; };
template <class T, int K, class Query>
__device__ __forceinline__ void load_queries(const HalfBackward<T>& a, int matrix, QueryNumbers<K>& to, Query query) {
#pragma unroll
  for (int k = 0; k < K; ++k)
#pragma unroll
    for (int j = 0; j < 2; ++j) {
      const int q = query(k, j);
      const int64_t at = int64_t(matrix) * a.shape.l + q;
      to.lse[k][j] = q < a.shape.l ? a.lse[at] * kLog2E : 0;
      to.delta[k][j] = q < a.shape.l ? a.delta[at] : 0;
    }
}

/// Replaces the products of queries and keys (scores) by the weights, and the gradients of the weights (slopes) by the
/// gradients of the scores, without the factor `scale`. first and from: the first row and column of the tile.
template <class Tile, bool kOfKeys, bool kSimple, class T, int M, int N, int K>
__device__ __forceinline__ void differentiate(const HalfBackward<T>& a, int matrix, int64_t mask_at, int first,
                                              int from, const QueryNumbers<K>& queries, float (&scores)[M][N][4],
                                              float (&slopes)[M][N][4]) {
  const float scale = a.scale * kLog2E, factor = static_cast<float>(a.dropout.factor);
#pragma unroll
  for (int m = 0; m < M; ++m) {
    unsigned kept = ~0u;
    if (!kSimple && a.dropout.random)
      kept = Tile::template kept_weights<kOfKeys>(a.dropout, a.shape, matrix, m, first, from);
#pragma unroll
    for (int n = 0; n < N; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first + Tile::row(m, i), column = from + Tile::column(n, i);
        const int query = kOfKeys ? column : row, key = kOfKeys ? row : column;
        const float lse = kOfKeys ? queries.lse[n % K][i % 2] : queries.lse[m % K][i / 2];
        const float delta = kOfKeys ? queries.delta[n % K][i % 2] : queries.delta[m % K][i / 2];
        const bool there = query < a.shape.l && key < a.shape.end(query);
        float score = scores[m][n][i] * scale;
        if (!kSimple && a.mask.data && there)
          a.mask.apply(mask_at + query * a.mask.query_stride + key * a.mask.key_stride, score, kLog2E);
        // at most 0, apart from rounding errors, because lse is at least each score
        const float below = score - lse;
        const float weight = there ? fast_exp2(below > 0 ? 0 : below) : 0;
        const bool keeps = kept >> (4 * n + i) & 1;
        const float slope = keeps ? slopes[m][n][i] * factor : 0;
        slopes[m][n][i] = there ? weight * (slope - delta) : 0;
        scores[m][n][i] = keeps ? weight * factor : 0;
      }
  }
}

/// If kOfKeys, computes dk and dv of a tile of keys, which are the rows of score tiles. Otherwise computes dq of a tile
/// of queries. kSimple: the call has neither a mask nor dropout, which saves registers, so that more blocks run at a
/// time. The second launch bound is a number of blocks per multiprocessor; if it is 0, the compiler chooses the number
/// of registers.
template <class T, int D, bool kOfKeys, bool kSimple>
__global__ void __launch_bounds__(kAttentionThreads, kOfKeys&& D > 64 ? 2 : 0)
    half_attention_gradients(HalfBackward<T> a) {
  using Tile = HalfBackwardTile<T, D>;
  constexpr int M = Tile::kRows / 64, N = Tile::kColumns / 8, kQueries = kOfKeys ? N : M;
  TANDEM_DYNAMIC_SHARED(T, rows);
  T *const value_rows = rows + Tile::kRowTile, *const all_columns = value_rows + Tile::kRowTile;
  const AttentionShape& shape = a.shape;
  const int block = static_cast<int>(blockIdx.x), matrix = block % shape.matrices, order = block / shape.matrices;
  const int64_t b = matrix / shape.heads, h = matrix % shape.heads;
  const int64_t mask_at = b * a.mask.batch_stride + h * a.mask.head_stride;
  const int row_end = kOfKeys ? shape.s : shape.l, column_end = kOfKeys ? shape.l : shape.s;
  // With `causal`, the first tile of keys and the last tile of queries take longest, so they come first.
  const int tiles = (row_end + Tile::kRows - 1) / Tile::kRows;
  const int first = (!kOfKeys && shape.causal ? tiles - 1 - order : order) * Tile::kRows;
  const int begin = kOfKeys && shape.causal ? first : 0;
  const int end = kOfKeys ? shape.l : shape.end(first + Tile::kRows - 1);
  const auto load_columns = [&](int from, T* to) {
    Tile::template load<Tile::kColumns>(kOfKeys ? a.q : a.k, b, h, shape.e, from, column_end, to);
    Tile::template load<Tile::kColumns>(kOfKeys ? a.dout : a.v, b, h, shape.v, from, column_end,
                                        to + Tile::kColumnTile);
  };
  Tile::template load<Tile::kRows>(kOfKeys ? a.k : a.q, b, h, shape.e, first, row_end, rows);
  Tile::template load<Tile::kRows>(kOfKeys ? a.v : a.dout, b, h, shape.v, first, row_end, value_rows);
  if (begin < end) load_columns(begin, all_columns);

  typename Tile::Sums sums = {}, value_sums = {};
  QueryNumbers<kQueries> queries;
  if (!kOfKeys) load_queries(a, matrix, queries, [&](int m, int j) { return first + Tile::row(m, 2 * j); });
  int used = 0;  // which of the two pairs of column tiles this turn uses
  for (int from = begin; from < end; from += Tile::kColumns, used ^= 1) {
    wait_for_copies();
    __syncthreads();  // this pair is complete, and no warp uses the other pair
    if (from + Tile::kColumns < end)
      load_columns(from + Tile::kColumns, all_columns + (used ^ 1) * 2 * Tile::kColumnTile);
    const T *const columns = all_columns + used * 2 * Tile::kColumnTile, *const value_columns =
                                                                             columns + Tile::kColumnTile;
    if (kOfKeys) load_queries(a, matrix, queries, [&](int n, int j) { return from + Tile::column(n, j); });
    typename Tile::Scores scores, slopes;
    Tile::multiply(rows, columns, scores);
    Tile::multiply(value_rows, value_columns, slopes);
    differentiate<Tile, kOfKeys, kSimple>(a, matrix, mask_at, first, from, queries, scores, slopes);
    if (kOfKeys) Tile::add_product(scores, value_columns, value_sums);
    Tile::add_product(slopes, columns, sums);
  }
  Tile::store(sums, a.scale, kOfKeys ? a.dk : a.dq, b, h, shape.e, first, row_end);
  if (kOfKeys) Tile::store(value_sums, 1, a.dv, b, h, shape.v, first, row_end);
}

template <class T>
void backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
              const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p, const Tensor& random,
              Tensor& dq, Tensor& dk, Tensor& dv) {
  const AttentionShape shape = attention_shape(q, v, causal);
  const Tensor delta = attention_delta<T>(out, dout, shape);
  const HalfBackward<T> a{head_rows<const T>(dout),
                          head_rows<const T>(q),
                          head_rows<const T>(k),
                          head_rows<const T>(v),
                          attention_mask<T>(mask),
                          lse.data<float>(),
                          delta.data<float>(),
                          head_rows<T>(dq),
                          head_rows<T>(dk),
                          head_rows<T>(dv),
                          shape,
                          attention_dropout(dropout_p, random),
                          static_cast<float>(scale)};
  visit_attention_width(shape, [&]<int D>() {
    const auto run = [&](auto kernel, int64_t rows) {
      launch("attention_backward", kernel,
             {checked_grid_size(shape.matrices * ceil_div(rows, HalfBackwardTile<T, D>::kRows)), kAttentionThreads,
              kHalfBackwardSharedBytes<T, D>},
             q.device(), a);
    };
    if (mask.defined() || random.defined()) {
      run(half_attention_gradients<T, D, true, false>, shape.s);
      run(half_attention_gradients<T, D, false, false>, shape.l);
    } else {
      run(half_attention_gradients<T, D, true, true>, shape.s);
      run(half_attention_gradients<T, D, false, true>, shape.l);
    }
  });
}

}  // namespace

void half_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                             const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                             const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv) {
  (q.dtype() == kFloat16 ? backward<Half> : backward<BFloat16>)(dout, q, k, v, mask, out, lse, causal, scale, dropout_p,
                                                                random, dq, dk, dv);
}

}  // namespace tandem::kernels::cuda
