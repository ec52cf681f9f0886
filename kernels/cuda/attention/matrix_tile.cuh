// Code that the forward and backward kernels of half types share: tiles of scores that four warps compute on tensor
// cores, as in FlashAttention-2 (Dao 2023, arXiv:2307.08691). A warp computes all columns of its own rows of a score
// tile, so it reduces over a row by shuffles of four lanes. The registers that hold scores (results of a product) hold,
// after rounding to the half type, a factor of the next product: weights never pass through shared memory.
//
// Shared memory holds tiles of queries, keys and values: rows of D elements, 2 D + 16 bytes apart. The eight rows that
// one load of a matrix reads are then in different banks.
#pragma once
#include "tandem/kernels/cuda/attention/operands.cuh"
#include "tandem/kernels/cuda/tensor_core.cuh"

namespace tandem::kernels::cuda {

constexpr float kLog2E = 1.44269504f;  // 1 / ln 2: weights are computed as powers of 2

/// Tiles for heads of up to D columns (32, 64 or 128). A score tile has 16 M rows per warp, and 8 N columns. A lane
/// holds, of the 16 x 8 matrix (m, n) of its warp, element i (0 to 3) at row row(m, i) and column column(n, i).
template <class T, int D, int M, int N> struct MatrixTile {
  static constexpr int kRows = kAttentionThreads / kWarpSize * 16 * M, kColumns = 8 * N;
  static constexpr int kPitch = D + 8;  // distance of rows in shared memory, in elements
  static constexpr int kRowTile = kRows * kPitch, kColumnTile = kColumns * kPitch;
  using Scores = float[M][N][4];
  using Sums = float[M][D / 8][4];  // result of a product with D columns, distributed like scores

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % kWarpSize; }
  __device__ static int warp_row() { return static_cast<int>(threadIdx.x) / kWarpSize * 16 * M; }
  __device__ static int row(int m, int i) { return warp_row() + 16 * m + lane() / 4 + i / 2 * 8; }
  __device__ static int column(int n, int i) { return 8 * n + lane() % 4 * 2 + i % 2; }

  /// Starts to copy kCount rows of a head, from row `first` on, to shared memory. Rows at or after `end` and columns at
  /// or after `columns` become zeros. The tile is complete after wait_for_copies() and a barrier.
  template <int kCount>
  __device__ static void load(const HeadRows<const T>& x, int64_t b, int64_t h, int columns, int first, int end,
                              T* to) {
    constexpr int kChunks = D / 8, kStep = kAttentionThreads / kChunks;
    static_assert(kCount % kStep == 0);
    const int c = static_cast<int>(threadIdx.x) % kChunks * 8, r = static_cast<int>(threadIdx.x) / kChunks;
    const T* const head = x.of(b, h);
    if (x.aligned && columns % 8 == 0) {
#pragma unroll
      for (int i = r; i < r + kCount; i += kStep) {
        const bool present = first + i < end && c < columns;
        copy_async(to + i * kPitch + c, present ? head + (first + i) * x.row_stride + c : x.data, present);
      }
      return;
    }
#pragma unroll 1
    for (int i = r; i < r + kCount; i += kStep)
      for (int j = c; j < c + 8; ++j)
        to[i * kPitch + j] = first + i < end && j < columns ? head[(first + i) * x.row_stride + j] : T(0.0f);
  }

