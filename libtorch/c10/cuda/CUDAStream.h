// LibTorch's names for streams, events and seeds of GPUs. What they stand for is in tandem/core/cuda/cuda.h, under the
// names of Python's torch.cuda.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/generator.h"

namespace tandem::cuda {

namespace detail {
/// The GPU of an index, where -1 stands for the first one: Tandem has no current device.
inline Device device_of(int64_t index) { return Device(kCUDA, index < 0 ? 0 : static_cast<int>(index)); }
}  // namespace detail

/// A stream, which is a Stream under another name: either is taken where the other is asked for.
class CUDAStream : public Stream {
 public:
  explicit(false) CUDAStream(Stream stream) : Stream(std::move(stream)) {}
  int device_index() const { return device().index(); }
  DeviceType device_type() const { return device().type(); }
  tandem::detail::gpu::StreamHandle stream() const { return handle(); }
};

/// A stream that nobody else has until the last copy of it is gone. (LibTorch deals out 32, and then the same again.)
inline CUDAStream getStreamFromPool(bool isHighPriority = false, int64_t device = -1) {
  return Stream(detail::device_of(device), isHighPriority);
}
/// The same for a priority, of which those below 0 are high.
inline CUDAStream getStreamFromPool(int priority, int64_t device = -1) {
  return getStreamFromPool(priority < 0, device);
}
inline CUDAStream getDefaultCUDAStream(int64_t device_index = -1) {
  return default_stream(detail::device_of(device_index));
}
inline CUDAStream getCurrentCUDAStream(int64_t device_index = -1) {
  return current_stream(detail::device_of(device_index));
}
/// Work of this thread on the stream's device goes to it from now on, until a guard that stood before goes.
inline void setCurrentCUDAStream(const CUDAStream& stream) { set_stream(stream); }

/// Makes a stream the current one of its device until the guard goes.
struct CUDAStreamGuard : StreamGuard {
  using StreamGuard::StreamGuard;
};

/// A point in a stream's work.
class CUDAEvent {
 public:
  /// @param flags  CUDA's: an event measures time unless they have cudaEventDisableTiming, as they have by default
  explicit(false) CUDAEvent(unsigned int flags = kDisableTiming) : event_((flags & kDisableTiming) == 0) {}
  void record() { record(getCurrentCUDAStream()); }
  void record(const CUDAStream& stream) {
    event_.record(stream);
    device_ = stream.device();
  }
  void recordOnce(const CUDAStream& stream) {
    if (!isCreated()) record(stream);
  }
  /// What is put on `stream` from now on waits for what was recorded.
  void block(const CUDAStream& stream) const { event_.wait(stream); }
  void synchronize() const { event_.synchronize(); }
  bool query() const { return event_.query(); }
  /// Milliseconds from this event to `end`.
  float elapsed_time(const CUDAEvent& end) const { return event_.elapsed_time(end.event_); }
  bool isCreated() const { return device_.has_value(); }
  std::optional<Device> device() const { return device_; }

 private:
  static constexpr unsigned int kDisableTiming = 2;
  Event event_;
  std::optional<Device> device_;  // of the last record
};

/// Seeds the random numbers of the first GPU, and leaves those of the CPU as they are. Nothing where there is no GPU.
inline void manual_seed(uint64_t seed) {
  if (is_available()) default_generator(kCUDA).set_current_seed(seed);
}
/// The same for every GPU.
inline void manual_seed_all(uint64_t seed) {
  for (int i = 0; i < device_count(); ++i) default_generator(Device(kCUDA, i)).set_current_seed(seed);
}

}  // namespace tandem::cuda
