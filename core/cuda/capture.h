// Capture: records the GPU work of a Graph (core/loop/graph.h) as a CUDA graph, on its own streams and with memory from
// a private pool. Internal.
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/cuda/streams.h"

namespace tandem::cuda {

/// Memory for captures: a private pool in each device's caching allocator, and the streams on which captures into the
/// pool run. Captures and captured work share it; when the last of them is gone, the memory is released.
class MemoryPool {
 public:
  /// The pool with this ID, created if nothing holds it; for {0, 0} a new pool. @throws Error if the ID is invalid
  static std::shared_ptr<MemoryPool> find_or_create(MempoolId_t id);
  ~MemoryPool();
  MempoolId_t id() const { return id_; }
  /// ID of the pool in the allocator.
  uint64_t allocator_pool_id() const { return id_.first + id_.second; }
  /// Stream on which captures into this pool run, one capture at a time. All use the same stream, so that each can
  /// reuse blocks that earlier captures freed.
  const Stream& stream(Device device);

 private:
  friend class detail::Capture;
  explicit MemoryPool(MempoolId_t id) : id_(id) {}
  MempoolId_t id_;
  std::atomic<bool> is_capturing_{false};
  std::mutex mutex_;
  std::map<int, Stream> streams_;  // by device index
};

/// Captured GPU work, ready to be launched.
class CapturedWork {
 public:
  CapturedWork(gpu::GraphHandle graph, std::shared_ptr<MemoryPool> pool, std::vector<Device> devices)
      : graph_(graph), pool_(std::move(pool)), devices_(std::move(devices)) {}
  ~CapturedWork() { gpu::destroy_graph(graph_); }
  CapturedWork(const CapturedWork&) = delete;
  /// Makes work queued on the devices' current streams from now on wait for the last launch.
  void wait() const;
  /// Blocks the host until the last launch is done.
  void synchronize() const;
  /// Launches the work; it is ordered like work queued on the current streams of all its devices.
  void launch();
  /// Call this before freeing memory that launches use and that is not from the pool. Then the memory is reused only
  /// after the last launch.
  void record_memory_use(Device device, void* data) const;
  const MemoryPool& pool() const { return *pool_; }
  const std::vector<Device>& devices() const { return devices_; }

 private:
  gpu::GraphHandle graph_;
  std::shared_ptr<MemoryPool> pool_;
  std::vector<Device> devices_;  // devices that the work uses; it is launched on the current stream of the first one
  Event last_launch_event_;
  std::unique_ptr<Stream> launch_stream_;
};

namespace detail {

/// A capture under way. It begins with the first GPU work. If the current stream at that time is the device's default
/// stream, a stream of the pool takes its place, else the current stream itself is captured. Streams of other devices
/// join when they are first used. ThreadContexts refer to the capture, so that worker threads of the autograd engine
/// record into it too.
class Capture {
 public:
  /// `streams` are the current streams at the start of the capture. `before_allocation` is called before each
  /// allocation to release memory that is no longer needed; it must not allocate. @throws Error if a capture into the
  /// pool is under way
  Capture(MempoolId_t pool, Streams streams, std::function<void()> before_allocation);
  /// Ends the capture and drops its work.
  ~Capture();
  /// Whether GPU work is being captured.
  bool is_active() const { return is_active_.load(std::memory_order_acquire); }
  /// The stream to use instead of `current`. @throws Error or CudaError if the capture cannot begin
  const Stream& capture_stream_for(const Stream& current);
  uint64_t pool_id() const { return pool_id_; }
  void before_allocation() const { before_allocation_(); }
  /// Ends the capture and returns its work; null if no GPU was used. Even if this throws, the capture has ended.
  std::unique_ptr<CapturedWork> end_capture();

 private:
  void begin_capture(const Stream& current);

  const std::thread::id begin_thread_id_ = std::this_thread::get_id();
  const Streams initial_streams_;
  std::shared_ptr<MemoryPool> pool_;  // null after end_capture()
  const uint64_t pool_id_;
  const std::function<void()> before_allocation_;
  std::atomic<bool> is_active_{false};
  std::mutex mutex_;
  bool is_ended_ = false;
  std::map<int, Stream> streams_;  // by device index
  std::vector<Device> devices_;    // devices whose streams are captured, in the order of first use
};

}  // namespace detail

/// While this guard lives, GPU work and allocations of this thread bypass a capture under way. Use it to allocate
/// memory that run_update() writes before each replay: earlier work of the step may use the memory of the capture's
/// pool for other data.
class UncapturedGuard {
 public:
  UncapturedGuard();
  ~UncapturedGuard();
  UncapturedGuard(const UncapturedGuard&) = delete;

 private:
  std::shared_ptr<Capture> saved_capture_;
  std::optional<gpu::UnsafeCallsGuard> unsafe_calls_guard_;
};

/// A thread locks this mutex exclusively while a stream joins a capture. A thread locks it shared while it relies on
/// the fact that a stream is not capturing. No thread waits for a GPU while holding it.
std::shared_mutex& captured_streams_mutex();
/// The capture that records this thread's GPU work, or null.
Capture* current_capture();
/// Call this before the host waits for a GPU. @throws Error that names `op` while a Graph records GPU work
void check_not_captured(const char* op);

}  // namespace tandem::cuda
