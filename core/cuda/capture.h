// Capture: records the GPU work of a Graph (core/loop/graph.h) as a CUDA graph, on streams of its own and with memory
// from a private pool. Internal.
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

/// Memory of captures: a private pool of each device's caching allocator, and the streams that captures into it run on.
/// Work that was captured holds it; with the last of that the memory goes back.
class MemoryPool {
 public:
  /// The one of that name, made where nobody holds it; of {0, 0} a new one. @throws Error for what is no name
  static std::shared_ptr<MemoryPool> of(MempoolId_t id);
  ~MemoryPool();
  MempoolId_t id() const { return id_; }
  /// The allocator's name for it.
  uint64_t number() const { return id_.first + id_.second; }
  /// That captures run on, one at a time: so that blocks which one has freed serve the next.
  const Stream& stream(Device device);

 private:
  friend class detail::Capture;
  explicit MemoryPool(MempoolId_t id) : id_(id) {}
  MempoolId_t id_;
  std::atomic<bool> captures_{false};
  std::mutex mutex_;
  std::map<int, Stream> streams_;  // by device
};

/// Work of GPUs that was captured.
class CapturedWork {
 public:
  CapturedWork(gpu::GraphHandle graph, std::shared_ptr<MemoryPool> pool, std::vector<Device> devices)
      : graph_(graph), pool_(std::move(pool)), devices_(std::move(devices)) {}
  ~CapturedWork() { gpu::destroy_graph(graph_); }
  CapturedWork(const CapturedWork&) = delete;
  /// What is put on the devices' current streams from now on comes after the last launch.
  void wait() const;
  /// Waits on the host for the last launch.
  void synchronize() const;
  /// Runs it in the order of the current streams of all its devices.
  void launch();
  /// Says that launches use memory that is not the pool's, which somebody is about to drop.
  void record_use(Device device, void* data) const;
  const MemoryPool& pool() const { return *pool_; }
  const std::vector<Device>& devices() const { return devices_; }

 private:
  gpu::GraphHandle graph_;
  std::shared_ptr<MemoryPool> pool_;
  std::vector<Device> devices_;  // the first is the one whose stream launches it
  Event last_;
  std::unique_ptr<Stream> launched_on_;
};

namespace detail {

/// A capture under way. It begins with the first work of a GPU, on a stream in place of the one that is the device's
/// current one then, unless that is no default stream; other devices' streams join it as they are used. RankContexts
/// refer to it, so that worker threads of the engine put their work there as well.
class Capture {
 public:
  /// `streams` are current where the capture begins. `before_allocation` gives back what is not needed any more; it
  /// must not allocate. @throws Error when a capture into the pool is under way
  Capture(MempoolId_t pool, Streams streams, std::function<void()> before_allocation);
  /// Drops what was captured.
  ~Capture();
  /// Whether a GPU's work is being captured.
  bool is_on() const { return on_.load(std::memory_order_acquire); }
  /// Where work goes that would go to `current`. @throws Error or CudaError when the capture cannot begin
  const Stream& stream_for(const Stream& current);
  uint64_t pool() const { return pool_number_; }
  void before_allocation() const { before_allocation_(); }
  /// What was captured; null where no GPU was used. The capture is over even where this throws.
  std::unique_ptr<CapturedWork> end();

 private:
  void begin(const Stream& current);

  const std::thread::id thread_ = std::this_thread::get_id();
  const Streams base_;
  std::shared_ptr<MemoryPool> pool_;  // until the end
  const uint64_t pool_number_;
  const std::function<void()> before_allocation_;
  std::atomic<bool> on_{false};
  std::mutex mutex_;
  bool over_ = false;
  std::map<int, Stream> streams_;  // by device
  std::vector<Device> devices_;    // in the order of their first use
};

}  // namespace detail

/// While it lives, this thread's work on GPUs and its memory are outside of the capture that there may be. For memory
/// that run_update() writes before each replay: that of the pool is shared with what runs earlier in the step.
class UncapturedGuard {
 public:
  UncapturedGuard();
  ~UncapturedGuard();
  UncapturedGuard(const UncapturedGuard&) = delete;

 private:
  std::shared_ptr<Capture> saved_;
  std::optional<gpu::UnsafeCallsGuard> unsafe_;
};

/// Held alone while a stream joins a capture; shared by a thread that asks whether a stream is capturing and then
/// treats it as one that is not. Nothing waits for a GPU while it is held.
std::shared_mutex& captured_streams_mutex();
/// The capture that this thread's work on GPUs goes to; null: none.
Capture* current_capture();
/// Said first by what waits for a GPU on the host. @throws Error that names `op` while a Graph records a GPU's work
void check_not_captured(const char* op);

}  // namespace tandem::cuda
