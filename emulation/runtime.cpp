// Implements the functions of core/cuda/gpu_runtime.h for the emulated devices.
#include <chrono>
#include <cstring>

#include "tandem/emulation/grid.h"
#include "tandem/emulation/protection.h"
#include "tandem/emulation/shared_memory.h"
#include "tandem/emulation/state.h"

namespace tandem {
namespace detail::gpu {
struct EventTag {
  int device;
  bool enable_timing;
  // event that the last record_event call recorded; null if there was no call, or if it was captured
  std::shared_ptr<emulation::SyncEvent> recorded_event;
  std::shared_ptr<emulation::Capture> capture = {};  // capture that captured the last record_event; may be null
  std::vector<size_t> nodes = {};                    // nodes of the capture on which the recorded event depends
};

namespace {

using namespace emulation;  // NOLINT(google-build-using-namespace): this file implements the emulation

thread_local int current_device_index = 0;

/// Runs queued items until the streams have passed all positions in `goal`. @throws CudaError if work of the device has
/// failed
void run_until(Lock& lock, const char* call, int device, const std::vector<StreamPosition>& goal) {
  state().streams.run_until(lock, goal);
  check_device_usable(call, device);
}
std::vector<StreamPosition> event_positions(const EventTag& event) {
  return event.recorded_event ? event.recorded_event->arrivals : std::vector<StreamPosition>();
}

StreamPosition enqueue_item(Lock& lock, const std::shared_ptr<StreamTag>& stream, WorkItem item) {
  const StreamPosition point = state().streams.enqueue_item(stream, std::move(item));
  state().streams.run_random_items(lock);
  return point;
}

/// Returns the memory range that was passed to a call. @throws CudaError if the range is not within live memory
MemoryRange checked_range(const std::string& what, const char* role, const void* memory, size_t bytes) {
  const MemoryRange range{memory, bytes, state().find_memory_device(memory)};
  const std::string problem = state().describe_problem(range);
  TANDEM_CHECK_AS(CudaError, problem.empty(), what, " failed: the ", role, " is ", problem);
  return range;
}
/// Describes where a range is, for messages.
std::string place_of(const MemoryRange& range) {
  if (range.device == kPageable) return "the host, in pageable memory";
  if (range.device == kPageLocked) return "the host, in page-locked memory";
  return "cuda:" + std::to_string(range.device);
}
void check_reachable(const std::string& what, const char* role, const MemoryRange& range, int device) {
  TANDEM_CHECK_AS(CudaError, range.device < 0 || (state().reachable_devices(device) & device_bit(range.device)) != 0,
                  what, " failed: the ", role, " is memory of cuda:", range.device,
                  ", which is not a peer of cuda:", device, "; call enable_peer_access first");
}
void check_device_is_current(const std::string& what, int device) {
  TANDEM_CHECK_AS(CudaError, current_device_index == device, what, " failed: the stream belongs to cuda:", device,
                  ", but the current device is cuda:", current_device_index, "; set it with a DeviceGuard");
}
/// Checks a range again when the work runs: memory that was live when the work was queued may have been released.
std::function<std::string()> make_range_check(const char* role, const MemoryRange& range) {
  return [role, range]() -> std::string {
    const std::string problem = state().describe_problem(range);
    return problem.empty() ? "" : "the " + std::string(role) + " is " + problem;
  };
}

void enqueue_copy(Lock& lock, const std::string& what, const char* call, const std::shared_ptr<StreamTag>& stream,
                  const MemoryRange& to, const MemoryRange& from) {
  auto* const target = static_cast<char*>(const_cast<void*>(to.memory));
  const auto* const source = static_cast<const char*>(from.memory);
  const size_t bytes = to.bytes;
  TANDEM_CHECK_AS(CudaError, target + bytes <= source || source + bytes <= target, what,
                  " failed: source and target overlap; accepted: ranges that share no bytes");
  if (to.device == kPageable || from.device == kPageable) Captures::reject_if_capturing(what.c_str(), *stream);
  WorkItem item{.name = what, .devices = kAllDevices};
  item.work = [target, source, bytes] { std::memcpy(target, source, bytes); };
  item.find_problem = [a = make_range_check("target", to), b = make_range_check("source", from)] {
    const std::string problem = a();
    return problem.empty() ? b() : problem;
  };
  const StreamPosition point = enqueue_item(lock, stream, std::move(item));
  // If source and target are both in host memory, the copy is complete when the call returns.
  if (to.device < 0 && from.device < 0 && !stream->capture) run_until(lock, call, stream->device, {point});
}

}  // namespace

// ---- devices

int device_count() noexcept {
  const std::lock_guard lock(state().mutex);
  return state().settings.num_devices;
}
std::string unavailable_reason() {
  const std::lock_guard lock(state().mutex);
  return state().settings.invalid_variable.empty() ? "the emulation is set to no devices"
                                                   : state().settings.invalid_variable;
}
const char* implementation() { return "emulated"; }
bool loads_kernels_eagerly() { return true; }
const DeviceProperties& properties(int device) {
  begin_call("properties");
  const std::lock_guard lock(state().mutex);
  check_valid_device("properties", device);
  static const auto& all =
      *new DeviceProperties{"emulated device", 0, 0, 4, int64_t(1) << 30, 1 << 20, SharedMemory::kMaxBytes};
  return all;
}
MemoryInfo memory_info(int device) {
  begin_call("memory_info");
  const std::lock_guard lock(state().mutex);
  check_device_usable("memory_info", device);
  const auto total = static_cast<int64_t>(state().settings.memory_limit_bytes[static_cast<size_t>(device)]);
  return {std::max<int64_t>(0, total - static_cast<int64_t>(state().arena(device).used_bytes())), total};
}
int driver_version() { return 0; }
int runtime_version() { return 0; }

int current_device() { return current_device_index; }
void set_device(int device) {
  begin_call("set_device");
  const std::lock_guard lock(state().mutex);
  check_valid_device("set_device", device);
  current_device_index = device;
}
void restore_device(int device) noexcept { current_device_index = device; }
void synchronize(int device) {
  begin_call("synchronize");
  Lock lock(state().mutex);
  check_device_usable("synchronize", device);
  state().captures.reject_if_device_capturing("synchronize", device);
  state().captures.reject_unsafe_call("synchronize");
  run_until(lock, "synchronize", device, state().streams.end_positions(device));
}
bool can_access_peer(int device, int peer) {
  begin_call("can_access_peer");
  const std::lock_guard lock(state().mutex);
  check_valid_device("can_access_peer", device);
  check_valid_device("can_access_peer", peer);
  return state().settings.has_peer_access && device != peer;
}
void enable_peer_access(int device, int peer) {
  begin_call("enable_peer_access");
  const std::lock_guard lock(state().mutex);
  check_device_usable("enable_peer_access", device);
  check_valid_device("enable_peer_access", peer);
  TANDEM_CHECK_AS(CudaError, state().settings.has_peer_access && device != peer, "enable_peer_access of cuda:", device,
                  " to cuda:", peer, " failed: they cannot be peers, because ",
                  device == peer ? "they are the same device" : "set_peer_access(false) forbids it");
  state().peers[static_cast<size_t>(device)] |= device_bit(peer);
}

// ---- memory

void* allocate(int device, size_t bytes) {
  begin_call("allocate");
  const std::lock_guard lock(state().mutex);
  check_device_usable("allocate", device);
  state().captures.reject_unsafe_call("allocate");
  Arena& arena = state().arena(device);
  if (bytes == 0 || arena.used_bytes() + bytes > state().settings.memory_limit_bytes[static_cast<size_t>(device)])
    return nullptr;
  return arena.allocate(bytes);
}
void release(int device, void* memory) noexcept {
  if (!memory) return;
  Lock lock(state().mutex);
  // release() must not throw, so the only sign of this error is that the capture becomes invalid.
  if (!state().captures.unsafe_call_reason("release").empty()) return;
  state().streams.run_until(lock, state().streams.end_positions(device));
  std::string& error = state().streams.device_errors[static_cast<size_t>(device)];
  if (!state().arena(device).release(memory) && error.empty())
    error = "release on cuda:" + std::to_string(device) + ": not the start of an allocation of it that is live";
}
void discard(void* memory, size_t bytes, StreamHandle handle) noexcept try {
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "discard");
  // If the stream is idle, the memory is discarded at once: a queued item would make the stream busy.
  if (stream->queue.empty() && !stream->capture) {
    const DeviceAccess access(device_bit(stream->device), "discard");
    std::memset(memory, kFillByte, bytes);
    return;
  }
  WorkItem item{.name = "discard", .devices = device_bit(stream->device)};
  item.work = [memory, bytes] { std::memset(memory, kFillByte, bytes); };
  item.find_problem = make_range_check("memory", checked_range("discard", "memory", memory, bytes));
  state().streams.enqueue_item(stream, std::move(item));
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): discard() need not succeed
}
void* allocate_host(size_t bytes) {
  begin_call("allocate_host");
  Lock lock(state().mutex);
  if (bytes == 0) return nullptr;
  state().captures.reject_unsafe_call("allocate_host");
  state().streams.run_until(lock, state().streams.end_positions(current_device_index));
  return state().page_locked.allocate(bytes);
}
void release_host(void* memory) noexcept {
  if (!memory) return;
  Lock lock(state().mutex);
  if (!state().captures.unsafe_call_reason("release_host").empty()) return;
  if (!state().page_locked.release(memory)) std::abort();  // aborts, as free() does for an invalid pointer
  state().streams.run_until(lock, state().streams.end_positions(current_device_index));
}
PointerInfo pointer_info(const void* memory) {
  begin_call("pointer_info");
  const std::lock_guard lock(state().mutex);
  const int device = state().find_memory_device(memory);
  if (device == kPageable || !state().describe_problem({memory, 1, device}).empty()) return {MemoryKind::pageable, -1};
  return {device < 0 ? MemoryKind::page_locked : MemoryKind::device, device < 0 ? -1 : device};
}

