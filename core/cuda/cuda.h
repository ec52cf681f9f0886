// GPU streams and events, and properties of GPUs, with the names of Python's torch.cuda.
#pragma once
#include <memory>
#include <utility>

#include "tandem/core/cuda/gpu_types.h"
#include "tandem/core/device.h"
#include "tandem/core/thread_context.h"

namespace tandem::cuda {

class Event;

/// A stream of one GPU: work queued on it runs in order, concurrently with other streams. Copies refer to the same
/// stream. When the last copy is gone, the runtime's stream is kept for reuse and never destroyed: queued work still
/// runs, and memory cached for this stream serves the next Stream that gets it.
class Stream {
 public:
  /// Takes a stream of `device` that no other Stream refers to: a kept one, or a new one. @throws Error if the device
  /// does not exist
  explicit Stream(Device device = kCUDA, bool high_priority = false);
  /// The GPU of this stream.
  Device device() const { return impl_->device; }
  /// The runtime's handle, a cudaStream_t, for libraries that need one.
  tandem::detail::gpu::StreamHandle handle() const { return impl_->handle; }
  /// -1 for high priority (scheduled before other streams), else 0.
  int priority() const { return impl_->high_priority ? -1 : 0; }
  /// Blocks the host until all work queued on this stream is done. @throws Error that a kernel or collective of the
  /// device reported, for example IndexError
  void synchronize() const;
  /// Whether all work queued on this stream is done.
  bool query() const;
  /// Makes work queued on this stream from now on wait for the work that `other` holds now.
  void wait_stream(const Stream& other) const;
  /// Makes work queued on this stream from now on wait for the work last recorded by `event`.
  void wait_event(const Event& event) const;
  /// Returns an event that records the work queued on this stream so far.
  Event record_event() const;
  friend bool operator==(const Stream& a, const Stream& b) { return a.handle() == b.handle(); }

 private:
  friend class StreamPool;
  struct Impl {
    Device device;
    bool high_priority;
    tandem::detail::gpu::StreamHandle handle;
    Impl* next = nullptr;  // next stream in the list of streams kept for reuse
  };
  std::shared_ptr<Impl> impl_;
};

/// An event: a point in the work of a stream, to wait for or to measure time from.
class Event {
 public:
  explicit Event(bool enable_timing = false) : enable_timing_(enable_timing) {}
  /// Records the work queued on `stream` so far.
  void record(const Stream& stream);
  /// Makes work queued on `stream` from now on wait for the recorded work; no effect if nothing was recorded.
  void wait(const Stream& stream) const;
  /// Blocks the host until the recorded work is done. @throws Error that a kernel or collective of the device reported,
  /// for example IndexError
  void synchronize() const;
  /// Whether the recorded work is done; true if nothing was recorded.
  bool query() const;
  /// Milliseconds from this event to `end`. Both must have been created with timing, recorded, and be done.
  float elapsed_time(const Event& end) const;

 private:
  struct Impl;
  bool enable_timing_;
  std::shared_ptr<Impl> impl_;  // null until record(), which determines the event's device
};

/// The stream on which this thread's work for a device is queued: the device's default stream, unless a StreamGuard or
/// set_stream() chose another. Threads of data loaders use the current streams of the thread that created them;
/// backward runs each node on the streams of its forward. The reference is valid until the guard ends, or until
/// set_stream() chooses another stream; copy the Stream to keep it.
const Stream& current_stream(Device device = kCUDA);
/// The stream of a device that is current unless a guard chose another.
const Stream& default_stream(Device device = kCUDA);
/// Sets the current stream of its device on this thread, until the next call or the end of an enclosing StreamGuard.
void set_stream(const Stream& stream);
/// Sets the current stream of its device on this thread until the guard goes out of scope. Guards nest.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  explicit StreamGuard(detail::Streams streams);  // sets the current streams of all devices
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;

 private:
  detail::Streams saved_streams_;
};

/// ID of a memory pool that captures of Graphs can share: {graph, handle}, where one of the numbers is 0. {0, 0} means
/// no ID.
using MempoolId_t = std::pair<uint64_t, uint64_t>;
/// Returns a new pool ID for Graph::capture_begin(), for graphs that are replayed in the order of their captures.
MempoolId_t graph_pool_handle();
/// Whether a Graph is recording the GPU work of this thread.
bool is_current_stream_capturing();

/// Blocks until all work of a device is done. @throws Error that a kernel or collective of the device reported, for
/// example IndexError
void synchronize(Device device = kCUDA);
/// Name, memory and compute capability of a device.
const tandem::detail::gpu::DeviceProperties& get_device_properties(Device device = kCUDA);
/// Free memory and total memory of a device, in bytes.
std::pair<int64_t, int64_t> mem_get_info(Device device = kCUDA);

}  // namespace tandem::cuda
