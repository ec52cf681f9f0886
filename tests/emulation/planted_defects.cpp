// Tests the checkers: each kernel has one defect, which the emulation or a sanitizer must report with the right lines.
// planted_defects.cmake runs them. The lines of a defect have the comment `// at NAME`.
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/grid.h"
#include "tandem/emulation/simt.h"
#include "tandem/emulation/tensor_core.h"

namespace {

bool planted(const char* name);
std::string defect;

constexpr int kBlock = 64, kGrid = 12;

__global__ void write_out(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1;
  if (planted("global") && i == n - 1) y[i + 1] = 2;  // at global
}

/// Adds pairs of neighbours, which it reads as one float2.
__global__ void add_pairs(const float* x, float* y, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const auto* const two = reinterpret_cast<const float2*>(x + (planted("misaligned") ? 1 : 0));
  const float2& pair = two[i];  // at misaligned
  y[i] = pair.x + pair.y;
}

/// Reverses each block of x.
__global__ void reverse(float* x) {
  TANDEM_SHARED(float, tile, [kBlock]);
  TANDEM_DYNAMIC_SHARED(float, copy);
  const unsigned t = threadIdx.x;
  x += blockIdx.x * kBlock;
  tile[t] = x[t];  // at barrier
  float* const first = tile;
  if (planted("shared") && t == 5) first[kBlock] = 0;  // at shared
  if (planted("dynamic") && t == 5) copy[kBlock] = 0;  // at dynamic
  copy[t] = 2 * x[t];
  if (!planted("barrier")) __syncthreads();
  x[t] = tile[kBlock - 1 - t] + copy[t] - copy[t];  // at barrier
}

/// Blocks that are far apart count in one variable.
__global__ void count(int* total) {
  if (blockIdx.x % 5 != 1) return;
  if (threadIdx.x != 0) return;
  if (!planted("accumulation")) atomicAdd(total, 1);
  if (planted("accumulation")) *total += 1;  // at accumulation
}
/// The barrier orders the threads of a block, but not two blocks.
__global__ void count_behind_barriers(int* total) {
  __syncthreads();
  if (threadIdx.x == blockIdx.x % 2) {
    if (!planted("accumulation_behind_barriers")) atomicAdd(total, 1);
    if (planted("accumulation_behind_barriers")) *total += 1;  // at accumulation_behind_barriers
  }
  __syncthreads();
}

/// Each lane reads its neighbour's value through shared memory.
__global__ void rotate(float* x) {
  TANDEM_SHARED(float, tile, [32]);
  tile[threadIdx.x] = x[threadIdx.x];  // at syncwarp
  if (planted("syncwarp"))
    __shfl_xor_sync(0xffffffffu, 1, 1);  // synchronizes the lanes, but does not order memory
  else
    __syncwarp();
  x[threadIdx.x] = tile[(threadIdx.x + 1) % 32];  // at syncwarp
}

/// The last block to arrive adds up the values of all blocks.
__global__ void add_up(float* partial, unsigned* arrived, float* total) {
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = 1;  // at first_fence // at second_fence // at block_fence
  if (planted("block_fence"))
    __threadfence_block();
  else if (!planted("first_fence"))
    __threadfence();
  unsigned before = 0;
  if (!planted("counter")) before = atomicAdd(arrived, 1u);
  if (planted("counter")) before = (*arrived)++;  // at counter
  if (before != gridDim.x - 1) return;
  if (!planted("second_fence")) __threadfence();
  float sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b];  // at first_fence // at second_fence // at block_fence
  *total = sum;
}

__global__ void diverge(float* x) {
  if (planted("divergence") && threadIdx.x < 40) {
    x[threadIdx.x] = 1;
    __syncthreads();  // at divergence
  } else {
    x[threadIdx.x] = 2;
    __syncthreads();  // at divergence
  }
}
__global__ void wait_for_ever(float* x) {
  if (planted("deadlock") && threadIdx.x == 3)
    __syncthreads();  // at deadlock
  else
    x[threadIdx.x] = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);  // at deadlock
}

