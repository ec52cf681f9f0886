// The one door to the GPU: what Tandem needs of the CUDA runtime, checked, behind opaque handles. A build has one of
// three implementations: CUDA's (gpu_runtime_cuda.cpp), the emulated device's (emulation/runtime.cpp), or none
// (gpu_runtime_none.cpp), where there are no devices. A function that fails throws CudaError, which names the call,
// what it was about and the runtime's own words; release, restore, destroy and pop never throw.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "tandem/core/cuda/gpu_types.h"
#include "tandem/core/internal.h"

namespace tandem::detail::gpu {

using EventHandle = struct EventTag*;  // cudaEvent_t
using GraphHandle = struct GraphTag*;  // cudaGraphExec_t: work that was captured, ready to be launched

// ---- devices

/// GPUs that can be used; 0 without a driver, and unavailable_reason() says why.
int device_count() noexcept;
std::string unavailable_reason();
/// "cuda", "emulated" or "none".
const char* implementation();
/// Whether all kernels are loaded when a context starts, so that no launch waits for what runs on the GPU: what NCCL
/// needs between threads of a process.
bool loads_kernels_at_start();

const DeviceProperties& properties(int device);
struct MemoryInfo {
  int64_t free, total;
};
MemoryInfo memory_info(int device);
int driver_version();  // 13000 is 13.0
int runtime_version();

/// The device that this thread's runtime calls are about. Kernels and streams name theirs; use DeviceGuard.
int current_device();
void set_device(int device);
/// Back to a device; not to device 0 as long as this process has not used it: a context there would take its memory.
void restore_device(int device) noexcept;
/// Waits for all work of a device.
void synchronize(int device);
bool can_access_peer(int device, int peer);
/// Lets kernels and copies of `device` reach `peer`'s memory; a second time is fine.
void enable_peer_access(int device, int peer);

// ---- memory

/// Device memory, aligned to 256 bytes; null when there is not enough.
void* allocate(int device, size_t bytes);
void release(int device, void* memory) noexcept;
/// Says that nobody needs what these bytes of an allocation hold once `stream` has got here, although they stay
/// allocated: the emulation makes them NaN, a GPU does nothing.
void discard(void* memory, size_t bytes, StreamHandle stream) noexcept;
/// Page-locked host memory, which copies reach without staging and every device can address; null when there is none.
/// This and release_host may wait for what runs on the current device: hold no lock that another rank needs.
void* allocate_host(size_t bytes);
void release_host(void* memory) noexcept;

enum class MemoryKind { pageable, page_locked, device };
struct PointerInfo {
  MemoryKind kind;
  int device;  // of device memory, otherwise -1
};
PointerInfo pointer_info(const void* memory);

/// Copies between any two kinds of memory, in stream order. When it reads or writes host memory, pageable or
/// page-locked, is open until the stream is waited for: of pageable memory most systems take a copy at the call, those
/// whose GPUs read it directly do not.
void copy_async(void* to, const void* from, size_t bytes, StreamHandle stream);
/// Between two devices, through the host where peer access is off.
void copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, StreamHandle stream);
/// Like a launch, it needs the stream's device to be the current one.
void fill_bytes_async(void* to, int value, size_t bytes, StreamHandle stream);

// ---- streams and events

/// A stream that does not wait for the legacy default stream.
StreamHandle create_stream(int device, bool high_priority = false);
void destroy_stream(StreamHandle stream) noexcept;
void synchronize_stream(StreamHandle stream);
bool is_done(StreamHandle stream);
/// What is put on the stream from now on waits until what `event` recorded last is done.
void wait_event(StreamHandle stream, EventHandle event);
/// Calls f(context) on some host thread when the stream gets there; f must not call the runtime.
void call_on_host(StreamHandle stream, void (*f)(void*), void* context);
EventHandle create_event(int device, bool timing = false);
void destroy_event(EventHandle event) noexcept;
void record_event(EventHandle event, StreamHandle stream);
/// True also for an event that was never recorded.
bool is_done(EventHandle event);
void synchronize_event(EventHandle event);
/// Between two recorded and finished events that were made with timing.
float elapsed_milliseconds(EventHandle start, EventHandle end);

// ---- stream capture: work that is put on a capturing stream is not run but becomes part of a graph

/// From now on what is put on the stream, and on those that wait for its events, is captured. Until the end this thread
/// must not call what may wait (allocate, release, synchronize, is_done; see UnsafeCallsGuard), and nobody may ask or
/// wait for the streams that take part: the capture is invalidated then, and ends in an error.
void begin_capture(StreamHandle stream);
/// On the thread and with the stream of begin_capture, which all other streams that took part must have joined. The
/// capture is over even where this throws.
GraphHandle end_capture(StreamHandle stream);
/// Whether the stream takes part in a capture, an invalidated one too.
bool is_capturing(StreamHandle stream);
/// Runs the graph in the order of the stream, after earlier launches of the same graph.
void launch_graph(GraphHandle graph, StreamHandle stream);
/// What was launched still runs.
void destroy_graph(GraphHandle graph) noexcept;
/// Whether this thread may call what is unsafe while it captures; returns what it was.
bool allow_unsafe_calls(bool allowed) noexcept;
/// Lets this thread allocate and release memory although it captures: this does not wait for the capturing streams.
class UnsafeCallsGuard {
 public:
  UnsafeCallsGuard() : saved_(allow_unsafe_calls(true)) {}
  ~UnsafeCallsGuard() { allow_unsafe_calls(saved_); }
  UnsafeCallsGuard(const UnsafeCallsGuard&) = delete;

 private:
  bool saved_;
};

// ---- launches: a kernel starts only while the stream's device is the current one

/// After a launch: throws CudaError under the kernel's name when it could not start. With TANDEM_SYNC_LAUNCHES=1 it
/// waits for the kernel, so that an asynchronous fault is reported at its launch.
void check_launch(const char* kernel, StreamHandle stream);
/// Lets a kernel ask for more dynamic shared memory than 48 KiB.
void allow_shared_memory(const void* kernel, size_t bytes);
/// Named ranges for profilers.
void push_range(const char* name);
void pop_range() noexcept;

/// Makes a device this thread's until it goes out of scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : saved_(current_device()), device_(device) {
    if (device != saved_) set_device(device);
  }
  ~DeviceGuard() {
    if (device_ != saved_) restore_device(saved_);
  }
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int saved_, device_;
};

}  // namespace tandem::detail::gpu