void copy_async(void* to, const void* from, size_t bytes, StreamHandle handle) {
  begin_call("copy_async");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "copy_async");
  const int device = stream->device;
  check_device_usable("copy_async", device);
  if (bytes == 0) return;
  const std::string what = "copy_async of " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device);
  const MemoryRange target = checked_range(what, "target", to, bytes),
                    source = checked_range(what, "source", from, bytes);
  check_reachable(what, "target", target, device);
  check_reachable(what, "source", source, device);
  enqueue_copy(lock, what, "copy_async", stream, target, source);
}
void copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, StreamHandle handle) {
  begin_call("copy_peer_async");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "copy_peer_async");
  check_device_usable("copy_peer_async", stream->device);
  check_device_usable("copy_peer_async", to_device);
  check_device_usable("copy_peer_async", from_device);
  if (bytes == 0) return;
  const std::string what = "copy_peer_async of " + std::to_string(bytes) +
                           " bytes from cuda:" + std::to_string(from_device) + " to cuda:" + std::to_string(to_device);
  const MemoryRange target = checked_range(what, "target", to, bytes),
                    source = checked_range(what, "source", from, bytes);
  TANDEM_CHECK_AS(CudaError, target.device == to_device && source.device == from_device, what,
                  " failed: the source is on ", place_of(source), " and the target on ", place_of(target),
                  "; they must be on the devices that the call names");
  enqueue_copy(lock, what, "copy_peer_async", stream, target, source);
}
void fill_bytes_async(void* to, int value, size_t bytes, StreamHandle handle) {
  begin_call("fill_bytes_async");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "fill_bytes_async");
  const int device = stream->device;
  check_device_usable("fill_bytes_async", device);
  if (bytes == 0) return;
  const std::string what = "fill_bytes_async of " + std::to_string(bytes) + " bytes on cuda:" + std::to_string(device);
  check_device_is_current(what, device);
  const MemoryRange target = checked_range(what, "target", to, bytes);
  check_reachable(what, "target", target, device);
  TANDEM_CHECK_AS(CudaError, target.device != kPageable, what,
                  " failed: the target is pageable host memory; accepted: device memory and page-locked host memory");
  WorkItem item{.name = what, .devices = kAllDevices};
  item.work = [to, value, bytes] { std::memset(to, value, bytes); };
  item.find_problem = make_range_check("target", target);
  enqueue_item(lock, stream, std::move(item));
}

