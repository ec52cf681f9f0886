// The matrix product that matmul and convolution share: c = a b by tiles, where a and b are whatever their readers say
// (a matrix through its strides, the patches of an image) and c goes through a writer.
//
// What bounds it. Each multiply-add needs two numbers; taken from memory, a GPU would compute at a hundredth of its
// speed. So a block of threads computes a tile of kSide x kSide results: for eight steps of k at a time it brings the
// rows of a and the columns of b into shared memory, where each number serves kSide times. Shared memory still is too
// slow for two reads a multiply-add (it delivers 32 numbers a cycle to 128 multipliers). So each thread keeps kOwn x
// kOwn results in registers, and the 2 kOwn numbers that it reads serve kOwn^2 multiply-adds: with kOwn = 8, in packets
// of four, the multipliers are what is waited for. While a step is computed from one half of shared memory, the next is
// on its way from global memory into registers, then into the other half: one barrier a step. Rows of shared memory are
// a packet longer than the tile, so that neither way of filling them meets a bank twice.
//
// A product with few tiles and a long k would leave most of a GPU idle: then k is cut into parts, each summed by blocks
// of its own into scratch memory, and the parts are added in their order by a second kernel. Where it is cut depends on
// sizes alone, so results are the same on every device and in every run.
//
// A reader has
//   select(batch): from now on that of this batch;  depth_first(): whether elements along k are neighbours in memory
//   Line line(i), Depth depth(k): what is worth keeping of a row of a (a column of b) and of a step of k
//   read(line, depth): the element, 0 where there is none
// and a writer has put(batch, row, column, value). Elements are what is computed in, float for half types: what lies in
// memory is theirs to convert. What tiles do not suit has two more kernels for the same readers and
// writers, both bounded by memory: a block of threads for each result, where results are few, and a thread for each.
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

/// Of c (batch, m, n), contiguous.
template <class T> struct MatrixWriter {
  T* data;
  int64_t m, n;
  const T* bias;  // a number for each column, or null
  __device__ void put(int64_t batch, int64_t row, int64_t column, Upcast<T> value) const {
    data[(batch * m + row) * n + column] = T(bias ? Upcast<T>(bias[column]) + value : value);
  }
};

/// How a product of `batch` times (m, k) by (k, n) is cut.
struct Tiling {
  int64_t batch, m, n, k;
  int side;
  int64_t parts, part_depth;  // of k
  constexpr int64_t down() const { return ceil_div(m, side); }
  constexpr int64_t across() const { return ceil_div(n, side); }
  constexpr int64_t outputs() const { return batch * m * n; }
};

/// By sizes alone. `widest` is the largest tile that there is a kernel for.
inline Tiling tiling_of(int64_t batch, int64_t m, int64_t n, int64_t k, int widest) {
  constexpr int64_t kBusy = 128, kWorth = 128;  // blocks that fill a GPU; steps of k that are worth a block
  Tiling t{batch, m, n, k, 32, 1, std::max<int64_t>(ceil_div(k, kTileDepth) * kTileDepth, kTileDepth)};
  if (widest >= 64 && std::min(m, n) > 32) t.side = 64;
  if (widest >= 128 && batch * ceil_div(m, 128) * ceil_div(n, 128) >= kBusy) t.side = 128;
  const int64_t wanted = std::min(2 * kBusy / (batch * t.down() * t.across()), k / kWorth);
  if (wanted < 2) return t;
  t.part_depth = ceil_div(ceil_div(k, wanted), kTileDepth) * kTileDepth;
  t.parts = ceil_div(k, t.part_depth);
  return t;
}

/// What one thread brings of a step's lines, on the way through its registers.
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
  __device__ void put(const Reader& reader, Tile& tile) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) reinterpret_cast<T*>(tile[depth_of(reader, i)])[line_of(reader, i)] = value_[i];
  }

 private:
  static constexpr int kLoads = kSide * kTileDepth / kThreads;
  // Neighbouring threads take what are neighbours in memory.
  __device__ static int line_of(const Reader& reader, int i) {
    const int t = threadIdx.x;
    return reader.depth_first() ? t / kTileDepth + i * (kThreads / kTileDepth) : t % kSide;
  }
  __device__ static int depth_of(const Reader& reader, int i) {
    const int t = threadIdx.x;
    return reader.depth_first() ? t % kTileDepth : t / kSide + i * (kThreads / kSide);
  }
  typename Reader::Line line_[kLoads];
  T value_[kLoads];
};

