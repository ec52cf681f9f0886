// LibTorch's names for CUDA streams, events and seeds. tandem/core/cuda/cuda.h implements them, under the names of
// Python's torch.cuda.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/generator.h"

namespace tandem::cuda {

namespace detail {
/// Returns the GPU with this index; for -1 the first GPU, because Tandem has no current device.
inline Device device_of(int64_t index) { return Device(kCUDA, index < 0 ? 0 : static_cast<int>(index)); }
}  // namespace detail

/// LibTorch's name for Stream. A CUDAStream converts to a Stream and a Stream to a CUDAStream.
class CUDAStream : public Stream {
 public:
  explicit(false) CUDAStream(Stream stream) : Stream(std::move(stream)) {}
  int device_index() const { return device().index(); }
  DeviceType device_type() const { return device().type(); }
  tandem::detail::gpu::StreamHandle stream() const { return handle(); }
};

/// Returns a stream that no other caller gets as long as a copy of it exists. (LibTorch hands out the 32 streams of a
/// pool in turn, so that several callers may get the same stream.)
inline CUDAStream getStreamFromPool(bool isHighPriority = false, int64_t device = -1) {
  return Stream(detail::device_of(device), isHighPriority);
}
/// Returns a stream as the overload above does. A negative priority means high priority.
inline CUDAStream getStreamFromPool(int priority, int64_t device = -1) {
  return getStreamFromPool(priority < 0, device);
}
inline CUDAStream getDefaultCUDAStream(int64_t device_index = -1) {
  return default_stream(detail::device_of(device_index));
}
inline CUDAStream getCurrentCUDAStream(int64_t device_index = -1) {
  return current_stream(detail::device_of(device_index));
}
/// Makes `stream` the current stream of its device on this thread, until a stream guard that was created earlier is
/// destroyed.
inline void setCurrentCUDAStream(const CUDAStream& stream) { set_stream(stream); }

/// Makes a stream the current stream of its device while the guard exists.
struct CUDAStreamGuard : StreamGuard {
  using StreamGuard::StreamGuard;
};

/// An event, which marks a point in the work of a stream.
class CUDAEvent {
 public:
  /// @param flags  CUDA's event flags. The event measures time unless they contain cudaEventDisableTiming, as the
  /// default does
  explicit(false) CUDAEvent(unsigned int flags = kDisableTiming) : event_((flags & kDisableTiming) == 0) {}
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    event_.record(stream);
    device_ = stream.device();
  }
  void recordOnce(const CUDAStream& stream) {
    if (!isCreated()) record(stream);
  }
  /// Makes work that is put on `stream` from now on wait for the work that was queued before record() on the recorded
  /// stream.
  void block(const CUDAStream& stream) const { event_.wait(stream); }
  void synchronize() const { event_.synchronize(); }
  bool query() const { return event_.query(); }
  /// Returns the milliseconds between this event and `end`.
  float elapsed_time(const CUDAEvent& end) const { return event_.elapsed_time(end.event_); }
  bool isCreated() const { return device_.has_value(); }
  std::optional<Device> device() const { return device_; }

 private:
  static constexpr unsigned int kDisableTiming = 2;
  Event event_;
  std::optional<Device> device_;  // device of the stream that the last record() was called for
};

/// Seeds the default generator of the first GPU. The CPU's generator keeps its state. Does nothing if there is no GPU.
inline void manual_seed(uint64_t seed) {
  if (is_available()) default_generator(kCUDA).set_current_seed(seed);
}
/// Seeds the default generators of all GPUs.
inline void manual_seed_all(uint64_t seed) {
  for (int i = 0; i < device_count(); ++i) default_generator(Device(kCUDA, i)).set_current_seed(seed);
}

}  // namespace tandem::cuda
