// The matrix product shared by matmul and convolution: c = a b by tiles, where readers define a and b (a matrix through
// its strides, the patches of an image) and a writer stores c.
//
// Performance. Each multiply-add needs two numbers; if they came from global memory, a GPU would reach a hundredth of
// its speed. So a block of threads computes a tile of kSide x kSide results: for eight steps of k at a time it loads
// the rows of a and the columns of b into shared memory, where each number is used kSide times. Shared memory is still
// too slow for two reads per multiply-add (it delivers 32 numbers a cycle to 128 multipliers). So each thread keeps
// kPerThread x kPerThread results in registers, and the 2 kPerThread numbers that it reads serve kPerThread^2
// multiply-adds. With kPerThread = 8 and reads in packets of four, the kernel is bound by arithmetic. Shared memory is
// double-buffered: while a step is computed from one half, the next step is loaded from global memory into registers,
// then stored to the other half, with one barrier per step. Rows of shared memory are one packet longer than the tile,
// so that neither way of filling them has bank conflicts.
//
// A product with few tiles and a long k would leave most of a GPU idle. Then k is cut into parts: separate blocks sum
// each part into scratch memory, and a second kernel adds the parts in order. The cut depends on sizes alone, so
// results are the same on every device and in every run.
//
// A reader has
//   select(batch): chooses the batch that later calls read;  is_contiguous_along_k(): whether elements along k are
//   contiguous Line line(i), Depth depth(k): precomputed address parts of a row of a (a column of b) and of a step of k
//   read(line, depth): the element, or 0 if it does not exist
// and a writer has store(batch, row, column, value). Elements are passed in the compute type, float for half types;
// readers and writers convert from and to the type in memory. For shapes that tiles do not suit, two more kernels take
// the same readers and writers, both bound by memory: one with a block of threads per result, if there are few results,
// and one with a thread per result.
#pragma once
#include <algorithm>

#include "tandem/core/tensor.h"
#include "tandem/kernels/cuda/divider.cuh"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/types.h"

namespace tandem::kernels::cuda {

constexpr int kTileDepth = 8;

/// Writer of a contiguous result c (batch, m, n).
template <class T> struct MatrixWriter {
  T* data;
  int64_t m, n;
  const T* bias;  // bias of each column of c, or null
  __device__ void store(int64_t batch, int64_t row, int64_t column, OpMath<T> value) const {
    data[(batch * m + row) * n + column] = T(bias ? OpMath<T>(bias[column]) + value : value);
  }
};

/// Partition of `batch` matrix products, (m, k) times (k, n), into tiles.
struct Tiling {
  int64_t batch, m, n, k;
  int tile_side;
  int64_t num_splits, split_depth;  // number of parts into which k is cut, and length of a part along k
  constexpr int64_t row_tiles() const { return ceil_div(m, tile_side); }
  constexpr int64_t column_tiles() const { return ceil_div(n, tile_side); }
  constexpr int64_t num_outputs() const { return batch * m * n; }
};

/// Chooses a tiling, depending on the sizes only. `widest` is the side of the largest tile for which a kernel is
/// compiled.
inline Tiling choose_tiling(int64_t batch, int64_t m, int64_t n, int64_t k, int widest) {
  constexpr int64_t kFullGpuBlocks = 128,
                    kMinPartDepth = 128;  // number of blocks that fill a GPU; minimum length of a part along k
  Tiling t{batch, m, n, k, 32, 1, std::max<int64_t>(ceil_div(k, kTileDepth) * kTileDepth, kTileDepth)};
  if (widest >= 64 && std::min(m, n) > 32) t.tile_side = 64;
  if (widest >= 128 && batch * ceil_div(m, 128) * ceil_div(n, 128) >= kFullGpuBlocks) t.tile_side = 128;
  const int64_t wanted = std::min(2 * kFullGpuBlocks / (batch * t.row_tiles() * t.column_tiles()), k / kMinPartDepth);
  if (wanted < 2) return t;
  t.split_depth = ceil_div(ceil_div(k, wanted), kTileDepth) * kTileDepth;
  t.num_splits = ceil_div(k, t.split_depth);
  return t;
}

/// Loads one thread's share of a step of a tile: read() loads from global memory into registers, and store() writes to
/// shared memory. A line is a row of a or a column of b.
template <class T, int kSide, int kThreads, class Reader> class TileLoader {
 public:
  using Tile = Packet<T, 4>[kTileDepth][kSide / 4 + 1];

  __device__ TileLoader(const Reader& reader, int64_t first_line) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) line_[i] = reader.line(first_line + line_of(reader, i));
  }
  __device__ void read(const Reader& reader, int64_t k, int64_t end) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int64_t at = k + depth_of(reader, i);
      value_[i] = at < end ? reader.read(line_[i], reader.depth(at)) : T(0);
    }
  }
  __device__ void store(const Reader& reader, Tile& tile) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) reinterpret_cast<T*>(tile[depth_of(reader, i)])[line_of(reader, i)] = value_[i];
  }

 private:
  static constexpr int kLoads = kSide * kTileDepth / kThreads;
  // line_of() and depth_of() assign the elements of a tile to threads, so that neighbouring threads load neighbouring
  // elements in memory.
  __device__ static int line_of(const Reader& reader, int i) {
    const int t = threadIdx.x;
    return reader.is_contiguous_along_k() ? t / kTileDepth + i * (kThreads / kTileDepth) : t % kSide;
  }
  __device__ static int depth_of(const Reader& reader, int i) {
    const int t = threadIdx.x;
    return reader.is_contiguous_along_k() ? t % kTileDepth : t / kSide + i * (kThreads / kSide);
  }
  typename Reader::Line line_[kLoads];
  T value_[kLoads];
};

