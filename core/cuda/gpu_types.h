// Types of the GPU runtime that the public headers need; core/cuda/gpu_runtime.h has the functions.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/core/error.h"

namespace tandem {

/// Thrown if a call of the GPU runtime or a kernel fails.
class CudaError : public Error {
 public:
  using Error::Error;
};

namespace detail::gpu {

using StreamHandle = struct StreamTag*;  // cudaStream_t

/// Properties of a GPU, with the names of PyTorch's torch.cuda.get_device_properties().
struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multi_processor_count = 0;
  int64_t total_memory = 0;                   // bytes
  int64_t L2_cache_size = 0;                  // bytes
  int64_t shared_memory_per_block_optin = 0;  // maximum bytes of a block, after allow_shared_memory()
};

}  // namespace detail::gpu
}  // namespace tandem
