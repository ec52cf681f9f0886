// GPU streams and events, and properties of GPUs.
#include "tandem/core/cuda/cuda.h"

#include <array>
#include <atomic>
#include <map>
#include <mutex>

#include "tandem/core/cuda/capture.h"
#include "tandem/core/cuda/event_pool.h"
#include "tandem/core/cuda/fault.h"
#include "tandem/core/cuda/streams.h"

namespace tandem::cuda {

bool is_available() { return device_count() > 0; }
int device_count() { return gpu::device_count(); }

static void check_cuda_device(Device device, const char* op) {
  TANDEM_CHECK(device.is_cuda(), op, ": got ", device, "; accepted: a CUDA device");
  check_device_exists(device);
}

/// Unused streams of one device and priority. The stream that has been unused for longest is reused first, because its
/// earlier work is most likely done.
class StreamPool {
 public:
  static StreamPool& of(Device device, bool high_priority) {
    // Never destroyed: static tensors and streams may outlive other static objects.
    static auto& pools = *new std::array<StreamPool, 2 * kMaxDevices>();
    return pools[2 * static_cast<size_t>(device.index()) + high_priority];
  }
  std::shared_ptr<Stream::Impl> acquire_stream(Device device, bool high_priority) {
    Stream::Impl* kept = pop_unused();
    if (!kept) {
      auto made = std::make_unique<Stream::Impl>(Stream::Impl{device, high_priority, nullptr});
      made->handle = gpu::create_stream(device.index(), high_priority);
      kept = made.release();
    }
    return {kept, [](Stream::Impl* impl) { of(impl->device, impl->high_priority).push_unused(impl); }};
  }

 private:
  Stream::Impl* pop_unused() {
    const std::lock_guard lock(mutex_);
    Stream::Impl* const kept = first_unused_;
    if (kept) first_unused_ = std::exchange(kept->next, nullptr);
    return kept;
  }
  void push_unused(Stream::Impl* impl) {
    const std::lock_guard lock(mutex_);
    (first_unused_ ? last_unused_->next : first_unused_) = impl;
    last_unused_ = impl;
  }