template <class T, int kSide, int kPerThread, class A, class B, class Writer>
__global__ void __launch_bounds__((kSide / kPerThread) * (kSide / kPerThread), kSide == 128 ? 2 : 1)
    multiply_tiles(A a, B b, Writer writer, T* partial, Tiling t) {
  constexpr int kAcross = kSide / kPerThread, kThreads = kAcross * kAcross, kGroups = kPerThread / 4;
  static_assert(kThreads >= kSide, "a thread brings several steps of one line, not several lines");
  using Four = Packet<T, 4>;
  TANDEM_SHARED(Four, a_tiles, [2][kTileDepth][kSide / 4 + 1]);
  TANDEM_SHARED(Four, b_tiles, [2][kTileDepth][kSide / 4 + 1]);

  // Map blockIdx.x to a tile so that tiles of blocks that run at the same time form a rough square, because these
  // blocks then share rows of a and columns of b in the cache. Blocks go through strips of eight rows of tiles, column
  // by column.
  const int64_t row_tiles = t.row_tiles(), column_tiles = t.column_tiles(), tiles = row_tiles * column_tiles;
  const int64_t tile = blockIdx.x % tiles, part = blockIdx.x / tiles % t.num_splits,
                batch = blockIdx.x / tiles / t.num_splits;
  const int64_t strip = tile / (8 * column_tiles), height = math::min<int64_t>(row_tiles - 8 * strip, 8),
                within = tile - strip * 8 * column_tiles;
  const int64_t first_row = (8 * strip + within % height) * kSide, first_column = within / height * kSide;

  a.select(batch);
  b.select(batch);
  TileLoader<T, kSide, kThreads, A> from_a(a, first_row);
  TileLoader<T, kSide, kThreads, B> from_b(b, first_column);
  int64_t k = part * t.split_depth;
  const int64_t end = math::min<int64_t>(k + t.split_depth, t.k);
  from_a.read(a, k, end);
  from_b.read(b, k, end);
  from_a.store(a, a_tiles[0]);
  from_b.store(b, b_tiles[0]);
  __syncthreads();

  const int x = threadIdx.x % kAcross, y = threadIdx.x / kAcross;
  Four sum[kPerThread][kGroups] = {};
  for (int half = 0; k < end; k += kTileDepth, half ^= 1) {
    const bool more = k + kTileDepth < end;
    if (more) {
      from_a.read(a, k + kTileDepth, end);
      from_b.read(b, k + kTileDepth, end);
    }
#pragma unroll
    for (int d = 0; d < kTileDepth; ++d) {
      Four rows[kGroups], columns[kGroups];
#pragma unroll
      for (int g = 0; g < kGroups; ++g) {
        rows[g] = a_tiles[half][d][g * kAcross + y];
        columns[g] = b_tiles[half][d][g * kAcross + x];
      }
#pragma unroll
      for (int i = 0; i < kPerThread; ++i)
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[i][g][j] += rows[i / 4][i % 4] * columns[g][j];
    }
    if (more) {
      from_a.store(a, a_tiles[half ^ 1]);
      from_b.store(b, b_tiles[half ^ 1]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kPerThread; ++i) {
    const int64_t row = first_row + (i / 4 * kAcross + y) * 4 + i % 4;
    if (row >= t.m) continue;
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) {
      const int64_t column = first_column + (j / 4 * kAcross + x) * 4 + j % 4;
      if (column >= t.n) continue;
      if (partial)
        partial[((part * t.batch + batch) * t.m + row) * t.n + column] = sum[i][j / 4][j % 4];
      else
        writer.store(batch, row, column, sum[i][j / 4][j % 4]);
    }
  }
}

/// Adds the partial sums of the parts of k in order, and passes the sums to `writer`.
template <class T, class Writer>
__global__ void reduce_split_k(const T* __restrict__ partial, Writer writer, int64_t num_splits, int64_t num_outputs,
                               int64_t m, int64_t n) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < num_outputs;
       i += int64_t(gridDim.x) * blockDim.x) {
    T sum = partial[i];
    for (int64_t part = 1; part < num_splits; ++part) sum += partial[part * num_outputs + i];
    writer.store(i / n / m, i / n % m, i % n, sum);
  }
}
/// Launches reduce_split_k over `partial` (parts, outputs).
template <class T, class Writer>
void launch_reduce_split_k(const Tensor& partial, const Writer& writer, int64_t num_splits, int64_t num_outputs,
                           int64_t m, int64_t n) {
  const int64_t threads = std::min<int64_t>(ceil_div(num_outputs, kWarpSize) * kWarpSize, 256);
  launch("add_parts", reduce_split_k<T, Writer>,
         {checked_grid_size(std::min<int64_t>(ceil_div(num_outputs, threads), 2048)), static_cast<unsigned>(threads)},
         partial.device(), partial.data<T>(), writer, num_splits, num_outputs, m, n);
}

