// What the tests of CUDA kernels share. They run on the emulated device as on a GPU.
#pragma once
#include <cmath>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/elements.h"

/// Ends a test case where there is no GPU.
#define TANDEM_NEEDS_GPU()                                    \
  do {                                                        \
    if (tandem::cuda::device_count() == 0) {                  \
      WARN("SKIPPED: " << tandem::gpu::unavailable_reason()); \
      return;                                                 \
    }                                                         \
  } while (false)

namespace tandem::test {

/// A copy of a dense tensor, by the runtime alone.
inline Tensor to_device(const Tensor& x, Device device) {
  const Device there = x.is_cuda() ? x.device() : device;
  Tensor y = core::empty(x.sizes(), x.dtype(), device);
  if (x.numel() == 0) return y;
  const auto stream = cuda::current_stream(there);
  gpu::copy_async(y.raw_data(), x.raw_data(), static_cast<size_t>(x.nbytes()), stream.handle());
  stream.synchronize();
  return y;
}
inline Tensor to_gpu(const Tensor& x) { return to_device(x, kCUDA); }
inline Tensor to_cpu(const Tensor& x) { return to_device(x, kCPU); }

/// Calls check(own) with true for our own kernels; then with false for what the dispatch takes, cuBLASLt or cuDNN where
/// the build has them, first by the rule and then by the search (deterministic algorithms off). The emulated device has
/// neither: it would be our own once more.
template <class Check> void for_each_server(Check check) {
  check(true);
  if (TANDEM_TEST_EMULATED) return;
  for (const bool deterministic : {true, false}) {
    const ThreadContextGuard guard(ThreadContext::current());
    use_deterministic_algorithms(deterministic);
    CAPTURE(deterministic);
    check(false);
  }
}

}  // namespace tandem::test