// ---- streams and events

StreamHandle create_stream(int device, bool) {
  begin_call("create_stream");
  const std::lock_guard lock(state().mutex);
  check_device_usable("create_stream", device);
  return state().streams.create_stream(device);
}
void destroy_stream(StreamHandle stream) noexcept {
  if (!stream) return;
  const std::lock_guard lock(state().mutex);
  state().streams.destroy_stream(stream);
}
void synchronize_stream(StreamHandle handle) {
  begin_call("synchronize_stream");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "synchronize_stream");
  Captures::reject_if_capturing("synchronize_stream", *stream);
  state().captures.reject_unsafe_call("synchronize_stream");
  run_until(lock, "synchronize_stream", stream->device, {state().streams.end_position(stream)});
}
bool is_done(StreamHandle handle) {
  begin_call("is_done");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "is_done");
  Captures::reject_if_capturing("is_done", *stream);
  state().captures.reject_unsafe_call("is_done");
  const bool done = state().streams.poll(lock, {state().streams.end_position(stream)});
  check_device_usable("is_done", stream->device);
  return done;
}
void wait_event(StreamHandle handle, EventHandle event) {
  begin_call("wait_event");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "wait_event");
  check_device_usable("wait_event", stream->device);
  if (event->capture || (stream->capture && event->recorded_event))
    state().captures.wait_for_nodes(stream, event->capture, event->nodes);
  else if (event->recorded_event)
    enqueue_item(lock, stream, {.name = "wait_event", .awaited_event = event->recorded_event});
}
void call_on_host(StreamHandle handle, void (*f)(void*), void* context) {
  begin_call("call_on_host");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "call_on_host");
  check_device_usable("call_on_host", stream->device);
  WorkItem item{.name = "host function", .is_host_function = true};
  item.work = [f, context] { f(context); };
  enqueue_item(lock, stream, std::move(item));
}

