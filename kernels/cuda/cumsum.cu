// Running sums along the middle dimension of (outer, n, inner). If inner is 1, a warp or a block scans each row in
// tiles, and carries the sum from one tile to the next. If inner > 1, one thread scans each column. Long rows and
// columns are cut into chunks, depending on the shape only: a first pass sums each chunk, the sums of the chunks are
// scanned, and a second pass scans each chunk starting from the sum of the previous chunks. So x is read twice and y is
// written once.
#include <algorithm>

#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

/// Scan along a dimension of n elements, which is cut into `num_chunks` chunks of `length` elements. Positions are
/// counted in the direction of the scan: if `reverse`, position i is element n - 1 - i.
struct ScanShape {
  int64_t n, inner, num_chunks, length;
  bool reverse;
};
/// Number of consecutive elements of a tile that one thread scans.
template <class T> inline constexpr int kScanElementsPerThread = sizeof(T) == 8 ? 4 : 8;

/// Returns the sum of `value` over the lanes before this lane, and sets `total` to the sum over the whole warp.
template <class A> __device__ A warp_exclusive_sum(A value, A& total) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  for (int step = 1; step < kWarpSize; step *= 2) {
    const A below = __shfl_up_sync(kFullWarpMask, value, static_cast<unsigned>(step));
    if (lane >= step) value = math::add(value, below);
  }
  total = __shfl_sync(kFullWarpMask, value, kWarpSize - 1);
  const A below = __shfl_up_sync(kFullWarpMask, value, 1u);
  return lane > 0 ? below : A(0);
}
/// Returns the sum of `value` over the row's threads before this thread, and sets `total` to the sum over all threads
/// of the row. A row has one warp or the whole block.
template <class A> __device__ A team_exclusive_sum(A value, A& total) {
  const A within = warp_exclusive_sum(value, total);
  if (blockDim.x == kWarpSize) return within;
  TANDEM_SHARED(A, of_warp, [32]);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize, warps = static_cast<int>(blockDim.x) / kWarpSize;
  if (threadIdx.x % kWarpSize == 0) of_warp[warp] = total;
  __syncthreads();
  A below = A(0);
  total = A(0);
  for (int w = 0; w < warps; ++w) {
    if (w == warp) below = total;
    total = math::add(total, of_warp[w]);
  }
  __syncthreads();
  return math::add(below, within);
}

/// Scans chunks of rows; a unit is one chunk of one row. If `totals` is not null, writes only the sum of each unit to
/// `totals`. Otherwise writes the running sums to y, starting from carries[unit - 1].
template <class T>
__global__ void cumsum_rows(const T* __restrict__ x, T* __restrict__ y, Accumulate<T>* totals,
                            const Accumulate<T>* carries, int64_t units, ScanShape scan, bool aligned) {
  using A = Accumulate<T>;
  constexpr int kWidth = kScanElementsPerThread<T>;
  const int64_t unit = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (unit >= units) return;  // only whole warps return here: if a block has several rows, each row has one warp
  const int64_t row = quotient(unit, scan.num_chunks), chunk = unit - row * scan.num_chunks,
                first = chunk * scan.length;
  const int64_t count = math::min(scan.n - first, scan.length), tile = int64_t(blockDim.x) * kWidth;
  A carry = carries && chunk > 0 ? carries[unit - 1] : A(0);
  for (int64_t base = 0; base < count; base += tile) {
    const int64_t mine = base + int64_t(threadIdx.x) * kWidth, place = first + mine;
    const int64_t start = row * scan.n + (scan.reverse ? scan.n - place - kWidth : place);
    const bool whole = mine + kWidth <= count;
    Pack<T, kWidth> pack;
    A sums[kWidth];
    if (whole) pack = load_pack<T, kWidth>(x + start, aligned);
#pragma unroll
    for (int v = 0; v < kWidth; ++v) {
      const int64_t at = scan.reverse ? start + kWidth - 1 - v : start + v;
      const A here = whole ? A(pack.at[scan.reverse ? kWidth - 1 - v : v]) : mine + v < count ? A(x[at]) : A(0);
      sums[v] = v > 0 ? math::add(sums[v > 0 ? v - 1 : 0], here) : here;
    }
    A total;
    const A below = math::add(carry, team_exclusive_sum(sums[kWidth - 1], total));
    carry = math::add(carry, total);
    if (totals) continue;
#pragma unroll
    for (int v = 0; v < kWidth; ++v) pack.at[scan.reverse ? kWidth - 1 - v : v] = T(math::add(below, sums[v]));
    if (whole)
      store_pack<T, kWidth>(y + start, pack, aligned);
    else
      for (int v = 0; v < kWidth && mine + v < count; ++v) {
        const int64_t at = scan.reverse ? kWidth - 1 - v : v;
        y[start + at] = pack.at[at];
      }
  }
  if (totals && threadIdx.x == 0) totals[unit] = carry;
}

