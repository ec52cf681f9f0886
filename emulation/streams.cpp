// Implements Streams: queues the work of streams, and chooses the next item to run when a host thread waits.
#include "tandem/emulation/streams.h"

#include <algorithm>
#include <cstdlib>

#include "tandem/core/threads/start_thread.h"
#include "tandem/emulation/capture.h"
#include "tandem/emulation/protection.h"

namespace tandem::emulation {
namespace {

thread_local bool host_function_thread = false;

bool all_passed(const std::vector<StreamPosition>& goal) {
  return std::all_of(goal.begin(), goal.end(), [](const StreamPosition& point) { return point.is_passed(); });
}

/// Runs some work; returns the message of the exception that it throws, or an empty string.
std::string run_catching(const std::function<void()>& work) {
  try {
    work();
    return {};
  } catch (const std::exception& error) {
    return error.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace

bool in_host_function() { return host_function_thread; }
bool StreamPosition::is_passed() const { return stream->num_finished_items >= num_items; }

gpu::StreamHandle Streams::create_stream(int device) {
  streams_.push_back(std::make_shared<gpu::StreamTag>());
  streams_.back()->device = device;
  return streams_.back().get();
}
void Streams::destroy_stream(gpu::StreamHandle stream) {
  const auto at = std::find_if(streams_.begin(), streams_.end(), [stream](const auto& s) { return s.get() == stream; });
  if (at == streams_.end() || stream->is_destroyed) std::abort();  // aborts, as free() does for an invalid pointer
  stream->is_destroyed = true;
  if (stream->capture) stream->capture->is_invalid = true;
  if (stream->queue.empty()) streams_.erase(at);
}
std::shared_ptr<gpu::StreamTag> Streams::find_stream(gpu::StreamHandle stream, const char* call) const {
  const auto at = std::find_if(streams_.begin(), streams_.end(), [stream](const auto& s) { return s.get() == stream; });
  TANDEM_CHECK_AS(CudaError, at != streams_.end() && !(*at)->is_destroyed, call,
                  " failed: the stream was destroyed, or is not a stream; accepted: what create_stream returned");
  return *at;
}

bool Streams::has_failed(const gpu::StreamTag& stream) const {
  return !device_errors[static_cast<size_t>(stream.device)].empty();
}
bool Streams::is_front_runnable(const gpu::StreamTag& stream) const {
  const std::shared_ptr<SyncEvent>& sync_event = stream.queue.front().awaited_event;
  return !sync_event || sync_event->is_reached || has_failed(stream);
}
bool Streams::is_ready(const gpu::StreamTag& stream) const {
  return !stream.is_running && !stream.queue.empty() && is_front_runnable(stream);
}
bool Streams::can_complete(const SyncEvent& sync_event) const {
  const auto lost = [this](const StreamPosition& point) { return has_failed(*point.stream); };
  return !sync_event.work || std::none_of(sync_event.arrivals.begin(), sync_event.arrivals.end(), lost);
}

StreamPosition Streams::enqueue_item(const std::shared_ptr<gpu::StreamTag>& stream, WorkItem item) {
  if (stream->capture) {
    capture_item(*stream, std::move(item));
    return {stream, stream->num_finished_items};
  }
  stream->queue.push_back(std::move(item));
  const StreamPosition point = end_position(stream);
  if (const auto& sync_event = stream->queue.back().arrival) sync_event->arrivals.push_back(point);
  items_changed_.notify_all();
  return point;
}
void Streams::run_random_items(Lock& lock) {
  while (is_shuffled_ && random_bool(eagerness_)) {
    gpu::StreamTag* const ready = random_ready_stream();
    if (!ready) break;
    run_next(lock, *ready);
  }
}
StreamPosition Streams::end_position(const std::shared_ptr<gpu::StreamTag>& stream) const {
  return {stream, stream->num_finished_items + stream->queue.size()};
}
std::vector<StreamPosition> Streams::end_positions(int device) const {
  std::vector<StreamPosition> all;
  for (const auto& stream : streams_)
    if (stream->device == device && !stream->queue.empty()) all.push_back(end_position(stream));
  return all;
}

void Streams::run_until(Lock& lock, const std::vector<StreamPosition>& goal) {
  while (!all_passed(goal)) {
    if (gpu::StreamTag* const stream = choose_stream(goal)) {
      run_next(lock, *stream);
    } else {
      // Another host thread runs the item that this thread needs, or has not yet queued the arrival of its stream at a
      // barrier.
      items_changed_.wait(lock);
    }
  }
}
bool Streams::poll(Lock& lock, const std::vector<StreamPosition>& goal) {
  if (all_passed(goal)) return true;
  if (gpu::StreamTag* const stream = choose_stream(goal)) run_next(lock, *stream);
  return false;
}
void Streams::mark_reached(const std::shared_ptr<SyncEvent>& sync_event) {
  sync_event->is_reached = true;
  sync_event->time = std::chrono::steady_clock::now();
  sync_event->arrivals.clear();
  items_changed_.notify_all();
}

void Streams::run_or_drop_items(Lock& lock) {
  const auto busy = [](const auto& stream) { return stream->is_running; };
  for (;;) {
    const auto ready = std::find_if(streams_.begin(), streams_.end(), [this](const auto& s) { return is_ready(*s); });
    if (ready != streams_.end()) {
      run_next(lock, **ready);
    } else if (std::any_of(streams_.begin(), streams_.end(), busy)) {
      items_changed_.wait(lock);
    } else {
      break;
    }
  }
  // the remaining items wait for a barrier at which some stream will never arrive
  for (const auto& stream : streams_) {
    for (const WorkItem& item : stream->queue)
      if (item.arrival) mark_reached(item.arrival);
    stream->num_finished_items += stream->queue.size();
    stream->queue.clear();
  }
  std::erase_if(streams_, [](const auto& stream) { return stream->is_destroyed; });
  items_changed_.notify_all();
}

size_t Streams::num_pending_items(int device) const {
  size_t count = 0;
  for (const auto& stream : streams_) count += stream->device == device ? stream->queue.size() : 0;
  return count;
}
void Streams::set_seed(uint64_t seed) {
  is_shuffled_ = seed != 0;
  random_.seed(seed);
  constexpr std::array<double, 4> kEagerness{0, 0.1, 0.5, 0.9};
  eagerness_ = kEagerness[seed % kEagerness.size()];
}

/// Returns the stream whose front item must run next, so that the streams pass the positions in `goal`. Returns null if
/// another thread already runs this item, or if other streams have to arrive at a barrier first.
gpu::StreamTag* Streams::find_blocking_stream(const std::vector<StreamPosition>& goal) const {
  for (const StreamPosition& point : goal) {
    gpu::StreamTag& stream = *point.stream;
    if (point.is_passed() || stream.is_running || stream.is_visited) continue;
    if (is_front_runnable(stream)) return &stream;
    stream.is_visited = true;
    gpu::StreamTag* const needed = find_blocking_stream(stream.queue.front().awaited_event->arrivals);
    stream.is_visited = false;
    if (needed) return needed;
  }
  return nullptr;
}
gpu::StreamTag* Streams::random_ready_stream() {
  std::vector<gpu::StreamTag*> ready;
  for (const auto& stream : streams_)
    if (is_ready(*stream)) ready.push_back(stream.get());
  if (ready.empty()) return nullptr;
  return ready[std::uniform_int_distribution<size_t>(0, ready.size() - 1)(random_)];
}
gpu::StreamTag* Streams::choose_stream(const std::vector<StreamPosition>& goal) {
  gpu::StreamTag* const other = is_shuffled_ && random_bool(0.5) ? random_ready_stream() : nullptr;
  return other ? other : find_blocking_stream(goal);
}

void Streams::run_next(Lock& lock, gpu::StreamTag& stream) {
  stream.is_running = true;
  WorkItem& item = stream.queue.front();
  if (item.is_host_function) return pass_to_host_thread(stream);
  const bool arrives = item.arrival && can_complete(*item.arrival);
  const bool last = arrives && --item.arrival->pending_arrivals == 0 && !item.arrival->is_reached;
  const std::function<void()>& work = last ? item.arrival->work : item.work;
  std::string problem;
  if (work && !has_failed(stream)) {
    if (item.find_problem) problem = item.find_problem();
    if (problem.empty()) {
      lock.unlock();
      {
        const DeviceAccess access(item.devices, item.name.c_str());
        problem = run_catching(work);
      }
      lock.lock();
    }
  }
  finish_item(stream, problem);
}
void Streams::finish_item(gpu::StreamTag& stream, const std::string& problem) {
  const WorkItem item = std::move(stream.queue.front());
  if (!problem.empty()) {
    const std::string where = " on cuda:" + std::to_string(stream.device) + ": ";
    std::vector<int> devices{stream.device};
    if (item.arrival)  // if a barrier's work fails, all devices whose streams take part in the barrier have failed
      for (const StreamPosition& other : item.arrival->arrivals) devices.push_back(other.stream->device);
    for (const int device : devices) {
      std::string& error = device_errors[static_cast<size_t>(device)];
      if (error.empty()) error = item.name + where + problem;
    }
  }
  stream.queue.pop_front();
  ++stream.num_finished_items;
  stream.is_running = false;
  if (item.arrival && item.arrival->pending_arrivals == 0 && !item.arrival->is_reached) mark_reached(item.arrival);
  if (stream.is_destroyed && stream.queue.empty())
    std::erase_if(streams_, [&stream](const auto& one) { return one.get() == &stream; });
  items_changed_.notify_all();
}

// Passes a stream to the thread that runs host functions. They need a separate thread, because the thread that waits
// for the stream may hold a lock that they need.
void Streams::pass_to_host_thread(gpu::StreamTag& stream) {
  host_queue_.push_back(&stream);
  host_queue_changed_.notify_one();
  if (has_host_thread_) return;
  has_host_thread_ = true;
  detail::start_thread("host functions", [this] { run_host_functions(); }).detach();
}
void Streams::run_host_functions() {
  host_function_thread = true;
  Lock lock(mutex_);
  for (;;) {
    host_queue_changed_.wait(lock, [this] { return !host_queue_.empty(); });
    gpu::StreamTag& stream = *host_queue_.front();
    host_queue_.pop_front();
    const std::function<void()>& work = stream.queue.front().work;
    std::string problem;
    if (!has_failed(stream)) {
      lock.unlock();
      problem = run_catching(work);
      lock.lock();
    }
    finish_item(stream, problem);
  }
}

}  // namespace tandem::emulation
