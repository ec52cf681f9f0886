// Streams of the emulated devices: queues of work that run as late as the rules of CUDA allow. Nothing runs when it is
// queued. A host thread that waits for a stream or an event runs the work that it waits for: the stream's items up to
// that point and, before an item that waits for an event, the work that leads up to the event on other streams. With a
// seed, items of other streams run as well, at random moments.
#pragma once
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/device.h"

namespace tandem {
namespace emulation {

struct Capture;

/// A position in a stream. The stream has passed it when `num_items` of its items have ended.
struct StreamPosition {
  std::shared_ptr<gpu::StreamTag> stream;
  uint64_t num_items;
  bool is_passed() const;
};

/// A recorded event, or a barrier of several streams. A stream arrives at it when the stream's earlier work is done. It
/// completes when all of its streams have arrived and the barrier's work, if any, is done.
struct SyncEvent {
  int pending_arrivals = 1;              // number of streams that still have to arrive
  bool is_reached = false;               // whether it has completed
  std::function<void()> work;            // work of a barrier, which the last stream to arrive runs; may be empty
  std::vector<StreamPosition> arrivals;  // for each stream that has queued it: position at which the stream arrives
  std::chrono::steady_clock::time_point time;
};

/// Entry of a stream's queue.
struct WorkItem {
  std::string name = {};  // description for messages, for example "kernel relu"
  // function to run; empty if the item only records an event, waits for one or arrives at a barrier
  std::function<void()> work = {};
  std::shared_ptr<SyncEvent> arrival = {}, awaited_event = {};
  uint64_t devices = 0;           // bit mask of the devices whose memory the work touches
  bool is_host_function = false;  // whether the work is a host function
  /// Called with the lock held before the work runs; returns why the work cannot run, or an empty string.
  std::function<std::string()> find_problem = {};
};

using Lock = std::unique_lock<std::mutex>;

/// All streams, and the functions that run their items. Callers hold the runtime's lock. Functions with a parameter
/// `lock` may run items, and release the lock meanwhile.
class Streams {
 public:
  explicit Streams(std::mutex& mutex) : mutex_(mutex) {}

  gpu::StreamHandle create_stream(int device);
  /// Destroys the stream once its queued work has run.
  void destroy_stream(gpu::StreamHandle stream);
  /// Returns the stream of a handle. @throws CudaError if `stream` is not a live stream
  std::shared_ptr<gpu::StreamTag> find_stream(gpu::StreamHandle stream, const char* call) const;

  /// Queues an item and returns its position. If the stream is capturing, the item becomes part of the capture instead,
  /// and the returned position is already passed.
  StreamPosition enqueue_item(const std::shared_ptr<gpu::StreamTag>& stream, WorkItem item);
  /// If a seed was set (set_stream_seed), runs some items that are ready, as a device would while the host continues.
  void run_random_items(Lock& lock);
  /// end_position() returns the position at the end of a stream's queue. end_positions() returns it for each stream of
  /// a device whose queue is not empty.
  StreamPosition end_position(const std::shared_ptr<gpu::StreamTag>& stream) const;
  std::vector<StreamPosition> end_positions(int device) const;
  /// Runs items until the streams have passed all positions in `goal`.
  void run_until(Lock& lock, const std::vector<StreamPosition>& goal);
  /// Returns whether the streams have passed all positions in `goal`. If not, also runs one item, so that a loop that
  /// polls ends at some time.
  bool poll(Lock& lock, const std::vector<StreamPosition>& goal);
  void mark_reached(const std::shared_ptr<SyncEvent>& sync_event);
  /// Runs every queued item that can run, then drops the others.
  void run_or_drop_items(Lock& lock);

  size_t num_pending_items(int device) const;
  void set_seed(uint64_t seed);
  /// Error message of the first failed work of each device; empty if no work has failed. After a failure, no more work
  /// of the device runs until the message is cleared.
  std::array<std::string, kMaxDevices> device_errors;

 private:
  bool has_failed(const gpu::StreamTag& stream) const;
  /// Returns whether the front item can run now: the event or barrier for which it waits has completed, or its device
  /// has failed.
  bool is_front_runnable(const gpu::StreamTag& stream) const;
  bool is_ready(const gpu::StreamTag& stream) const;
  /// Returns false if `sync_event` is a barrier of streams and the device of one of them has failed. The other streams
  /// then wait until the barrier is cancelled.
  bool can_complete(const SyncEvent& sync_event) const;
  gpu::StreamTag* find_blocking_stream(const std::vector<StreamPosition>& goal) const;
  gpu::StreamTag* random_ready_stream();
  gpu::StreamTag* choose_stream(const std::vector<StreamPosition>& goal);
  void run_next(Lock& lock, gpu::StreamTag& stream);
  void finish_item(gpu::StreamTag& stream, const std::string& problem);
  void pass_to_host_thread(gpu::StreamTag& stream);
  void run_host_functions();
  bool random_bool(double probability) { return std::bernoulli_distribution(probability)(random_); }

  std::mutex& mutex_;
  // notified when an item is finished or queued, and when a barrier is cancelled
  std::condition_variable items_changed_;
  std::condition_variable host_queue_changed_;
  std::vector<std::shared_ptr<gpu::StreamTag>> streams_;
  // Queue of the thread that runs host functions: streams whose next item is a host function
  std::deque<gpu::StreamTag*> host_queue_;
  bool has_host_thread_ = false;
  bool is_shuffled_ = false;
  double eagerness_ = 0;  // probability that work runs right after it is queued
  std::mt19937_64 random_;
};

/// Returns whether this thread is the thread that runs host functions, which must not call the runtime.
bool in_host_function();

}  // namespace emulation

namespace detail::gpu {
struct StreamTag {
  int device;
  std::deque<emulation::WorkItem> queue;
  uint64_t num_finished_items = 0;                   // number of finished items
  bool is_running = false;                           // whether a thread is running the front item
  bool is_destroyed = false;                         // whether the stream is to be deleted once its queue is empty
  std::shared_ptr<emulation::Capture> capture = {};  // the capture in which the stream takes part (capture.h), or null
  std::vector<size_t> last_nodes = {};               // nodes on which the stream's next captured node will depend
  mutable bool is_visited = false;                   // whether find_blocking_stream() is searching this stream
};
}  // namespace detail::gpu
}  // namespace tandem
