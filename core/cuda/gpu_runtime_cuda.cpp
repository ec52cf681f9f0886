// GPU interface on the CUDA runtime: the only file that calls the runtime (kernels are launched by
// kernels/cuda/launch.h).
#include "tandem/core/cuda/gpu_runtime.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>

#include "tandem/core/device.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TANDEM_HAS_NVTX 1
#else
#define TANDEM_HAS_NVTX 0
#endif

namespace tandem::detail::gpu {
namespace {

/// The runtime's error text, for example "invalid argument (cudaErrorInvalidValue)".
std::string error_text(cudaError_t status) {
  return std::string(cudaGetErrorString(status)) + " (" + cudaGetErrorName(status) + ")";
}
std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }
std::string name_of(int device) { return "cuda:" + std::to_string(device); }
/// Device of a stream, for messages; the thread's current device if the runtime cannot tell. Does not query a capturing
/// stream, because that would invalidate the capture.
int device_of(StreamHandle stream) {
  int device = 0;
#if CUDART_VERSION >= 12080
  const auto asked = reinterpret_cast<cudaStream_t>(stream);
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(asked, &capture) == cudaSuccess && capture == cudaStreamCaptureStatusNone &&
      cudaStreamGetDevice(asked, &device) == cudaSuccess)
    return device;
#else
  (void)stream;
#endif
  if (cudaGetDevice(&device) != cudaSuccess) device = 0;
  cudaGetLastError();  // clears the error of an older driver, which does not know cudaStreamGetDevice
  return device;
}

[[noreturn, gnu::cold]] void fail(cudaError_t status, const std::string& what) {
  cudaGetLastError();  // clears the error, else the next launch would report it
  TANDEM_CHECK_AS(CudaError, false, what, " failed: ", error_text(status));
  __builtin_unreachable();
}
void check(cudaError_t status, const char* call) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, call);
}
void check(cudaError_t status, const char* call, int device) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, std::string(call) + " on " + name_of(device));
}
void check(cudaError_t status, const char* call, StreamHandle stream) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, std::string(call) + " on " + name_of(device_of(stream)));
}
void check(cudaError_t status, const char* call, size_t bytes, StreamHandle stream) {
  if (status != cudaSuccess) [[unlikely]]
    fail(status, std::string(call) + " of " + std::to_string(bytes) + " bytes on " + name_of(device_of(stream)));
}
/// Result of a query: true if done, false if not ready. @throws CudaError for any other status
bool is_finished(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check(status, call);
  return true;
}
/// Reports errors in functions that must not throw. Errors of a driver that is being shut down at the end of the
/// process are ignored. Only the first error is reported, because after a kernel's fault every call fails alike.
void report_error(cudaError_t status, const char* call) noexcept {
  if (status == cudaSuccess) return;
  cudaGetLastError();
  if (status == cudaErrorCudartUnloading || status == cudaErrorContextIsDestroyed) return;
  static std::atomic<bool> reported{false};
  if (!reported.exchange(true))
    std::fprintf(stderr, "tandem: %s failed: %s (%s)\n", call, cudaGetErrorString(status), cudaGetErrorName(status));
}

/// Whether kernels may be loaded at their first launch. This saves seconds at the start, because NVIDIA's libraries
/// have thousands of kernels. But loading may wait for running GPU work, for example for an NCCL collective that waits
/// for another rank; if that rank is a thread of this process and waits for the driver, then both deadlock. So kernels
/// are loaded lazily only if ranks cannot be threads with a GPU each: in a job with a process for each rank, or with a
/// single GPU.
bool may_load_lazily() {
  // Variables in which launchers set the rank. SLURM_PROCID is not among them, because a batch script has it too, and
  // may start ranks as threads.
  for (const char* const rank : {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"})
    if (std::getenv(rank)) return true;
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) return !std::strchr(visible, ',');
  std::error_code failure;  // set if the driver does not list its GPUs, so that there may be several GPUs
  const std::filesystem::directory_iterator gpus("/proc/driver/nvidia/gpus", failure);
  return !failure && std::distance(gpus, std::filesystem::directory_iterator()) == 1;
}

/// The GPUs of this machine, queried once. Without a driver the query fails and leaves the count at -1.
struct Devices {
  Devices() {
    setenv("CUDA_MODULE_LOADING", may_load_lazily() ? "LAZY" : "EAGER", /*overwrite=*/0);
    const char* const loading = std::getenv("CUDA_MODULE_LOADING");
    loads_eagerly = loading && std::strcmp(loading, "EAGER") == 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaSuccess && count > 0) {
      count = std::min(count, kMaxDevices);
      return;
    }
    count = 0;
    cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    reason = (status == cudaSuccess ? "the driver shows no device" : error_text(status)) + "; the driver's CUDA is " +
             (driver ? version(driver) : "none") + ", this build's " + version(CUDART_VERSION);
  }
  int count = -1;
  bool loads_eagerly = false;
  std::string reason;
  std::array<std::once_flag, kMaxDevices> asked;
  std::array<DeviceProperties, kMaxDevices> properties;
};
Devices& devices() {
  static auto& all = *new Devices;  // never destroyed: static tensors may outlive other static objects
  return all;
}
/// Devices on which this process has work or memory, and the first of them.
std::array<std::atomic<bool>, kMaxDevices> used;
std::atomic<int> first_used{-1};
void mark_used(int device) {
  used[static_cast<size_t>(device)].store(true, std::memory_order_relaxed);
  int none = -1;
  first_used.compare_exchange_strong(none, device, std::memory_order_relaxed);
}
bool is_used(int device) { return used[static_cast<size_t>(device)].load(std::memory_order_relaxed); }
/// Called before runtime calls that specify no device. Such a call creates a context on the thread's current device,
/// which takes about 500 MB of its memory. A thread that has set no device is on device 0, so with eight processes,
/// each using another GPU, all would create a context there. This switches such a thread to the first device that the
/// process uses.
void leave_unused_device() noexcept {
  thread_local bool device_chosen = false;
  if (device_chosen) [[likely]]
    return;
  const int first = first_used.load(std::memory_order_relaxed);
  if (first < 0) return;
  device_chosen = true;
  int now = 0;
  if (!is_used(0) && cudaGetDevice(&now) == cudaSuccess && now == 0) report_error(cudaSetDevice(first), "set_device");
}

