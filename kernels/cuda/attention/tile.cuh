// Code that the forward and backward kernels of float32 and float64 share: tiles of scores (products of queries with
// keys), and products of a tile of scores with rows of a tensor. A block of four warps computes a tile of kRows x 64
// scores. The kernels are compute-bound if shared memory is fast enough. For this, each number that a lane reads from
// shared memory is used for kRowsPerThread or four multiply-adds, and a lane reads 16 bytes at a time. A 16-byte read
// by 32 lanes takes two passes instead of four if the lanes that differ only in bit 0, or only in bit 1, read the same
// address, and the addresses of a pass cover all banks. The assignment of rows and columns to lanes, and the distance
// between rows in shared memory, are chosen to achieve this.
//
// Each row of a score tile belongs to one warp, so maxima, sums and the exchange of scores through shared memory need
// no block-wide barrier. The order of every sum depends only on the shapes.
#pragma once
#include "tandem/kernels/cuda/attention/operands.cuh"
#include "tandem/kernels/cuda/packet.cuh"

namespace tandem::kernels::cuda {

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
  /// Returns a bit for each of this thread's scores, which tells whether dropout keeps the weight: bit 4 i + j for row
  /// row + 2 i and column column + j, where rows are keys if kOfKeys, and queries otherwise. `row` and `column` are the
  /// thread's first ones.
  template <bool kOfKeys>
  __device__ static unsigned kept_weights(const AttentionDropout& dropout, const AttentionShape& shape, int matrix,
                                          int row, int column) {
    static_assert(4 * kRowsPerThread <= 32 && kRowsPerThread % 2 == 0);
    const auto weight = [&](int i, int j) {
      return kOfKeys ? shape.weight(matrix, column + j, row + 2 * i) : shape.weight(matrix, row + 2 * i, column + j);
    };
    const bool by_four = shape.s % 4 == 0;  // then keys 4 n to 4 n + 3 have the numbers of one Philox block
    unsigned bits = 0;
    // The loops are not unrolled, because the code of Philox is long.
    if (!kOfKeys && by_four) {
#pragma unroll 1
      for (int i = 0; i < kRowsPerThread; ++i) bits |= dropout.keeps_four(weight(i, 0)) << 4 * i;
    } else if (by_four) {
#pragma unroll 1
      for (int n = 0; n < 2 * kRowsPerThread; ++n) {  // one block has the numbers of rows i and i + 1
        const int i = n / 4 * 2, j = n % 4, first = row % 4;
        const unsigned four = dropout.keeps_four(weight(i, j) - first) >> first;
        bits |= (four & 1) << (4 * i + j) | (four >> 2 & 1) << (4 * i + 4 + j);
      }
    } else {
#pragma unroll 1
      for (int n = 0; n < 4 * kRowsPerThread; ++n) bits |= unsigned(dropout.keeps(weight(n / 4, n % 4))) << n;
    }
    return bits;
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

}  // namespace tandem::kernels::cuda
