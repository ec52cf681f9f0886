// Gradients of attention. The weights are recomputed instead of stored. Let P be the weights, dP = dout v^T and dS = P
// (dP - delta) scale, where delta[query] is the sum of out * dout over columns. Then dv = P^T dout, dk = dS^T q and dq
// = dS k. A block per tile of keys sums dk and dv over the queries, and a block per tile of queries sums dq over the
// keys. P and dS are therefore computed twice, but each sum is computed by one block in a fixed order, without atomic
// additions. Both kinds of blocks run in one launch, because either kind alone would leave much of a GPU idle. If there
// are still too few blocks, several blocks compute parts of a sum, and another kernel adds the parts in order.
// tile.cuh describes what limits the speed of the kernels.
#include <vector>

#include "tandem/kernels/cuda/attention/delta.cuh"
#include "tandem/kernels/cuda/attention/implementations.h"
#include "tandem/kernels/cuda/attention/tile.cuh"

namespace tandem::kernels::cuda {
namespace {

/// A gradient that may be computed as a sum of parts. Part 0 is written to the gradient's own memory, `rows`. The other
/// parts are stored one after another in `parts`, each with the layout of the gradient.
template <class T> struct Gradient {
  HeadRows<T> rows;
  T* parts;
  int64_t numel;
  __device__ T* of(int part, int64_t b, int64_t h) const {
    return part == 0 ? rows.of(b, h) : parts + (part - 1) * numel + (rows.of(b, h) - rows.data);
  }
};

template <class T> struct AttentionBackward {
  HeadRows<const T> dout, q, k, v;
  AttentionMask<T> mask;
  const T *lse, *delta;
  Gradient<T> dq, dk, dv;
  AttentionShape shape;
  T scale;
  AttentionDropout dropout;
  int num_key_splits,
      num_query_splits;  // number of parts of the sums over keys (for dq), and over queries (for dk, dv)
};

/// Writes rows row, row + 2, row + 4, ... below row_end, which this thread computed, to a gradient (if part is 0) or to
/// one of the other parts of the gradient's sum.
template <class Tile, class T>
__device__ __forceinline__ void store_gradient(const typename Tile::Sums& sums, const Gradient<T>& to, int part, int b,
                                               int h, int row, int row_end, int width) {
#pragma unroll
  for (int i = 0; i < Tile::kRowsPerThread; ++i)
    if (row + 2 * i < row_end)
      Tile::store(sums[i], T(1), to.of(part, b, h) + (row + 2 * i) * to.rows.row_stride, width, to.rows.aligned);
}

/// If kOfKeys, computes dk and dv of one tile of keys by a loop over tiles of queries, and the rows of the score tiles
/// are keys. Otherwise computes dq of one tile of queries by a loop over tiles of keys, and the rows of the score tiles
/// are queries. If a sum is split into parts, a block loops over every `parts`-th tile only.
template <class T, int D, bool kOfKeys>
__device__ __forceinline__ void compute_tile_gradients(const AttentionBackward<T>& a, int block, T* shared) {
  using Tile = AttentionTile<T, D>;
  constexpr int kRowsPerThread = Tile::kRowsPerThread,
                kQueries = kOfKeys ? 4 : kRowsPerThread;  // kQueries: queries per thread
  const AttentionShape& shape = a.shape;
  const int parts = kOfKeys ? a.num_query_splits : a.num_key_splits, part = block % parts;
  const int matrix = block / parts % shape.matrices, b = matrix / shape.heads, h = matrix % shape.heads;
  const int order = block / parts / shape.matrices, tiles = (shape.l + Tile::kRows - 1) / Tile::kRows;
  // With `causal`, early tiles of keys and late tiles of queries take longer. If all blocks run at the same time, tiles
  // of keys and tiles of queries both start with the first tile. A multiprocessor that runs one block of each kind then
  // has as much work as the other multiprocessors. If there are more blocks, the tiles that take longest come first.
  const bool reversed = !kOfKeys && shape.causal && gridDim.x > kAttentionFullGpuBlocks;
  const int first = (reversed ? tiles - 1 - order : order) * Tile::kRows;
  const int64_t mask_at = b * a.mask.batch_stride + h * a.mask.head_stride;
  const int row_end = kOfKeys ? shape.s : shape.l;
  const int begin = kOfKeys && shape.causal ? first / Tile::kColumns * Tile::kColumns : 0;
  const int end = kOfKeys ? shape.l : shape.end(first + Tile::kRows - 1);
  T *const rows = shared, *const value_rows = rows + Tile::kRowTile, *const columns = value_rows + Tile::kRowTile,
           *const value_columns = columns + Tile::kColumnTile, *const scores = value_columns + Tile::kColumnTile;
  Tile::template load<ScoreSide::rows>(kOfKeys ? a.k : a.q, b, h, shape.e, first, row_end, rows);
  Tile::template load<ScoreSide::rows>(kOfKeys ? a.v : a.dout, b, h, shape.v, first, row_end, value_rows);

  typename Tile::Sums sums = {}, value_sums = {};
  T lse[kQueries], delta[kQueries];
  const auto load_query = [&](int i, int query) {
    const int64_t at = int64_t(matrix) * shape.l + query;
    lse[i] = query < shape.l ? a.lse[at] : T(0);
    delta[i] = query < shape.l ? a.delta[at] : T(0);
  };
  const int row = first + Tile::row();
  if (!kOfKeys) {
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) load_query(i % kQueries, row + 2 * i);
  }
  for (int from = begin + part * Tile::kColumns; from < end; from += parts * Tile::kColumns) {
    __syncthreads();
    Tile::template load<ScoreSide::columns>(kOfKeys ? a.q : a.k, b, h, shape.e, from, kOfKeys ? shape.l : shape.s,
                                            columns);
    Tile::template load<ScoreSide::columns>(kOfKeys ? a.dout : a.v, b, h, shape.v, from, kOfKeys ? shape.l : shape.s,
                                            value_columns);
    __syncthreads();
    const int column = from + 4 * Tile::column(), count = ::min(end - from, Tile::kColumns);
    if (kOfKeys) {
#pragma unroll
      for (int j = 0; j < 4; ++j) load_query(j % kQueries, column + j);
    }
    T weight[kRowsPerThread][4], score_gradient[kRowsPerThread][4];
    Tile::multiply(rows, columns, shape.e, weight);
    Tile::multiply(value_rows, value_columns, shape.v, score_gradient);
    // Calls f(i, j, query, key, sees) for each score of this thread. `sees` is false if the query or the key does not
    // exist, or if `causal` hides the key from the query.
    const auto for_pairs = [&](auto f) {
#pragma unroll
      for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int query = kOfKeys ? column + j : row + 2 * i, key = kOfKeys ? row + 2 * i : column + j;
          f(i, j, query, key, query < shape.l && key < shape.end(query));
        }
    };
    for_pairs([&](int i, int j, int, int, bool) { weight[i][j] *= a.scale; });
    if (a.mask.data)
      for_pairs([&](int i, int j, int query, int key, bool there) {
        if (there) a.mask.apply(mask_at + query * a.mask.query_stride + key * a.mask.key_stride, weight[i][j]);
      });
    unsigned kept = ~0u;
    if (a.dropout.random) kept = Tile::template kept_weights<kOfKeys>(a.dropout, shape, matrix, row, column);
    const T factor = T(a.dropout.factor);  // of kept weights
    for_pairs([&](int i, int j, int, int, bool there) {
      const int own = (kOfKeys ? j : i) % kQueries;
      const bool keeps = kept >> (4 * i + j) & 1;
      // at most 0, apart from rounding errors, because lse is at least each score
      const T below = weight[i][j] - lse[own];
      weight[i][j] = attention_exp(!there ? -T(__builtin_inf()) : below > T(0) ? T(0) : below);
      const T slope = keeps ? score_gradient[i][j] * factor : T(0);
      score_gradient[i][j] = there ? weight[i][j] * (slope - delta[own]) * a.scale : T(0);
      weight[i][j] = keeps ? weight[i][j] * factor : T(0);
    });
    if (kOfKeys) {
      Tile::store_scores(weight, scores);
      __syncwarp();
      Tile::add_product(scores, value_columns, count, value_sums);
      __syncwarp();
    }
    Tile::store_scores(score_gradient, scores);
    __syncwarp();
    Tile::add_product(scores, columns, count, sums);
  }
  store_gradient<Tile>(sums, kOfKeys ? a.dk : a.dq, part, b, h, row, row_end, shape.e);
  if (kOfKeys) store_gradient<Tile>(value_sums, a.dv, part, b, h, row, row_end, shape.v);
}

