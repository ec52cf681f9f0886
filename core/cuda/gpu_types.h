// What the public headers need of the GPU runtime's names; core/cuda/gpu_runtime.h has the functions.
#pragma once
#include <cstdint>
#include <string>

#include "tandem/core/error.h"

namespace tandem {

/// A call of the GPU runtime that failed, or a kernel that did.
class CudaError : public Error {
 public:
  using Error::Error;
};

namespace detail::gpu {

using StreamHandle = struct StreamTag*;  // cudaStream_t

struct DeviceProperties {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  int64_t memory = 0;            // bytes
  int64_t l2_cache = 0;          // bytes
  int64_t shared_per_block = 0;  // bytes of shared memory that a block may ask for, with allow_shared_memory
};

}  // namespace detail::gpu
}  // namespace tandem