/// Two warps add up products of 16 x 16 tiles, which they copy to shared memory in the background.
__global__ void multiply_tiles(const uint16_t* x, int tiles, float* y) {
  TANDEM_SHARED(uint16_t, tile, [256]);
  using namespace tandem::emulation;
  const unsigned t = threadIdx.x, lane = t % 32;
  const uint16_t* const row = tile + lane % 16 * 16 + lane / 16 * 8;
  float sums[4] = {};
  uint32_t a[4];
  for (int i = 0; i < tiles; ++i) {
    if (t < 32)
      copy_async(tile + 8 * t, x + 256 * i + 8 * t, true), wait_for_copies();  // at matrix_arrival // at matrix_reuse
    if (!planted("matrix_arrival")) __syncthreads();
    load_matrices(a, row, false);  // at matrix_arrival // at matrix_reuse
    multiply_matrices(true, sums, a, {a[0], a[2]}, SourceLocation::here());
    if (!planted("matrix_reuse")) __syncthreads();
  }
  for (int i = 0; i < 4; ++i) y[4 * t + i] = sums[i];
}
__global__ void load_misaligned(float* y) {
  TANDEM_SHARED(uint16_t, tile, [256]);
  tile[4 * threadIdx.x] = 0;
  __syncwarp();
  uint32_t a[4];
  tandem::emulation::load_matrices(a, tile + (planted("matrix_misaligned") ? 4 : 0), false);  // at matrix_misaligned
  y[threadIdx.x] = static_cast<float>(a[0] & 0xffff);
}

bool planted(const char* name) { return defect == name; }

void run(const char* name, unsigned grid, unsigned block, const std::function<void()>& thread) {
  tandem::emulation::run_grid(name, grid, block, kBlock * sizeof(float), thread);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) defect = argv[1];
  constexpr int n = kGrid * kBlock;
  const auto x = std::make_unique<float[]>(n), y = std::make_unique<float[]>(kBlock);
  constexpr int kTiles = 3;
  const auto tiles = std::make_unique<uint16_t[]>(kTiles * 256);
  const auto sums = std::make_unique<float[]>(4 * kBlock);
  for (int i = 0; i < kTiles * 256; ++i) tiles[i] = tandem::BFloat16(static_cast<float>(i / 256 + 1)).bits;
  float total = 0;
  int counted = 0, counted_again = 0;
  unsigned arrived = 0;
  try {
    run("write_out", kGrid, kBlock, [&] { write_out(x.get(), n); });
    run("add_pairs", 1, kBlock, [&] { add_pairs(x.get(), y.get(), kBlock); });
    run("reverse", kGrid, kBlock, [&] { reverse(x.get()); });
    run("count", kGrid, kBlock, [&] { count(&counted); });
    run("count_behind_barriers", kGrid, kBlock, [&] { count_behind_barriers(&counted_again); });
    run("rotate", 1, 32, [&] { rotate(x.get()); });
    run("add_up", kGrid, kBlock, [&] { add_up(x.get(), &arrived, &total); });
    run("multiply_tiles", 1, kBlock, [&] { multiply_tiles(tiles.get(), kTiles, sums.get()); });
    run("load_misaligned", 1, 32, [&] { load_misaligned(y.get()); });
    run("diverge", 1, kBlock, [&] { diverge(x.get()); });
    run("wait_for_ever", 1, kBlock, [&] { wait_for_ever(x.get()); });
  } catch (const tandem::CudaError& error) {
    std::fprintf(stderr, "CudaError: %s\n", error.what());
    return 1;
  } catch (const tandem::Error& error) {
    std::fprintf(stderr, "Error: %s\n", error.what());
    return 1;
  }
  // Each tile of the number n adds 16 n^2.
  for (int i = 0; i < 4 * kBlock; ++i)
    if (sums[i] != 16 * (1 + 4 + 9)) return 3;
  if (counted != 3 || counted_again != kGrid || total != kGrid) return 2;
  std::puts("clean");
  return 0;
}
