// Copies between tensors that are contiguous along different dimensions. Tiles pass through shared memory, so that
// reads and writes both cover whole cache lines. Bound by memory.
#include "tandem/kernels/cuda/copy.h"
#include "tandem/kernels/cuda/launch.h"

namespace tandem::kernels::cuda {
namespace {

// Side of a tile; rows of threads in a block; each row of threads moves four rows of the tile.
constexpr int kTileSide = 32, kThreadRows = 8;

/// Copies x to y, where y is contiguous along dimension 0 of the plan, and x along dimension 1. A plane is one
/// combination of indices in the other dimensions; blockIdx.x determines the plane and the tile in it.
template <class T>
__global__ void __launch_bounds__(kTileSide* kThreadRows)
    transpose_kernel(ElementPlan plan, uint32_t tiles_across, uint32_t tiles) {
  TANDEM_SHARED(T,
                tile, [kTileSide][kTileSide + 1]);  // the extra column avoids bank conflicts when a column is accessed
  uint32_t plane = blockIdx.x / tiles;
  const uint32_t at = blockIdx.x % tiles, first0 = at % tiles_across * kTileSide,
                 first1 = at / tiles_across * kTileSide;
  const uint32_t size0 = plan.dividers[0].divisor(), size1 = plan.dividers[1].divisor();
  int64_t offsets[2] = {};
  for (int d = 2; d < plan.rank; ++d) {
    const uint32_t planes = plan.dividers[d].div_mod(plane);  // sets `plane` to the index along dimension d
    for (int k = 0; k < 2; ++k) offsets[k] += plane * plan.operands[k].strides[d];
    plane = planes;
  }
  const char* const x = plan.operands[1].data + offsets[1];
  char* const y = plan.operands[0].data + offsets[0];
#pragma unroll
  for (int r = 0; r < kTileSide; r += kThreadRows) {
    const uint32_t i = first0 + threadIdx.y + r, j = first1 + threadIdx.x;
    if (i < size0 && j < size1)
      tile[threadIdx.y + r][threadIdx.x] =
          *reinterpret_cast<const T*>(x + i * plan.operands[1].strides[0] + j * plan.operands[1].strides[1]);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < kTileSide; r += kThreadRows) {
    const uint32_t i = first0 + threadIdx.x, j = first1 + threadIdx.y + r;
    if (i < size0 && j < size1)
      *reinterpret_cast<T*>(y + i * plan.operands[0].strides[0] + j * plan.operands[0].strides[1]) =
          tile[threadIdx.x][threadIdx.y + r];
  }
}

template <class T> void launch_transpose(const ElementPlan& plan, int64_t planes, Device device) {
  const int64_t across = ceil_div(plan.dividers[0].divisor(), kTileSide),
                down = ceil_div(plan.dividers[1].divisor(), kTileSide);
  launch("transpose", transpose_kernel<T>, {checked_grid_size(planes * across * down), dim3(kTileSide, kThreadRows)},
         device, plan, static_cast<uint32_t>(across), static_cast<uint32_t>(across * down));
}

}  // namespace

void copy_transposed(const ElementPlan& plan, int64_t planes, Device device) {
  switch (plan.operands[0].size) {
    case 1: return launch_transpose<uint8_t>(plan, planes, device);
    case 2: return launch_transpose<uint16_t>(plan, planes, device);
    case 4: return launch_transpose<uint32_t>(plan, planes, device);
    default: return launch_transpose<uint64_t>(plan, planes, device);
  }
}

}  // namespace tandem::kernels::cuda