/// Computes all gradients. The first `key_blocks` blocks compute dk and dv of tiles of keys, the other blocks dq of
/// tiles of queries.
template <class T, int D>
__global__ void __launch_bounds__(kAttentionThreads, 2) attention_gradients(AttentionBackward<T> a, int key_blocks) {
  TANDEM_DYNAMIC_SHARED(T, shared);
  const int block = static_cast<int>(blockIdx.x), other = block - key_blocks;
  if (other < 0)
    compute_tile_gradients<T, D, true>(a, block, shared);
  else
    compute_tile_gradients<T, D, false>(a, other, shared);
}

/// Adds the parts 1, 2, ... of a gradient to part 0, in order.
template <class T> __global__ void attention_add_parts(Gradient<T> gradient, int parts) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= gradient.numel) return;
  T sum = gradient.rows.data[i];
  for (int p = 1; p < parts; ++p) sum += gradient.parts[(p - 1) * gradient.numel + i];
  gradient.rows.data[i] = sum;
}

template <class T>
void compute_gradients(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                       const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                       const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv) {
  const AttentionShape shape = attention_shape(q, v, causal);
  const Device device = q.device();
  visit_attention_width(shape, [&]<int D>() {
    using Tile = AttentionTile<T, D>;
    const int64_t key_tiles = shape.matrices * ceil_div(shape.s, Tile::kRows),
                  query_tiles = shape.matrices * ceil_div(shape.l, Tile::kRows);
    const int num_query_splits = num_attention_splits(key_tiles, kAttentionFullGpuBlocks / 2, shape.l),
              num_key_splits = num_attention_splits(query_tiles, kAttentionFullGpuBlocks / 2, shape.s);
    std::vector<Tensor> scratch;  // owns the parts of the gradients until all kernels are launched
    const auto gradient = [&](const Tensor& to, int parts) {
      if (parts > 1) scratch.push_back(core::empty(Shape{parts - 1, to.numel()}, to.dtype(), device));
      return Gradient<T>{head_rows<T>(to), parts > 1 ? scratch.back().template data<T>() : nullptr, to.numel()};
    };
    const Tensor delta = attention_delta<T>(out, dout, shape);
    const AttentionBackward<T> a{head_rows<const T>(dout),
                                 head_rows<const T>(q),
                                 head_rows<const T>(k),
                                 head_rows<const T>(v),
                                 attention_mask<T>(mask),
                                 lse.data<T>(),
                                 delta.data<T>(),
                                 gradient(dq, num_key_splits),
                                 gradient(dk, num_query_splits),
                                 gradient(dv, num_query_splits),
                                 shape,
                                 T(scale),
                                 attention_dropout(dropout_p, random),
                                 num_key_splits,
                                 num_query_splits};
    const int64_t key_blocks = key_tiles * num_query_splits, query_blocks = query_tiles * num_key_splits;
    launch("attention_backward", attention_gradients<T, D>,
           {checked_grid_size(key_blocks + query_blocks), kAttentionThreads, Tile::kBackwardSharedBytes}, device, a,
           key_blocks);
    const auto add_parts = [&](const Gradient<T>& to, int parts) {
      if (parts > 1)
        launch("attention_add_parts", attention_add_parts<T>, {checked_grid_size(ceil_div(to.numel, 256)), 256}, device,
               to, parts);
    };
    add_parts(a.dq, num_key_splits);
    add_parts(a.dk, num_query_splits);
    add_parts(a.dv, num_query_splits);
  });
}

}  // namespace

void full_attention_backward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                             const Tensor& out, const Tensor& lse, bool causal, double scale, double dropout_p,
                             const Tensor& random, Tensor& dq, Tensor& dk, Tensor& dv) {
  (q.dtype() == kFloat64 ? compute_gradients<double> : compute_gradients<float>)(dout, q, k, v, mask, out, lse, causal,
                                                                                 scale, dropout_p, random, dq, dk, dv);
}

}  // namespace tandem::kernels::cuda