  /// Computes the scores: the dot products of the tile `rows` with the rows of the tile `columns`.
  __device__ static void multiply(const T* rows, const T* columns, Scores& scores) {
    const int l = lane();
    rows += (warp_row() + l % 16) * kPitch + l / 16 * 8;
    columns += (l / 16 * 8 + l % 8) * kPitch + l / 8 % 2 * 8;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int n = 0; n < N; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[m][n][i] = 0;
#pragma unroll
    for (int k = 0; k < D; k += 16) {
      uint32_t a[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m) load_matrices<false>(a[m], rows + 16 * m * kPitch + k);
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        uint32_t b[4];
        load_matrices<false>(b, columns + 8 * n * kPitch + k);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          multiply_matrices<T>(scores[m][n], a[m], b[0], b[1]);
          multiply_matrices<T>(scores[m][n + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
  /// Adds to `sums` the matrix product of the scores, rounded to T, with the tile `columns`.
  __device__ static void add_product(const Scores& scores, const T* columns, Sums& sums) {
    const int l = lane();
    columns += l % 16 * kPitch + l / 16 * 8;
#pragma unroll
    for (int n = 0; n < N; n += 2) {
      uint32_t a[M][4];
#pragma unroll
      for (int m = 0; m < M; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          a[m][i] = round_pair<T>(scores[m][n + i / 2][i % 2 * 2], scores[m][n + i / 2][i % 2 * 2 + 1]);
#pragma unroll
      for (int d = 0; d < D / 8; d += 2) {
        uint32_t b[4];
        load_matrices<true>(b, columns + 8 * n * kPitch + 8 * d);
#pragma unroll
        for (int m = 0; m < M; ++m) {
          multiply_matrices<T>(sums[m][d], a[m], b[0], b[1]);
          multiply_matrices<T>(sums[m][d + 1], a[m], b[2], b[3]);
        }
      }
    }
  }
  /// Stores the rows of a result that exist (`first` + row < end), multiplied by `factor`.
  __device__ static void store(const Sums& sums, float factor, const HeadRows<T>& to, int64_t b, int64_t h, int columns,
                               int first, int end) {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int d = 0; d < D / 8; ++d)
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
          const int r = first + row(m, i), c = column(d, 0);
          if (r < end)
            store_packet<2>(Packet<T, 2>{T(sums[m][d][i] * factor), T(sums[m][d][i + 1] * factor)},
                            to.of(b, h) + r * to.row_stride, c, columns, to.aligned);
        }
  }

  /// Returns a bit for each of this lane's scores of matrices (m, 0), (m, 1), ..., which tells whether dropout keeps
  /// the weight: bit 4 n + i. Rows are keys if kOfKeys, and queries otherwise; the tile's first ones are `row_from` and
  /// `column_from`.
  template <bool kOfKeys>
  __device__ static unsigned kept_weights(const AttentionDropout& dropout, const AttentionShape& shape, int matrix,
                                          int m, int row_from, int column_from) {
    static_assert(4 * N <= 32);
    const auto weight = [&](int n, int i) {
      const int r = row_from + row(m, i), c = column_from + column(n, i);
      return kOfKeys ? shape.weight(matrix, c, r) : shape.weight(matrix, r, c);
    };
    const bool by_four = shape.s % 4 == 0;  // then keys 4 n to 4 n + 3 have the numbers of one Philox block
    unsigned bits = 0;
#pragma unroll 1  // the code of Philox is long
    for (int n = 0; n < N; ++n) {
      unsigned mine = 0;
      if (!by_four) {
        for (int i = 0; i < 4; ++i) mine |= unsigned(dropout.keeps(weight(n, i))) << i;
      } else if (!kOfKeys) {
        // Lanes 2 j and 2 j + 1 share blocks of rows row(m, 0) and row(m, 2). Each of them computes one.
        const int odd = lane() & 1;
        const unsigned four = dropout.keeps_four(weight(n, 2 * odd) - 2 * odd);
        const unsigned other = __shfl_xor_sync(kFullWarpMask, four, 1);
        mine = odd ? (other >> 2 & 3) | (four >> 2 & 3) << 2 : (four & 3) | (other & 3) << 2;
      } else {
        // Lanes with four neighbouring keys share the blocks of their four scores i. Each of them computes one.
        const int key = lane() >> 2 & 3;
        const unsigned four = dropout.keeps_four(weight(n, key) - key);
#pragma unroll
        for (int other = 0; other < 4; ++other)
          mine |= (__shfl_xor_sync(kFullWarpMask, four, 4 * other) >> key & 1) << (key ^ other);
      }
      bits |= mine << 4 * n;
    }
    return bits;
  }
};

}  // namespace tandem::kernels::cuda
