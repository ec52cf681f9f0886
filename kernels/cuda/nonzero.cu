// Finds the positions at which a mask is true (the hits). Each block counts the hits in its part of the mask, a prefix
// sum of the counts is computed, and each block writes the positions of its hits. The host waits for the total count,
// because it is the size of the result.
#include "tandem/core/cuda/fault.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/cuda/reduce.cuh"
#include "tandem/kernels/index.h"
#include "tandem/kernels/reduce.h"

namespace tandem::kernels::cuda {
namespace {

constexpr int kThreads = 128, kElementsPerThread = 16, kBlockElements = kThreads * kElementsPerThread;

struct Sizes {
  int rank;
  int64_t of[kMaxDims];
};

/// Returns a bit mask of this thread's elements: bit e is set if element first + e is true.
__device__ inline unsigned load_mask_bits(const bool* mask, int64_t first, int64_t count) {
  const bool aligned = reinterpret_cast<uintptr_t>(mask) % kElementsPerThread == 0;
  const auto bytes = load_packet<kElementsPerThread>(reinterpret_cast<const uint8_t*>(mask), first, count, aligned);
  unsigned hits = 0;
#pragma unroll
  for (int e = 0; e < kElementsPerThread; ++e) hits |= unsigned(bytes[e]) << e;
  return hits;
}
/// Returns the sum of `value` over the block's threads before this thread, and sets `total` to the sum over the block.
__device__ inline int block_exclusive_sum(int value, int& total) {
  TANDEM_SHARED(int, sums, [kThreads / kWarpSize]);
  const int lane = int(threadIdx.x) % kWarpSize, warp = int(threadIdx.x) / kWarpSize;
  int sum = value;
#pragma unroll
  for (int step = 1; step < kWarpSize; step *= 2) {
    const int below = __shfl_up_sync(kFullWarpMask, sum, unsigned(step));
    if (lane >= step) sum += below;
  }
  if (lane == kWarpSize - 1) sums[warp] = sum;
  __syncthreads();
  total = 0;
  int before = 0;
  for (int w = 0; w < kThreads / kWarpSize; ++w) {
    if (w < warp) before += sums[w];
    total += sums[w];
  }
  return before + sum - value;
}

__global__ void __launch_bounds__(kThreads) count_kernel(const bool* mask, int64_t count, int64_t* part_counts) {
  const int64_t first = int64_t(blockIdx.x) * kBlockElements + threadIdx.x * kElementsPerThread;
  int total;
  block_exclusive_sum(__popc(load_mask_bits(mask, first, count)), total);
  if (threadIdx.x == 0) part_counts[blockIdx.x] = total;
}
/// Writes the positions of the true elements. sums[b] is the number of true elements in parts 0 to b of the mask, where
/// each block has one part.
__global__ void __launch_bounds__(kThreads)
    coordinates_kernel(const bool* mask, int64_t count, const int64_t* sums, Sizes sizes, int64_t* coordinates) {
  const int64_t first = int64_t(blockIdx.x) * kBlockElements + threadIdx.x * kElementsPerThread;
  const unsigned hits = load_mask_bits(mask, first, count);
  int total;
  int64_t to = block_exclusive_sum(__popc(hits), total);
  to += sums[blockIdx.x] - total;
  for (int e = 0; e < kElementsPerThread; ++e) {
    if (!(hits >> e & 1)) continue;
    int64_t rest = first + e;
    for (int d = sizes.rank - 1; d >= 0; --d) {
      const int64_t above = quotient(rest, sizes.of[d]);
      coordinates[to * sizes.rank + d] = rest - above * sizes.of[d];
      rest = above;
    }
    ++to;
  }
}

}  // namespace

void nonzero(const Tensor& mask, Tensor& coordinates) {
  const Device device = mask.device();
  const int64_t count = mask.numel(), parts = ceil_div(count, kBlockElements);
  if (count == 0) {
    coordinates = core::empty({0, mask.dim()}, kInt64, device);
    return;
  }
  const Tensor hits = core::empty({1, parts, 1}, kInt64, device);
  Tensor sums = core::empty({1, parts, 1}, kInt64, device);
  const LaunchShape shape{checked_grid_size(parts), kThreads};
  launch("nonzero", count_kernel, shape, device, mask.data<bool>(), count, hits.data<int64_t>());
  cumsum(hits, /*reverse=*/false, sums);
  const gpu::StreamHandle stream = tandem::cuda::current_stream(device).handle();
  int64_t total = 0;
  {
    const gpu::DeviceGuard guard(device.index());
    gpu::copy_async(&total, sums.data<int64_t>() + parts - 1, sizeof total, stream);
    gpu::synchronize_stream(stream);
  }
  tandem::cuda::check_faults(device);
  coordinates = core::empty({total, mask.dim()}, kInt64, device);
  if (coordinates.numel() == 0) return;
  Sizes sizes{static_cast<int>(mask.dim()), {}};
  std::copy(mask.sizes().begin(), mask.sizes().end(), sizes.of);
  launch("nonzero", coordinates_kernel, shape, device, mask.data<bool>(), count, sums.data<int64_t>(), sizes,
         coordinates.data<int64_t>());
}

}  // namespace tandem::kernels::cuda