EventHandle create_event(int device, bool timing) {
  begin_call("create_event");
  const std::lock_guard lock(state().mutex);
  check_device_usable("create_event", device);
  return new EventTag{device, timing, nullptr};
}
void destroy_event(EventHandle event) noexcept {
  const std::lock_guard lock(state().mutex);
  delete event;
}
void record_event(EventHandle event, StreamHandle handle) {
  begin_call("record_event");
  Lock lock(state().mutex);
  const auto stream = state().streams.find_stream(handle, "record_event");
  check_device_usable("record_event", stream->device);
  TANDEM_CHECK_AS(CudaError, event->device == stream->device,
                  "record_event failed: the event belongs to cuda:", event->device,
                  " and the stream to cuda:", stream->device, "; both must be of one device");
  if (stream->capture) {
    event->nodes = Captures::record_event(*stream);
    event->capture = stream->capture;
    event->recorded_event = nullptr;
    return;
  }
  event->capture = nullptr;
  event->recorded_event = std::make_shared<SyncEvent>();
  enqueue_item(lock, stream, {.name = "record_event", .arrival = event->recorded_event});
}
bool is_done(EventHandle event) {
  begin_call("is_done");
  Lock lock(state().mutex);
  Captures::reject_captured_event("is_done", event->capture);
  state().captures.reject_unsafe_call("is_done");
  const bool done = state().streams.poll(lock, event_positions(*event));
  check_device_usable("is_done", event->device);
  return done;
}
void synchronize_event(EventHandle event) {
  begin_call("synchronize_event");
  Lock lock(state().mutex);
  Captures::reject_captured_event("synchronize_event", event->capture);
  state().captures.reject_unsafe_call("synchronize_event");
  run_until(lock, "synchronize_event", event->device, event_positions(*event));
}
float elapsed_milliseconds(EventHandle start, EventHandle end) {
  begin_call("elapsed_milliseconds");
  const std::lock_guard lock(state().mutex);
  check_device_usable("elapsed_milliseconds", start->device);
  for (const EventHandle event : {start, end}) Captures::reject_captured_event("elapsed_milliseconds", event->capture);
  TANDEM_CHECK_AS(CudaError, start->enable_timing && end->enable_timing,
                  "elapsed_milliseconds failed: an event was created without timing; create both with timing");
  TANDEM_CHECK_AS(CudaError,
                  start->recorded_event && end->recorded_event && start->recorded_event->is_reached &&
                      end->recorded_event->is_reached,
                  "elapsed_milliseconds failed: an event was not recorded, or has not completed; record both, then "
                  "synchronize with them");
  return std::chrono::duration<float, std::milli>(end->recorded_event->time - start->recorded_event->time).count();
}

// ---- launches

void check_launch(const char*, StreamHandle) { begin_call("check_launch"); }
void allow_shared_memory(const void*, size_t bytes) {
  begin_call("allow_shared_memory");
  TANDEM_CHECK_AS(CudaError, bytes <= SharedMemory::kMaxBytes, "allow_shared_memory of ", bytes,
                  " bytes failed; accepted: at most ", SharedMemory::kMaxBytes, " bytes per block");
}
void nvtx_range_push(const char*) {}
void nvtx_range_pop() noexcept {}

}  // namespace detail::gpu

namespace emulation {

void check_not_host_memory(const void* address) {
  TANDEM_CHECK_AS(CudaError, !state().page_locked.contains(address),
                  "device threads run an atomic operation on page-locked memory, which the host may change at the same "
                  "time; use a system-scope operation (atomicCAS_system)");
}

void launch(const char* name, dim3 grid, dim3 block, size_t shared_bytes, gpu::StreamHandle handle,
            std::function<void()> thread) {
  begin_call("launch");
  State& all = state();
  Lock lock(all.mutex);
  const auto stream = all.streams.find_stream(handle, name);
  check_device_usable(name, stream->device);
  gpu::check_device_is_current("launch of " + std::string(name), stream->device);
  check_launch_shape(name, grid, block, shared_bytes);
  WorkItem item{.name = "kernel " + std::string(name), .devices = all.reachable_devices(stream->device)};
  item.work = [name = std::string(name), grid, block, shared_bytes, thread = std::move(thread)] {
    run_grid(name.c_str(), grid, block, shared_bytes, thread);
  };
  const StreamPosition point = all.streams.enqueue_item(stream, std::move(item));
  all.streams.run_random_items(lock);
  if (!all.settings.wait_for_launches || stream->capture) return;
  all.streams.run_until(lock, {point});
  check_device_usable(name, stream->device);
}

}  // namespace emulation
}  // namespace tandem