cudaStream_t raw(StreamHandle stream) {
  leave_unused_device();
  return reinterpret_cast<cudaStream_t>(stream);
}
cudaEvent_t raw(EventHandle event) {
  leave_unused_device();
  return reinterpret_cast<cudaEvent_t>(event);
}

}  // namespace

int device_count() noexcept try { return devices().count; } catch (...) {
  return 0;
}
std::string unavailable_reason() { return devices().reason; }
const char* implementation() { return "cuda"; }
bool loads_kernels_eagerly() { return devices().loads_eagerly; }

const DeviceProperties& properties(int device) {
  Devices& all = devices();
  TANDEM_CHECK_AS(CudaError, device >= 0 && device < all.count, "properties: there is no ", name_of(device),
                  all.count ? "; accepted: cuda:0 to " + name_of(all.count - 1) : ": " + all.reason);
  const auto at = static_cast<size_t>(device);
  std::call_once(all.asked[at], [&] {
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, device), "properties", device);
    all.properties[at] = {p.name,
                          p.major,
                          p.minor,
                          p.multiProcessorCount,
                          static_cast<int64_t>(p.totalGlobalMem),
                          p.l2CacheSize,
                          static_cast<int64_t>(p.sharedMemPerBlockOptin)};
  });
  return all.properties[at];
}
MemoryInfo memory_info(int device) {
  const DeviceGuard guard(device);
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "memory_info", device);
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}
int driver_version() {
  int number = 0;
  check(cudaDriverGetVersion(&number), "driver_version");
  return number;
}
int runtime_version() {
  int number = 0;
  check(cudaRuntimeGetVersion(&number), "runtime_version");
  return number;
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "current_device");
  return device;
}
void set_device(int device) {
  check(cudaSetDevice(device), "set_device", device);
  mark_used(device);
}
void restore_device(int device) noexcept {
  // Switches to device 0 only if it is in use: a thread may be there because it has set no device (see
  // leave_unused_device).
  if (device != 0 || is_used(0)) report_error(cudaSetDevice(device), "restore_device");
}
void synchronize(int device) {
  const DeviceGuard guard(device);
  check(cudaDeviceSynchronize(), "synchronize", device);
}
bool can_access_peer(int device, int peer) {
  int can = 0;
  check(cudaDeviceCanAccessPeer(&can, device, peer), "can_access_peer", device);
  return can != 0;
}
void enable_peer_access(int device, int peer) {
  const DeviceGuard guard(device);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else if (status != cudaSuccess)
    fail(status, "enable_peer_access of " + name_of(device) + " to " + name_of(peer));
}

void* allocate(int device, size_t bytes) {
  const DeviceGuard guard(device);
  mark_used(device);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess) fail(status, "allocate of " + std::to_string(bytes) + " bytes on " + name_of(device));
  return memory;
}
void release(int, void* memory) noexcept {
  leave_unused_device();
  if (memory) report_error(cudaFree(memory), "release");
}
void discard(void*, size_t, StreamHandle) noexcept {}
void* allocate_host(size_t bytes) {
  leave_unused_device();
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess) fail(status, "allocate_host of " + std::to_string(bytes) + " bytes");
  return memory;
}
void release_host(void* memory) noexcept {
  leave_unused_device();
  if (memory) report_error(cudaFreeHost(memory), "release_host");
}
PointerInfo pointer_info(const void* memory) {
  if (device_count() == 0) return {MemoryKind::pageable, -1};
  leave_unused_device();
  cudaPointerAttributes attributes;
  check(cudaPointerGetAttributes(&attributes, memory), "pointer_info");
  switch (attributes.type) {
    case cudaMemoryTypeHost: return {MemoryKind::page_locked, -1};
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged: return {MemoryKind::device, attributes.device};
    default: return {MemoryKind::pageable, -1};
  }
}

