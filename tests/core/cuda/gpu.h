// Helpers for GPU tests: the device to use, whether there is a GPU, and a gate that blocks a stream until the test
// opens it.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tests/catch.h"
#if TANDEM_TEST_EMULATED
#include "tandem/emulation/emulation.h"
#else
#include <atomic>
#include <thread>
#endif

namespace tandem::test {

inline const Device kGpu("cuda");
inline constexpr size_t kMiB = size_t(1) << 20;

#if TANDEM_TEST_EMULATED
/// Blocks a stream on a barrier of two whose other stream never joins. This needs no host thread, unlike a host
/// function: the emulated device has only one for them.
class Gate {
 public:
  explicit Gate(const cuda::Stream& stream) : meeting_("gate", 2, [] {}) { meeting_.join(stream.handle()); }
  ~Gate() { open(); }
  void open() { meeting_.cancel(); }

 private:
  emulation::StreamBarrier meeting_;
};
#else
class Gate {
 public:
  explicit Gate(const cuda::Stream& stream) {
    gpu::call_on_host(
        stream.handle(),
        [](void* open) {
          while (!static_cast<std::atomic<bool>*>(open)->load()) std::this_thread::yield();
        },
        &open_);
    stream_ = std::make_unique<cuda::Stream>(stream);
  }
  ~Gate() {
    open();
    stream_->synchronize();
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
  std::unique_ptr<cuda::Stream> stream_;
};
#endif

inline bool has_gpu() {
  if (!cuda::is_available()) WARN("SKIPPED: " << gpu::unavailable_reason());
  return cuda::is_available();
}

/// Fills bytes of a GPU's memory, or of page-locked memory, on a stream.
inline void fill(void* to, int value, size_t bytes, const cuda::Stream& stream) {
  const gpu::DeviceGuard guard(stream.device().index());
  gpu::fill_bytes_async(to, value, bytes, stream.handle());
}

/// Returns true if a stream has work that stays pending. Each query of an emulated stream runs a part of its work.
inline bool stays_busy(const cuda::Stream& stream) {
  for (int i = 0; i < 100; ++i)
    if (stream.query()) return false;
  return true;
}

/// Seed of the order in which emulated streams run, while this object lives; no effect on a real GPU
struct StreamSeed {
  explicit StreamSeed([[maybe_unused]] uint64_t seed) {
#if TANDEM_TEST_EMULATED
    emulation::set_stream_seed(seed);
#endif
  }
  ~StreamSeed() {
#if TANDEM_TEST_EMULATED
    emulation::set_stream_seed(0);
#endif
  }
  StreamSeed(const StreamSeed&) = delete;
};

}  // namespace tandem::test