/// Computes a product by tiles with a side of at most kWidest. The product must have at least one element.
template <class T, int kWidest, class A, class B, class Writer>
void launch_tiles(const char* name, const A& a, const B& b, const Writer& writer, const Tiling& t, Device device) {
  Tensor partial;
  if (t.num_splits > 1) partial = core::empty({t.num_splits * t.num_outputs()}, dtype_of<T>(), device);
  T* const to = partial.defined() ? partial.data<T>() : nullptr;
  const unsigned blocks = checked_grid_size(t.batch * t.row_tiles() * t.column_tiles() * t.num_splits);
  if constexpr (kWidest == 128) {
    if (t.tile_side == 128)
      launch(name, multiply_tiles<T, 128, 8, A, B, Writer>, {blocks, 256}, device, a, b, writer, to, t);
  }
  if constexpr (kWidest >= 64) {
    if (t.tile_side == 64)
      launch(name, multiply_tiles<T, 64, 8, A, B, Writer>, {blocks, 64}, device, a, b, writer, to, t);
  }
  if (t.tile_side == 32)
    launch(name, multiply_tiles<T, 32, 4, A, B, Writer>, {blocks, 64}, device, a, b, writer, to, t);
  if (t.num_splits > 1) launch_reduce_split_k<T>(partial, writer, t.num_splits, t.num_outputs(), t.m, t.n);
}

