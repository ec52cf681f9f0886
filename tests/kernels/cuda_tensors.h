// Helpers for tests of CUDA kernels, which run on a GPU or on the emulated device.
#pragma once
#include <cmath>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tandem.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/kernels/elements.h"

/// Skips a test case if there is no GPU.
#define TANDEM_NEEDS_GPU()                                    \
  do {                                                        \
    if (tandem::cuda::device_count() == 0) {                  \
      WARN("SKIPPED: " << tandem::gpu::unavailable_reason()); \
      return;                                                 \
    }                                                         \
  } while (false)

namespace tandem::test {

/// Copies a dense tensor to `device` by the CUDA runtime only, without Tandem's copy operation.
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

/// Calls check(true) for Tandem's own kernels, then check(false) twice for the kernels that the dispatch selects
/// (cuBLASLt
/// or cuDNN in builds that have them): by the deterministic rule, and by search. The emulated device has no such
/// library,
/// so it only gets check(true).
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
