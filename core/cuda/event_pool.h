// Events of the GPU runtime, kept for reuse, and which streams use a block of memory. Internal: users have cuda::Event.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::cuda {

/// An event of its own, given back when it goes out of scope: a stream that was told to wait for it still does.
class PooledEvent {
 public:
  explicit PooledEvent(int device, bool timing = false);
  PooledEvent(PooledEvent&& other) noexcept
      : device_(other.device_), timing_(other.timing_), handle_(std::exchange(other.handle_, nullptr)) {}
  PooledEvent& operator=(PooledEvent&& other) noexcept {
    std::swap(device_, other.device_), std::swap(timing_, other.timing_), std::swap(handle_, other.handle_);
    return *this;
  }
  ~PooledEvent();
  gpu::EventHandle handle() const { return handle_; }

 private:
  int device_;
  bool timing_;
  gpu::EventHandle handle_;
};

/// Streams whose work uses a block of memory beside the stream that the block was taken for. Not thread-safe.
class StreamUses {
 public:
  bool empty() const { return uses_.empty(); }
  void add(const Stream& stream);
  /// The block was given back: what is on the streams now is what may still use it; of a stream that is capturing, what
  /// is on it when done() is first asked after the capture. An error, a lost device's say, is no reason to wait.
  void close() noexcept;
  /// Nobody uses it.
  void clear() { uses_.clear(); }
  /// Whether all of that is done. Only after close().
  bool done() noexcept;
  /// Waits for it on the host.
  void wait() noexcept;

 private:
  struct Use {
    Stream stream;
    std::optional<PooledEvent> event;  // by close()
    bool open = true;
    void close() noexcept;
  };
  std::vector<Use> uses_;
};

}  // namespace tandem::cuda