  std::mutex mutex_;
  Stream::Impl *first_unused_ = nullptr, *last_unused_ = nullptr;
};

Stream::Stream(Device device, bool high_priority) {
  check_cuda_device(device, "Stream");
  impl_ = StreamPool::of(device, high_priority).acquire_stream(device, high_priority);
}
void Stream::synchronize() const {
  check_not_captured("Stream::synchronize");
  gpu::synchronize_stream(handle());
  check_faults(device());
}
bool Stream::query() const {
  check_not_captured("Stream::query");
  return gpu::is_done(handle());
}
void Stream::wait_stream(const Stream& other) const {
  if (!(*this == other)) wait_event(other.record_event());
}
void Stream::wait_event(const Event& event) const { event.wait(*this); }
Event Stream::record_event() const {
  Event event;
  event.record(*this);
  return event;
}

struct Event::Impl {
  Impl(Device on, bool with_timing) : device(on), event(on.index(), with_timing) {}
  Device device;
  PooledEvent event;
};
void Event::record(const Stream& stream) {
  if (!impl_ || impl_->device != stream.device()) impl_ = std::make_shared<Impl>(stream.device(), enable_timing_);
  gpu::record_event(impl_->event.handle(), stream.handle());
}
void Event::wait(const Stream& stream) const {
  if (!impl_) return;
  std::unique_lock alone(captured_streams_mutex(), std::defer_lock);
  if (current_capture()) alone.lock();  // locked exclusively, because the wait may make the stream join the capture
  gpu::wait_event(stream.handle(), impl_->event.handle());
}
void Event::synchronize() const {
  check_not_captured("Event::synchronize");
  if (!impl_) return;
  gpu::synchronize_event(impl_->event.handle());
  check_faults(impl_->device);
}
bool Event::query() const {
  check_not_captured("Event::query");
  return !impl_ || gpu::is_done(impl_->event.handle());
}
float Event::elapsed_time(const Event& end) const {
  TANDEM_CHECK(
      enable_timing_ && end.enable_timing_,
      "elapsed_time: Both events must be created with argument 'enable_timing=True'. Construct both as Event(true)");
  TANDEM_CHECK(impl_ && end.impl_, "elapsed_time: Both events must be recorded before calculating elapsed time.");
  return gpu::elapsed_milliseconds(impl_->event.handle(), end.impl_->event.handle());
}

/// Current streams that a thread's guards have set; the keys are device indices.
class detail::StreamSet : public std::map<int, Stream> {};

static const Stream& default_stream_of(Device device, const char* op) {
  // Default stream of each device: created at first use, never destroyed.
  static std::atomic<const Stream*> streams[kMaxDevices];
  std::atomic<const Stream*>& mine = streams[device.index()];
  if (const Stream* const known = mine.load(std::memory_order_acquire)) [[likely]]
    return *known;
  check_cuda_device(device, op);
  static auto& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  if (!mine.load(std::memory_order_relaxed)) mine.store(new Stream(device), std::memory_order_release);
  return *mine.load(std::memory_order_relaxed);
}

const Stream& default_stream(Device device) {
  TANDEM_CHECK(device.is_cuda(), "default_stream: got ", device, "; accepted: a CUDA device");
  return default_stream_of(device, "default_stream");
}
const Stream& current_stream(Device device) {
  TANDEM_CHECK(device.is_cuda(), "current_stream: got ", device, "; accepted: a CUDA device");
  return stream_of(ThreadContext::current().streams, device);
}
const Stream& stream_of(const Streams& streams, Device device) {
  const Stream& stream = uncaptured_stream_of(streams, device);
  Capture* const capture = ThreadContext::current().capture.get();
  return capture ? capture->capture_stream_for(stream) : stream;
}
const Stream& uncaptured_stream_of(const Streams& streams, Device device) {
  if (streams) {
    if (const auto at = streams->find(device.index()); at != streams->end()) return at->second;
  }
  return default_stream_of(device, "current_stream");
}
void wait_for_streams(const Streams& streams, const Streams& others) {
  if (streams == others) return;
  for (const Streams& each : {streams, others}) {
    if (!each) continue;
    for (const auto& [index, stream] : *each)
      stream_of(streams, stream.device()).wait_stream(stream_of(others, stream.device()));
  }
}
void set_stream(const Stream& stream) {
  const Streams& now = ThreadContext::current().streams;
  auto set = now ? std::make_shared<StreamSet>(*now) : std::make_shared<StreamSet>();
  set->insert_or_assign(stream.device().index(), stream);
  ThreadContext::current().streams = std::move(set);
}
StreamGuard::StreamGuard(const Stream& stream) : saved_streams_(ThreadContext::current().streams) {
  set_stream(stream);
}
StreamGuard::StreamGuard(Streams streams)
    : saved_streams_(std::exchange(ThreadContext::current().streams, std::move(streams))) {}
StreamGuard::~StreamGuard() { ThreadContext::current().streams = std::move(saved_streams_); }

void synchronize(Device device) {
  check_cuda_device(device, "synchronize");
  check_not_captured("synchronize");
  gpu::synchronize(device.index());
  check_faults(device);
}
void enable_p2p_access(Device a, Device b) {
  static std::atomic<bool> known[kMaxDevices][kMaxDevices];
  if (known[a.index()][b.index()].load(std::memory_order_acquire)) return;
  for (const auto& [device, peer] : {std::pair(a.index(), b.index()), std::pair(b.index(), a.index())}) try {
      if (gpu::can_access_peer(device, peer)) gpu::enable_peer_access(device, peer);
    } catch (const CudaError&) {  // errors are ignored: if a GPU has too many peers, copies go through the host
    }
  known[a.index()][b.index()].store(true, std::memory_order_release);
}
const gpu::DeviceProperties& get_device_properties(Device device) {
  check_cuda_device(device, "get_device_properties");
  return gpu::properties(device.index());
}
std::pair<int64_t, int64_t> mem_get_info(Device device) {
  check_cuda_device(device, "mem_get_info");
  const gpu::MemoryInfo info = gpu::memory_info(device.index());
  return {info.free_bytes, info.total_bytes};
}

}  // namespace tandem::cuda
