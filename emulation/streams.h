// The streams of the emulated devices: queues of work that run as late as the rules allow. Nothing runs when it is
// queued. When a host thread waits for a stream or an event, that thread runs what this needs: the stream's items up to
// there and, before an item that waits for an event, what leads up to that event on other streams. With a seed, other
// streams' items run as well, at random moments.
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

/// A point in a stream's work; passed when the stream has finished so many items.
struct StreamPoint {
  std::shared_ptr<gpu::StreamTag> stream;
  uint64_t items;
  bool passed() const;
};

/// A point in time that streams come to: what an event recorded, or a meeting of several streams.
struct Mark {
  int missing = 1;                    // arrivals that are not done
  bool reached = false;               // none is missing, and the work is done
  std::function<void()> work;         // of the last one to arrive; may be empty
  std::vector<StreamPoint> arrivals;  // that are queued
  std::chrono::steady_clock::time_point time;
};

/// One entry of a stream.
struct Item {
  std::string name = {};            // for messages: "kernel relu"
  std::function<void()> work = {};  // empty for arrivals and waits
  std::shared_ptr<Mark> arrive = {}, wait = {};
  uint64_t devices = 0;  // whose memory the work touches
  bool on_host = false;  // the work is a host function
  /// Asked under the lock before the work runs: why it cannot, or nothing.
  std::function<std::string()> problem = {};
};

using Lock = std::unique_lock<std::mutex>;

/// All streams, and what runs them. Every function is called with the runtime's lock held; where it is an argument,
/// work may run in the meantime, without it.
class Streams {
 public:
  explicit Streams(std::mutex& mutex) : mutex_(mutex) {}

  gpu::StreamHandle create(int device);
  /// What is queued will still run.
  void destroy(gpu::StreamHandle stream);
  /// @throws CudaError unless it is a stream
  std::shared_ptr<gpu::StreamTag> find(gpu::StreamHandle stream, const char* call) const;

  /// Into the capture that the stream takes part in, if it does: then the point is passed.
  StreamPoint push(const std::shared_ptr<gpu::StreamTag>& stream, Item item);
  /// With a seed, runs some of what is ready, as a device does while the host goes on.
  void stir(Lock& lock);
  /// Ends of the queues, as they are now.
  StreamPoint end(const std::shared_ptr<gpu::StreamTag>& stream) const;
  std::vector<StreamPoint> ends(int device) const;
  /// Runs what it takes to pass all of them.
  void finish(Lock& lock, const std::vector<StreamPoint>& goal);
  /// Whether they are passed; if not, a little is run, so that asking again and again comes to an end.
  bool poll(Lock& lock, const std::vector<StreamPoint>& goal);
  void reached(const std::shared_ptr<Mark>& mark);
  /// Runs everything that can run, then drops what is left.
  void drain(Lock& lock);

  size_t pending(int device) const;
  void set_seed(uint64_t seed);
  /// The first work that failed on each device, in words: until it is cleared nothing more runs there.
  std::array<std::string, kMaxDevices> errors;

 private:
  bool has_failed(const gpu::StreamTag& stream) const;
  /// Whether the item in front could be run now: nothing waits on a device that has failed.
  bool is_free(const gpu::StreamTag& stream) const;
  bool is_ready(const gpu::StreamTag& stream) const;
  /// False for a meeting of which a device has failed: the others wait until it is cancelled.
  bool can_happen(const Mark& mark) const;
  gpu::StreamTag* next_for(const std::vector<StreamPoint>& goal) const;
  gpu::StreamTag* any_ready();
  gpu::StreamTag* pick(const std::vector<StreamPoint>& goal);
  void run_next(Lock& lock, gpu::StreamTag& stream);
  void finish_item(gpu::StreamTag& stream, const std::string& problem);
  void hand_over(gpu::StreamTag& stream);
  void run_host_functions();
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  std::mutex& mutex_;
  std::condition_variable changed_;  // an item was finished or queued, a meeting cancelled
  std::condition_variable to_host_;
  std::vector<std::shared_ptr<gpu::StreamTag>> streams_;
  std::deque<gpu::StreamTag*> for_host_;  // streams whose next item is a host function, for the thread that runs them
  bool host_thread_ = false;
  bool shuffled_ = false;
  double eagerness_ = 0;  // how often work runs as soon as it is queued
  std::mt19937_64 random_;
};

/// True on the thread that runs host functions, which must not call the runtime.
bool in_host_function();

}  // namespace emulation

namespace detail::gpu {
struct StreamTag {
  int device;
  std::deque<emulation::Item> queue;
  uint64_t finished = 0;                             // how many items are done
  bool running = false;                              // the item in front is being run by some thread
  bool destroyed = false;                            // it ends when the queue is empty
  std::shared_ptr<emulation::Capture> capture = {};  // that it takes part in (capture.h)
  std::vector<size_t> tails = {};                    // nodes of it that the next one comes after
  mutable bool visited = false;                      // while a search passes through
};
}  // namespace detail::gpu
}  // namespace tandem