/// Version of cumsum_rows for inner > 1: a thread scans one column of one chunk.
template <class T>
__global__ void cumsum_columns(const T* __restrict__ x, T* __restrict__ y, Accumulate<T>* totals,
                               const Accumulate<T>* carries, int64_t threads, ScanShape scan) {
  using A = Accumulate<T>;
  constexpr int kLoads = 4;
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= threads) return;
  const int64_t unit = quotient(at, scan.inner), column = at - unit * scan.inner;
  const int64_t outer = quotient(unit, scan.num_chunks), chunk = unit - outer * scan.num_chunks,
                first = chunk * scan.length;
  const int64_t count = math::min(scan.n - first, scan.length), step = scan.reverse ? -scan.inner : scan.inner;
  const int64_t start = (outer * scan.n + (scan.reverse ? scan.n - 1 - first : first)) * scan.inner + column;
  A sum = carries && chunk > 0 ? carries[at - scan.inner] : A(0);
  for (int64_t i = 0; i < count; i += kLoads) {
    A value[kLoads];
#pragma unroll
    for (int k = 0; k < kLoads; ++k) value[k] = i + k < count ? A(x[start + (i + k) * step]) : A(0);
#pragma unroll
    for (int k = 0; k < kLoads; ++k) {
      sum = math::add(sum, value[k]);
      if (!totals && i + k < count) y[start + (i + k) * step] = T(sum);
    }
  }
  if (totals) totals[at] = sum;
}

template <class T>
void scan_rows(const T* x, T* y, int64_t outer, int64_t n, int64_t inner, bool reverse, Device device) {
  using A = Accumulate<T>;
  constexpr int64_t kPieceThreads = 131072, kTile = 256 * kScanElementsPerThread<T>;
  ScanShape scan{n, inner, 1, n, reverse};
  if (inner == 1 && n > 4 * kTile && outer < 512)
    scan.length = ceil_div(std::clamp<int64_t>(ceil_div(n * outer, 1024), kTile, 16 * kTile), kTile) * kTile;
  else if (inner > 1 && n > 256 && outer * inner < kPieceThreads / 2)
    scan.length = std::max<int64_t>(ceil_div(n * outer * inner, kPieceThreads), 64);
  scan.num_chunks = ceil_div(n, scan.length);
  const int64_t units = outer * scan.num_chunks;
  const auto pass = [&](A* totals, const A* carries) {
    if (inner == 1) {
      const bool block_each = scan.length > 4 * kWarpSize * kScanElementsPerThread<T>;
      const dim3 block = block_each ? dim3(256) : team_block_dim(kWarpSize, units, 128);
      const bool aligned = n % kScanElementsPerThread<T> == 0 &&
                           is_aligned(x, sizeof(Pack<T, kScanElementsPerThread<T>>)) &&
                           is_aligned(y, sizeof(Pack<T, kScanElementsPerThread<T>>));
      launch("cumsum", cumsum_rows<T>, {checked_grid_size(ceil_div(units, block.y)), block}, device, x, y, totals,
             carries, units, scan, aligned);
    } else {
      const int64_t threads = units * inner, block = next_power_of_two(threads, 32, 256);
      launch("cumsum", cumsum_columns<T>,
             {checked_grid_size(ceil_div(threads, block)), dim3(static_cast<unsigned>(block))}, device, x, y, totals,
             carries, threads, scan);
    }
  };
  if (scan.num_chunks == 1) return pass(nullptr, nullptr);
  const Tensor totals = core::empty({units * inner}, dtype_of<A>(), device);
  const Tensor carries = core::empty({units * inner}, dtype_of<A>(), device);
  pass(totals.data<A>(), nullptr);
  scan_rows<A>(totals.data<A>(), carries.data<A>(), outer, scan.num_chunks, inner, false, device);
  pass(nullptr, carries.data<A>());
}

}  // namespace

void cumsum(const Tensor& x, bool reverse, Tensor& y) {
  if (x.numel() == 0) return;
  visit_dtype(x.dtype(), [&]<class T>() {
    scan_rows<T>(x.data<T>(), y.data<T>(), x.size(0), x.size(1), x.size(2), reverse, x.device());
  });
}

}  // namespace tandem::kernels::cuda
