// Kernel launches, and the keywords and built-ins of CUDA. Under nvcc, these are CUDA's own; otherwise emulation/simt.h
// defines them, and every CUDA thread is a fiber on the CPU. Kernels declare shared memory with two macros:
//   TANDEM_SHARED(float, tile, [32][33]);   float tile[32][33] of the block, uninitialised
//   TANDEM_DYNAMIC_SHARED(float, row);      float* row: the launch's shared_bytes
#pragma once
#include <tuple>
#include <type_traits>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>
#define TANDEM_SHARED(T, name, dims) __shared__ T name dims
#define TANDEM_DYNAMIC_SHARED(T, name)                            \
  extern __shared__ __align__(16) unsigned char dynamic_shared[]; \
  T* const name = reinterpret_cast<T*>(dynamic_shared)
#else
#include "tandem/emulation/simt.h"
#endif

namespace tandem::kernels::cuda {

constexpr int kWarpSize = 32;
constexpr unsigned kFullWarpMask = 0xffffffffu;

struct LaunchShape {
  dim3 grid, block;
  size_t shared_bytes = 0;
};

constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// Converts `blocks` to the x dimension of a grid. @throws Error if `blocks` is not in [1, 2^31 - 1], the range that
/// CUDA accepts
inline unsigned checked_grid_size(int64_t blocks) {
  TANDEM_CHECK(blocks >= 1 && blocks <= 0x7fffffff, "launch: the kernel needs ", blocks,
               " blocks; accepted: 1 to 2147483647; use smaller tensors");
  return static_cast<unsigned>(blocks);
}

/// Launches a kernel on the device's current stream. Each argument is converted to the type of its kernel parameter.
/// @throws CudaError that names the kernel if the launch fails
template <class... Parameters, class... Arguments>
void launch(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape, Device device,
            const Arguments&... arguments) {
  static_assert((sizeof(Parameters) + ... + 0) <= 4096, "a launch carries at most 4096 bytes of parameters");
  const gpu::StreamHandle stream = tandem::cuda::current_stream(device).handle();
  const gpu::DeviceGuard guard(device.index());
#if defined(__CUDACC__)
  if (shape.shared_bytes > 48 * 1024)
    gpu::allow_shared_memory(reinterpret_cast<const void*>(kernel), shape.shared_bytes);
  gpu::nvtx_range_push(name);
  kernel<<<shape.grid, shape.block, shape.shared_bytes, reinterpret_cast<cudaStream_t>(stream)>>>(
      static_cast<Parameters>(arguments)...);
  gpu::nvtx_range_pop();
  gpu::check_launch(name, stream);
#else
  std::tuple<Parameters...> parameters(static_cast<Parameters>(arguments)...);
  emulation::launch(name, shape.grid, shape.block, shape.shared_bytes, stream,
                    [kernel, parameters = std::move(parameters)] { std::apply(kernel, parameters); });
#endif
}

}  // namespace tandem::kernels::cuda
