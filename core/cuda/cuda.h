// Streams and events of GPUs, and what can be asked of the devices: the names are those of Python's torch.cuda.
#pragma once
#include <memory>
#include <utility>

#include "tandem/core/cuda/gpu_types.h"
#include "tandem/core/device.h"
#include "tandem/core/rank_context.h"

namespace tandem::cuda {

class Event;

/// A queue of work on one GPU: what is put on it runs in order, beside what is on other streams. Copies name the same
/// stream. The runtime's stream is kept for the next Stream when the last of them is gone, and never destroyed: so
/// memory that is cached for it serves that one too, and whatever is still on it runs.
class Stream {
 public:
  /// A new one. @throws Error when there is no such device
  explicit Stream(Device device = kCUDA, bool high_priority = false);
  /// The GPU that it is a queue of.
  Device device() const { return impl_->device; }
  /// The runtime's handle, a cudaStream_t: for libraries that take one.
  tandem::detail::gpu::StreamHandle handle() const { return impl_->handle; }
  /// -1: what is on it goes before what is on others; 0 as a rule.
  int priority() const { return impl_->high_priority ? -1 : 0; }
  /// Waits on the host for all that was put on it, and throws what a kernel of its device reported.
  void synchronize() const;
  /// Whether all that was put on it is done.
  bool query() const;
  /// What is put on it from now on waits for what `other` holds now.
  void wait_stream(const Stream& other) const;
  /// What is put on it from now on waits for what `event` recorded last.
  void wait_event(const Event& event) const;
  /// An event that holds what is on it now.
  Event record_event() const;
  friend bool operator==(const Stream& a, const Stream& b) { return a.handle() == b.handle(); }

 private:
  friend class StreamPool;
  struct Impl {
    Device device;
    bool high_priority;
    tandem::detail::gpu::StreamHandle handle;
    Impl* next = nullptr;  // among those kept
  };
  std::shared_ptr<Impl> impl_;
};

/// A point in a stream's work, to wait for or to measure from.
class Event {
 public:
  explicit Event(bool enable_timing = false) : timing_(enable_timing) {}
  /// Remembers what `stream` holds now.
  void record(const Stream& stream);
  /// What is put on `stream` from now on waits for what was recorded; nothing if nothing was.
  void wait(const Stream& stream) const;
  /// Waits on the host for what was recorded, and throws what a kernel of its device reported.
  void synchronize() const;
  /// Whether what was recorded is done; true when nothing was.
  bool query() const;
  /// Milliseconds from this one to `end`; both with timing, recorded and done.
  float elapsed_time(const Event& end) const;

 private:
  struct Impl;
  bool timing_;
  std::shared_ptr<Impl> impl_;  // null until the first record: an event belongs to a device
};

/// The stream that this thread's work on a device goes to: the device's default stream unless a StreamGuard names
/// another. Worker threads of the engine and of loaders take over their creator's. Good until the guard that made it
/// current goes: copy it to keep it.
const Stream& current_stream(Device device = kCUDA);
/// The stream on which a device's work is where no guard names another.
const Stream& default_stream(Device device = kCUDA);
/// Makes a stream its device's current one on this thread, until another is, or a StreamGuard that was there goes.
void set_stream(const Stream& stream);
/// Makes a stream its device's current one on this thread until it goes out of scope. Guards nest.
class StreamGuard {
 public:
  explicit StreamGuard(const Stream& stream);
  explicit StreamGuard(detail::Streams streams);  // all of them
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;

 private:
  detail::Streams saved_;
};

/// Names memory that captures of Graphs share: {graph, handle}, of which one is 0. {0, 0} is none.
using MempoolId_t = std::pair<uint64_t, uint64_t>;
/// A new name, for Graph::capture_begin of graphs that are replayed in the order in which they were captured.
MempoolId_t graph_pool_handle();
/// Whether a Graph records what this thread puts on a GPU.
bool is_current_stream_capturing();

/// Waits for all work of a device, and throws what a kernel of it reported (an index out of range, say).
void synchronize(Device device = kCUDA);
/// Its name, memory and compute capability.
const tandem::detail::gpu::DeviceProperties& get_device_properties(Device device = kCUDA);
/// Bytes of the device that nobody holds, and all it has.
std::pair<int64_t, int64_t> mem_get_info(Device device = kCUDA);

}  // namespace tandem::cuda