template <class T, int kSide, int kOwn, class A, class B, class Writer>
__global__ void __launch_bounds__((kSide / kOwn) * (kSide / kOwn), kSide == 128 ? 2 : 1)
    multiply_tiles(A a, B b, Writer writer, T* partial, Tiling t) {
  constexpr int kAcross = kSide / kOwn, kThreads = kAcross * kAcross, kGroups = kOwn / 4;
  static_assert(kThreads >= kSide, "a thread brings several steps of one line, not several lines");
  using Four = Packet<T, 4>;
  TANDEM_SHARED(Four, a_tiles, [2][kTileDepth][kSide / 4 + 1]);
  TANDEM_SHARED(Four, b_tiles, [2][kTileDepth][kSide / 4 + 1]);

  // Blocks that run at a time share rows and columns in the cache when their tiles form a square: eight rows of tiles
  // are gone through together.
  const int64_t down = t.down(), across = t.across(), tiles = down * across;
  const int64_t tile = blockIdx.x % tiles, part = blockIdx.x / tiles % t.parts, batch = blockIdx.x / tiles / t.parts;
  const int64_t strip = tile / (8 * across), height = math::min<int64_t>(down - 8 * strip, 8),
                within = tile - strip * 8 * across;
  const int64_t first_row = (8 * strip + within % height) * kSide, first_column = within / height * kSide;

  a.select(batch);
  b.select(batch);
  TileLoader<T, kSide, kThreads, A> from_a(a, first_row);
  TileLoader<T, kSide, kThreads, B> from_b(b, first_column);
  int64_t k = part * t.part_depth;
  const int64_t end = math::min<int64_t>(k + t.part_depth, t.k);
  from_a.read(a, k, end);
  from_b.read(b, k, end);
  from_a.put(a, a_tiles[0]);
  from_b.put(b, b_tiles[0]);
  __syncthreads();

  const int x = threadIdx.x % kAcross, y = threadIdx.x / kAcross;
  Four sum[kOwn][kGroups] = {};
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
      for (int i = 0; i < kOwn; ++i)
#pragma unroll
        for (int g = 0; g < kGroups; ++g)
#pragma unroll
          for (int j = 0; j < 4; ++j) sum[i][g][j] += rows[i / 4][i % 4] * columns[g][j];
    }
    if (more) {
      from_a.put(a, a_tiles[half ^ 1]);
      from_b.put(b, b_tiles[half ^ 1]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int64_t row = first_row + (i / 4 * kAcross + y) * 4 + i % 4;
    if (row >= t.m) continue;
#pragma unroll
    for (int j = 0; j < kOwn; ++j) {
      const int64_t column = first_column + (j / 4 * kAcross + x) * 4 + j % 4;
      if (column >= t.n) continue;
      if (partial)
        partial[((part * t.batch + batch) * t.m + row) * t.n + column] = sum[i][j / 4][j % 4];
      else
        writer.put(batch, row, column, sum[i][j / 4][j % 4]);
    }
  }
}

/// The parts of k, added in their order.
template <class T, class Writer>
__global__ void add_parts(const T* __restrict__ partial, Writer writer, int64_t parts, int64_t outputs, int64_t m,
                          int64_t n) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < outputs; i += int64_t(gridDim.x) * blockDim.x) {
    T sum = partial[i];
    for (int64_t part = 1; part < parts; ++part) sum += partial[part * outputs + i];
    writer.put(i / n / m, i / n % m, i % n, sum);
  }
}
/// `partial` (parts, outputs) -> writer.
template <class T, class Writer>
void launch_add_parts(const Tensor& partial, const Writer& writer, int64_t parts, int64_t outputs, int64_t m,
                      int64_t n) {
  const int64_t threads = std::min<int64_t>(ceil_div(outputs, kWarpSize) * kWarpSize, 256);
  launch("add_parts", add_parts<T, Writer>,
         {checked_grid(std::min<int64_t>(ceil_div(outputs, threads), 2048)), static_cast<unsigned>(threads)},
         partial.device(), partial.data<T>(), writer, parts, outputs, m, n);
}