constexpr int kDotThreads = 256;

/// Computes a product with one block for each element of the result and part of k. The threads of the block sum
/// interleaved elements, and their sums are added by a tree.
template <class T, class A, class B, class Writer>
__global__ void multiply_dots(A a, B b, Writer writer, T* partial, Tiling t) {
  TANDEM_SHARED(T, sums, [kDotThreads]);
  const int64_t num_outputs = t.num_outputs(), output = blockIdx.x % num_outputs, part = blockIdx.x / num_outputs;
  const int64_t column = output % t.n, row = output / t.n % t.m, batch = output / t.n / t.m;
  a.select(batch);
  b.select(batch);
  const auto from_a = a.line(row);
  const auto from_b = b.line(column);
  const int64_t end = math::min<int64_t>((part + 1) * t.split_depth, t.k);
  T sum = T(0);
  for (int64_t k = part * t.split_depth + threadIdx.x; k < end; k += blockDim.x)
    sum += a.read(from_a, a.depth(k)) * b.read(from_b, b.depth(k));
  sums[threadIdx.x] = sum;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x > 0) return;
  if (partial)
    partial[part * num_outputs + output] = sums[0];
  else
    writer.store(batch, row, column, sums[0]);
}
template <class T, class A, class B, class Writer>
void launch_dots(const char* name, const A& a, const B& b, const Writer& writer, Tiling t, Device device) {
  // If the result has few elements, k is cut into parts with 16 multiply-adds per thread.
  t.split_depth = t.num_outputs() < 256 ? kDotThreads * 16 : std::max<int64_t>(t.k, 1);
  t.num_splits = std::max<int64_t>(ceil_div(t.k, t.split_depth), 1);
  Tensor partial;
  if (t.num_splits > 1) partial = core::empty({t.num_splits * t.num_outputs()}, dtype_of<T>(), device);
  unsigned threads = kWarpSize;
  while (threads < kDotThreads && threads * 4 < std::min(t.k, t.split_depth)) threads *= 2;
  launch(name, multiply_dots<T, A, B, Writer>, {checked_grid_size(t.num_outputs() * t.num_splits), threads}, device, a,
         b, writer, partial.defined() ? partial.data<T>() : nullptr, t);
  if (t.num_splits > 1) launch_reduce_split_k<T>(partial, writer, t.num_splits, t.num_outputs(), t.m, t.n);
}

/// Computes a product with one thread for each element of the result. Neighbouring threads compute neighbouring
/// columns.
template <class T, class A, class B, class Writer>
__global__ void multiply_per_thread(A a, B b, Writer writer, Divider m_divider, Divider n_divider, int64_t num_outputs,
                                    int64_t depth) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= num_outputs) return;
  uint64_t row = uint64_t(i), column = row;
  row = n_divider.div_mod(column);
  const int64_t batch = int64_t(m_divider.div_mod(row));
  a.select(batch);
  b.select(batch);
  const auto from_a = a.line(int64_t(row));
  const auto from_b = b.line(int64_t(column));
  T sum = T(0);
  for (int64_t k = 0; k < depth; ++k) sum += a.read(from_a, a.depth(k)) * b.read(from_b, b.depth(k));
  writer.store(batch, int64_t(row), int64_t(column), sum);
}
template <class T, class A, class B, class Writer>
void launch_per_thread(const char* name, const A& a, const B& b, const Writer& writer, const Tiling& t, Device device) {
  const int64_t threads = std::min<int64_t>(ceil_div(t.num_outputs(), kWarpSize) * kWarpSize, 256);
  launch(name, multiply_per_thread<T, A, B, Writer>,
         {checked_grid_size(ceil_div(t.num_outputs(), threads)), static_cast<unsigned>(threads)}, device, a, b, writer,
         Divider(t.m), Divider(t.n), t.num_outputs(), t.k);
}

}  // namespace tandem::kernels::cuda
