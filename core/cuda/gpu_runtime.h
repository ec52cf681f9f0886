// The only interface to the GPU: the CUDA runtime functions that Tandem uses, with error checks and opaque handles. A
// build has one of three implementations: CUDA (gpu_runtime_cuda.cpp), the emulated device (emulation/runtime.cpp), or
// none (gpu_runtime_none.cpp), which has no devices. A function that fails throws CudaError with the call, its target
// and the runtime's error text; release, restore, destroy and pop functions never throw.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "tandem/core/cuda/gpu_types.h"
#include "tandem/core/internal.h"

namespace tandem::detail::gpu {

using EventHandle = struct EventTag*;  // cudaEvent_t
using GraphHandle = struct GraphTag*;  // cudaGraphExec_t: captured work, ready to be launched

// ---- devices

/// Number of GPUs that can be used. It is 0 without a driver; unavailable_reason() says why.
int device_count() noexcept;
std::string unavailable_reason();
/// Name of the implementation: "cuda", "emulated" or "none".
const char* implementation();
/// Whether all kernels are loaded when a context starts, so that no launch waits for running GPU work. NCCL needs this
/// if several ranks are threads of one process.
bool loads_kernels_eagerly();

const DeviceProperties& properties(int device);
struct MemoryInfo {
  int64_t free_bytes, total_bytes;
};
MemoryInfo memory_info(int device);
int driver_version();  // CUDA version that the driver supports: 13000 for 13.0
int runtime_version();

/// Device to which this thread's runtime calls apply if they name no device (cudaGetDevice). To change it for a
/// scope, use DeviceGuard.
int current_device();
void set_device(int device);
/// Restores the current device. Does not switch to device 0 unless this process uses it, because a context there would
/// take memory.
void restore_device(int device) noexcept;
/// Blocks until all work of a device is done.
void synchronize(int device);
bool can_access_peer(int device, int peer);
/// Lets kernels and copies of `device` access memory of `peer`. Repeated calls do nothing.
void enable_peer_access(int device, int peer);

// ---- memory

/// Allocates device memory, aligned to 256 bytes; null if there is not enough.
void* allocate(int device, size_t bytes);
void release(int device, void* memory) noexcept;
/// Declares that once `stream` reaches this point, the contents of these bytes are no longer needed, although they stay
/// allocated. The emulation fills them with NaN; a GPU does nothing.
void discard(void* memory, size_t bytes, StreamHandle stream) noexcept;
/// Allocates page-locked host memory, which copies access without staging and all devices can address; null if there is
/// none. allocate_host() and release_host() may wait for running work of the current device: hold no lock that another
/// rank needs.
void* allocate_host(size_t bytes);
void release_host(void* memory) noexcept;

enum class MemoryKind { pageable, page_locked, device };
struct PointerInfo {
  MemoryKind kind;
  int device;  // device that holds the memory; -1 for host memory
};
PointerInfo pointer_info(const void* memory);

/// Copies between any two kinds of memory, in stream order. Host memory may be read or written at any time until the
/// stream is synchronized. (Most systems copy pageable memory during the call, but not those whose GPUs read it
/// directly.)
void copy_async(void* to, const void* from, size_t bytes, StreamHandle stream);
/// Copies between two devices, through the host if peer access is off.
void copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, StreamHandle stream);
/// Sets each byte to `value`. As for a launch, the stream's device must be current.
void fill_bytes_async(void* to, int value, size_t bytes, StreamHandle stream);

// ---- streams and events

/// Creates a stream that does not synchronize with the legacy default stream.
StreamHandle create_stream(int device, bool high_priority = false);
void destroy_stream(StreamHandle stream) noexcept;
void synchronize_stream(StreamHandle stream);
bool is_done(StreamHandle stream);
/// Makes work queued on the stream from now on wait for the work last recorded by `event`.
void wait_event(StreamHandle stream, EventHandle event);
/// Queues a call of f(context) on some host thread; f must not call the runtime.
void call_on_host(StreamHandle stream, void (*f)(void*), void* context);
EventHandle create_event(int device, bool timing = false);
void destroy_event(EventHandle event) noexcept;
void record_event(EventHandle event, StreamHandle stream);
/// Whether the recorded work is done; true if the event was never recorded.
bool is_done(EventHandle event);
void synchronize_event(EventHandle event);
/// Time between two recorded and finished events that were created with timing.
float elapsed_milliseconds(EventHandle start, EventHandle end);

// ---- stream capture: work queued on a capturing stream is not run but becomes part of a graph

/// Starts to capture the work queued on the stream, and on streams that wait for its events. Until the end, this thread
/// must not call functions that may wait (allocate, release, synchronize, is_done; see UnsafeCallsGuard), and no thread
/// may query or wait for the streams that take part; otherwise the capture is invalidated and ends with an error.
void begin_capture(StreamHandle stream);
/// Ends the capture. Call it on the thread and with the stream of begin_capture(), after all other capturing streams
/// have joined that stream. Even if this throws, the capture has ended.
GraphHandle end_capture(StreamHandle stream);
/// Whether the stream takes part in a capture, possibly an invalidated one.
bool is_capturing(StreamHandle stream);
/// Launches the graph in stream order, after earlier launches of the same graph.
void launch_graph(GraphHandle graph, StreamHandle stream);
/// Destroys the graph; launched work still runs.
void destroy_graph(GraphHandle graph) noexcept;
/// Sets whether this thread may call functions that are unsafe during a capture; returns the previous setting.
bool allow_unsafe_calls(bool allowed) noexcept;
/// Lets this thread allocate and release memory while it captures: this does not wait for the capturing streams.
class UnsafeCallsGuard {
 public:
  UnsafeCallsGuard() : saved_allowed_(allow_unsafe_calls(true)) {}
  ~UnsafeCallsGuard() { allow_unsafe_calls(saved_allowed_); }
  UnsafeCallsGuard(const UnsafeCallsGuard&) = delete;

 private:
  bool saved_allowed_;
};

// ---- launches: the stream's device must be current when a kernel is launched

/// Call this after a launch. @throws CudaError that names the kernel if the kernel could not start. With
/// TANDEM_SYNC_LAUNCHES=1, waits for the kernel, so that an asynchronous fault is reported at its launch.
void check_launch(const char* kernel, StreamHandle stream);
/// Lets a kernel use more than 48 KiB of dynamic shared memory on the current device. Asks CUDA only if the kernel
/// needs more than in earlier calls.
void allow_shared_memory(const void* kernel, size_t bytes);
/// Begins and ends a named range for profilers.
void nvtx_range_push(const char* name);
void nvtx_range_pop() noexcept;

/// Sets this thread's current device until the guard goes out of scope.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device) : original_device_(current_device()), device_(device) {
    if (device != original_device_) set_device(device);
  }
  ~DeviceGuard() {
    if (device_ != original_device_) restore_device(original_device_);
  }
  DeviceGuard(const DeviceGuard&) = delete;

 private:
  int original_device_, device_;
};

}  // namespace tandem::detail::gpu
