// PooledEvent: an event of the GPU runtime that is reused. StreamUses: the streams that use a memory block. Internal;
// programs use cuda::Event.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::cuda {

/// Takes an event from a pool for exclusive use, and gives it back when this object is destroyed. Streams that already
/// wait for the event continue to wait for the recorded work.
class PooledEvent {
 public:
  explicit PooledEvent(int device, bool timing = false);
  PooledEvent(PooledEvent&& other) noexcept
      : device_(other.device_), enable_timing_(other.enable_timing_), handle_(std::exchange(other.handle_, nullptr)) {}
  PooledEvent& operator=(PooledEvent&& other) noexcept {
    std::swap(device_, other.device_), std::swap(enable_timing_, other.enable_timing_),
        std::swap(handle_, other.handle_);
    return *this;
  }
  ~PooledEvent();
  gpu::EventHandle handle() const { return handle_; }

 private:
  int device_;
  bool enable_timing_;
  gpu::EventHandle handle_;
};

/// The streams that use a memory block, other than the stream that it was allocated on. Not thread-safe.
class StreamUses {
 public:
  bool empty() const { return uses_.empty(); }
  void add_stream(const Stream& stream);
  /// Call this when the block is freed: records the work now queued on the streams, which may still use the block. For
  /// a capturing stream, the first is_done() after the capture records it. If it cannot be recorded, waits for the
  /// stream; if that fails too, for example because the device is lost, the work counts as done.
  void record_events() noexcept;
  /// Forgets all uses.
  void clear() { uses_.clear(); }
  /// Whether the recorded work is done. Call this only after record_events().
  bool is_done() noexcept;
  /// Blocks until the recorded work is done.
  void wait() noexcept;

 private:
  struct Use {
    Stream stream;
    std::optional<PooledEvent> event;  // set by record_events()
    bool is_unrecorded = true;
    void record_events() noexcept;
  };
  std::vector<Use> uses_;
};

}  // namespace tandem::cuda