void copy_async(void* to, const void* from, size_t bytes, StreamHandle stream) {
  if (bytes) check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, raw(stream)), "copy_async", bytes, stream);
}
void copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, raw(stream));
  if (status != cudaSuccess) [[unlikely]]
    fail(status, "copy_peer_async of " + std::to_string(bytes) + " bytes from " + name_of(from_device) + " to " +
                     name_of(to_device));
}
void fill_bytes_async(void* to, int value, size_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  check(cudaMemsetAsync(to, value, bytes, raw(stream)), "fill_bytes_async", bytes, stream);
}

StreamHandle create_stream(int device, bool high_priority) {
  const DeviceGuard guard(device);
  mark_used(device);
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "create_stream", device);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high_priority ? greatest : least), "create_stream",
        device);
  return reinterpret_cast<StreamHandle>(stream);
}
void destroy_stream(StreamHandle stream) noexcept {
  if (stream) report_error(cudaStreamDestroy(raw(stream)), "destroy_stream");
}
void synchronize_stream(StreamHandle stream) {
  check(cudaStreamSynchronize(raw(stream)), "synchronize_stream", stream);
}
bool is_done(StreamHandle stream) { return is_finished(cudaStreamQuery(raw(stream)), "is_done of a stream"); }
void wait_event(StreamHandle stream, EventHandle event) {
  check(cudaStreamWaitEvent(raw(stream), raw(event), 0), "wait_event", stream);
}
void call_on_host(StreamHandle stream, void (*f)(void*), void* context) {
  check(cudaLaunchHostFunc(raw(stream), f, context), "call_on_host", stream);
}

EventHandle create_event(int device, bool timing) {
  const DeviceGuard guard(device);
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming), "create_event", device);
  return reinterpret_cast<EventHandle>(event);
}
void destroy_event(EventHandle event) noexcept {
  if (event) report_error(cudaEventDestroy(raw(event)), "destroy_event");
}
void record_event(EventHandle event, StreamHandle stream) {
  check(cudaEventRecord(raw(event), raw(stream)), "record_event", stream);
}
bool is_done(EventHandle event) { return is_finished(cudaEventQuery(raw(event)), "is_done of an event"); }
void synchronize_event(EventHandle event) { check(cudaEventSynchronize(raw(event)), "synchronize_event"); }
float elapsed_milliseconds(EventHandle start, EventHandle end) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, raw(start), raw(end)), "elapsed_milliseconds");
  return milliseconds;
}

void begin_capture(StreamHandle stream) {
  check(cudaStreamBeginCapture(raw(stream), cudaStreamCaptureModeThreadLocal), "begin_capture", stream);
}
GraphHandle end_capture(StreamHandle stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(raw(stream), &graph), "end_capture", stream);
  cudaGraphExec_t ready = nullptr;
  const cudaError_t status = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  report_error(cudaGraphDestroy(graph), "end_capture");
  check(status, "end_capture: cudaGraphInstantiate", stream);
  return reinterpret_cast<GraphHandle>(ready);
}
bool is_capturing(StreamHandle stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(raw(stream), &status), "is_capturing", stream);
  return status != cudaStreamCaptureStatusNone;
}
void launch_graph(GraphHandle graph, StreamHandle stream) {
  check(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), raw(stream)), "launch_graph", stream);
}
void destroy_graph(GraphHandle graph) noexcept {
  if (graph) report_error(cudaGraphExecDestroy(reinterpret_cast<cudaGraphExec_t>(graph)), "destroy_graph");
}
bool allow_unsafe_calls(bool allowed) noexcept {
  // Captures use the thread-local mode. A thread starts in global mode, which also forbids functions that are unsafe
  // for captures in global mode on any thread; Tandem has no such captures.
  cudaStreamCaptureMode mode = allowed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
  report_error(cudaThreadExchangeStreamCaptureMode(&mode), "allow_unsafe_calls");
  return mode == cudaStreamCaptureModeRelaxed;
}

void check_launch(const char* kernel, StreamHandle stream) {
  static const bool wait = [] {
    const char* text = std::getenv("TANDEM_SYNC_LAUNCHES");
    return text && *text && *text != '0';
  }();
  check(cudaGetLastError(), kernel, stream);
  if (wait && !is_capturing(stream)) check(cudaStreamSynchronize(raw(stream)), kernel, stream);
}
void allow_shared_memory(const void* kernel, size_t bytes) {
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status != cudaSuccess) [[unlikely]]
    fail(status, "allow_shared_memory of " + std::to_string(bytes) + " bytes");
}
void push_range([[maybe_unused]] const char* name) {
#if TANDEM_HAS_NVTX
  nvtxRangePushA(name);
#endif
}
void pop_range() noexcept {
#if TANDEM_HAS_NVTX
  nvtxRangePop();
#endif
}

}  // namespace tandem::detail::gpu