/// Runs a product by tiles of at most kWidest; outputs must be more than none.
template <class T, int kWidest, class A, class B, class Writer>
void launch_tiles(const char* name, const A& a, const B& b, const Writer& writer, const Tiling& t, Device device) {
  Tensor partial;
  if (t.parts > 1) partial = core::empty({t.parts * t.outputs()}, dtype_of<T>(), device);
  T* const to = partial.defined() ? partial.data<T>() : nullptr;
  const unsigned blocks = checked_grid(t.batch * t.down() * t.across() * t.parts);
  if constexpr (kWidest == 128) {
    if (t.side == 128)
      launch(name, multiply_tiles<T, 128, 8, A, B, Writer>, {blocks, 256}, device, a, b, writer, to, t);
  }
  if constexpr (kWidest >= 64) {
    if (t.side == 64) launch(name, multiply_tiles<T, 64, 8, A, B, Writer>, {blocks, 64}, device, a, b, writer, to, t);
  }
  if (t.side == 32) launch(name, multiply_tiles<T, 32, 4, A, B, Writer>, {blocks, 64}, device, a, b, writer, to, t);
  if (t.parts > 1) launch_add_parts<T>(partial, writer, t.parts, t.outputs(), t.m, t.n);
}

constexpr int kDotThreads = 256;

/// A block for each result and part of k: its threads stride over the part, and add up their sums as a tree.
template <class T, class A, class B, class Writer>
__global__ void multiply_dots(A a, B b, Writer writer, T* partial, Tiling t) {
  TANDEM_SHARED(T, sums, [kDotThreads]);
  const int64_t outputs = t.outputs(), output = blockIdx.x % outputs, part = blockIdx.x / outputs;
  const int64_t column = output % t.n, row = output / t.n % t.m, batch = output / t.n / t.m;
  a.select(batch);
  b.select(batch);
  const auto from_a = a.line(row);
  const auto from_b = b.line(column);
  const int64_t end = math::min<int64_t>((part + 1) * t.part_depth, t.k);
  T sum = T(0);
  for (int64_t k = part * t.part_depth + threadIdx.x; k < end; k += blockDim.x)
    sum += a.read(from_a, a.depth(k)) * b.read(from_b, b.depth(k));
  sums[threadIdx.x] = sum;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x > 0) return;
  if (partial)
    partial[part * outputs + output] = sums[0];
  else
    writer.put(batch, row, column, sums[0]);
}
template <class T, class A, class B, class Writer>
void launch_dots(const char* name, const A& a, const B& b, const Writer& writer, Tiling t, Device device) {
  // Of few results, parts of 16 steps a thread.
  t.part_depth = t.outputs() < 256 ? kDotThreads * 16 : std::max<int64_t>(t.k, 1);
  t.parts = std::max<int64_t>(ceil_div(t.k, t.part_depth), 1);
  Tensor partial;
  if (t.parts > 1) partial = core::empty({t.parts * t.outputs()}, dtype_of<T>(), device);
  unsigned threads = kWarpSize;
  while (threads < kDotThreads && threads * 4 < std::min(t.k, t.part_depth)) threads *= 2;
  launch(name, multiply_dots<T, A, B, Writer>, {checked_grid(t.outputs() * t.parts), threads}, device, a, b, writer,
         partial.defined() ? partial.data<T>() : nullptr, t);
  if (t.parts > 1) launch_add_parts<T>(partial, writer, t.parts, t.outputs(), t.m, t.n);
}

/// A thread for each result, along n.
template <class T, class A, class B, class Writer>
__global__ void multiply_each(A a, B b, Writer writer, Divider by_m, Divider by_n, int64_t outputs, int64_t depth) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i >= outputs) return;
  uint64_t row = uint64_t(i), column = row;
  row = by_n.split(column);
  const int64_t batch = int64_t(by_m.split(row));
  a.select(batch);
  b.select(batch);
  const auto from_a = a.line(int64_t(row));
  const auto from_b = b.line(int64_t(column));
  T sum = T(0);
  for (int64_t k = 0; k < depth; ++k) sum += a.read(from_a, a.depth(k)) * b.read(from_b, b.depth(k));
  writer.put(batch, int64_t(row), int64_t(column), sum);
}
template <class T, class A, class B, class Writer>
void launch_each(const char* name, const A& a, const B& b, const Writer& writer, const Tiling& t, Device device) {
  const int64_t threads = std::min<int64_t>(ceil_div(t.outputs(), kWarpSize) * kWarpSize, 256);
  launch(name, multiply_each<T, A, B, Writer>,
         {checked_grid(ceil_div(t.outputs(), threads)), static_cast<unsigned>(threads)}, device, a, b, writer,
         Divider(t.m), Divider(t.n), t.outputs(), t.k);
}

}  // namespace tandem::kernels::cuda
