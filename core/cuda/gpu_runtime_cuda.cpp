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
#include <map>
#include <memory>
#include <mutex>
#include <utility>

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
std::string format_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}
std::string device_name(int device) { return "cuda:" + std::to_string(device); }
/// Device of a stream, for messages; the thread's current device if the runtime cannot tell. Does not query a capturing
/// stream, because that would invalidate the capture.
int stream_device(StreamHandle stream) {
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

[[noreturn, gnu::cold]] void throw_cuda_error(cudaError_t status, const std::string& what) {
  cudaGetLastError();  // clears the error, else the next launch would report it
  TANDEM_CHECK_AS(CudaError, false, what, " failed: ", error_text(status));
  __builtin_unreachable();
}
void check_status(cudaError_t status, const char* call) {
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, call);
}
void check_status(cudaError_t status, const char* call, int device) {
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, std::string(call) + " on " + device_name(device));
}
void check_status(cudaError_t status, const char* call, StreamHandle stream) {
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, std::string(call) + " on " + device_name(stream_device(stream)));
}
void check_status(cudaError_t status, const char* call, size_t bytes, StreamHandle stream) {
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(
        status, std::string(call) + " of " + std::to_string(bytes) + " bytes on " + device_name(stream_device(stream)));
}
/// Result of a query: true if done, false if not ready. @throws CudaError for any other status
bool is_finished(cudaError_t status, const char* call) {
  if (status == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  check_status(status, call);
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
bool may_load_kernels_lazily() {
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
    setenv("CUDA_MODULE_LOADING", may_load_kernels_lazily() ? "LAZY" : "EAGER", /*overwrite=*/0);
    const char* const loading = std::getenv("CUDA_MODULE_LOADING");
    loads_kernels_eagerly = loading && std::strcmp(loading, "EAGER") == 0;
    const cudaError_t status = cudaGetDeviceCount(&num_devices);
    if (status == cudaSuccess && num_devices > 0) {
      num_devices = std::min(num_devices, kMaxDevices);
      return;
    }
    num_devices = 0;
    cudaGetLastError();
    int driver = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
    unavailable_reason = (status == cudaSuccess ? "the driver shows no device" : error_text(status)) +
                         "; the driver's CUDA is " + (driver ? format_version(driver) : "none") + ", this build's " +
                         format_version(CUDART_VERSION);
  }
  int num_devices = -1;
  bool loads_kernels_eagerly = false;
  std::string unavailable_reason;
  std::array<std::once_flag, kMaxDevices> properties_queried;
  std::array<DeviceProperties, kMaxDevices> properties;
};
Devices& devices() {
  static auto& all = *new Devices;  // never destroyed: static tensors may outlive other static objects
  return all;
}
/// Devices on which this process has work or memory, and the first of them.
std::array<std::atomic<bool>, kMaxDevices> used_devices;
std::atomic<int> first_used_device{-1};
void mark_device_used(int device) {
  used_devices[static_cast<size_t>(device)].store(true, std::memory_order_relaxed);
  int none = -1;
  first_used_device.compare_exchange_strong(none, device, std::memory_order_relaxed);
}
bool is_device_used(int device) { return used_devices[static_cast<size_t>(device)].load(std::memory_order_relaxed); }
/// Called before runtime calls that specify no device. Such a call creates a context on the thread's current device,
/// which takes about 500 MB of its memory. A thread that has set no device is on device 0, so with eight processes,
/// each using another GPU, all would create a context there. This switches such a thread to the first device that the
/// process uses.
void switch_to_used_device() noexcept {
  thread_local bool device_chosen = false;
  if (device_chosen) [[likely]]
    return;
  const int first = first_used_device.load(std::memory_order_relaxed);
  if (first < 0) return;
  device_chosen = true;
  int now = 0;
  if (!is_device_used(0) && cudaGetDevice(&now) == cudaSuccess && now == 0)
    report_error(cudaSetDevice(first), "set_device");
}

cudaStream_t to_cuda_handle(StreamHandle stream) {
  switch_to_used_device();
  return reinterpret_cast<cudaStream_t>(stream);
}
cudaEvent_t to_cuda_handle(EventHandle event) {
  switch_to_used_device();
  return reinterpret_cast<cudaEvent_t>(event);
}

}  // namespace

int device_count() noexcept try { return devices().num_devices; } catch (...) {
  return 0;
}
std::string unavailable_reason() { return devices().unavailable_reason; }
const char* implementation() { return "cuda"; }
bool loads_kernels_eagerly() { return devices().loads_kernels_eagerly; }

const DeviceProperties& properties(int device) {
  Devices& all = devices();
  TANDEM_CHECK_AS(
      CudaError, device >= 0 && device < all.num_devices, "properties: there is no ", device_name(device),
      all.num_devices ? "; accepted: cuda:0 to " + device_name(all.num_devices - 1) : ": " + all.unavailable_reason);
  const auto at = static_cast<size_t>(device);
  std::call_once(all.properties_queried[at], [&] {
    cudaDeviceProp p;
    check_status(cudaGetDeviceProperties(&p, device), "properties", device);
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
  check_status(cudaMemGetInfo(&free, &total), "memory_info", device);
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}
int driver_version() {
  int number = 0;
  check_status(cudaDriverGetVersion(&number), "driver_version");
  return number;
}
int runtime_version() {
  int number = 0;
  check_status(cudaRuntimeGetVersion(&number), "runtime_version");
  return number;
}

int current_device() {
  int device = 0;
  check_status(cudaGetDevice(&device), "current_device");
  return device;
}
void set_device(int device) {
  check_status(cudaSetDevice(device), "set_device", device);
  mark_device_used(device);
}
void restore_device(int device) noexcept {
  // Switches to device 0 only if it is in use: a thread may be there because it has set no device (see
  // switch_to_used_device).
  if (device != 0 || is_device_used(0)) report_error(cudaSetDevice(device), "restore_device");
}
void synchronize(int device) {
  const DeviceGuard guard(device);
  check_status(cudaDeviceSynchronize(), "synchronize", device);
}
bool can_access_peer(int device, int peer) {
  int can = 0;
  check_status(cudaDeviceCanAccessPeer(&can, device, peer), "can_access_peer", device);
  return can != 0;
}
void enable_peer_access(int device, int peer) {
  const DeviceGuard guard(device);
  const cudaError_t status = cudaDeviceEnablePeerAccess(peer, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled)
    cudaGetLastError();
  else if (status != cudaSuccess)
    throw_cuda_error(status, "enable_peer_access of " + device_name(device) + " to " + device_name(peer));
}

void* allocate(int device, size_t bytes) {
  const DeviceGuard guard(device);
  mark_device_used(device);
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess)
    throw_cuda_error(status, "allocate of " + std::to_string(bytes) + " bytes on " + device_name(device));
  return memory;
}
void release(int, void* memory) noexcept {
  switch_to_used_device();
  if (memory) report_error(cudaFree(memory), "release");
}
void discard(void*, size_t, StreamHandle) noexcept {}
void* allocate_host(size_t bytes) {
  switch_to_used_device();
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return nullptr;
  }
  if (status != cudaSuccess) throw_cuda_error(status, "allocate_host of " + std::to_string(bytes) + " bytes");
  return memory;
}
void release_host(void* memory) noexcept {
  switch_to_used_device();
  if (memory) report_error(cudaFreeHost(memory), "release_host");
}
PointerInfo pointer_info(const void* memory) {
  if (device_count() == 0) return {MemoryKind::pageable, -1};
  switch_to_used_device();
  cudaPointerAttributes attributes;
  check_status(cudaPointerGetAttributes(&attributes, memory), "pointer_info");
  switch (attributes.type) {
    case cudaMemoryTypeHost: return {MemoryKind::page_locked, -1};
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged: return {MemoryKind::device, attributes.device};
    default: return {MemoryKind::pageable, -1};
  }
}

void copy_async(void* to, const void* from, size_t bytes, StreamHandle stream) {
  if (bytes)
    check_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, to_cuda_handle(stream)), "copy_async", bytes,
                 stream);
}
void copy_peer_async(void* to, int to_device, const void* from, int from_device, size_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  const cudaError_t status = cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, to_cuda_handle(stream));
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, "copy_peer_async of " + std::to_string(bytes) + " bytes from " + device_name(from_device) +
                                 " to " + device_name(to_device));
}
void fill_bytes_async(void* to, int value, size_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  check_status(cudaMemsetAsync(to, value, bytes, to_cuda_handle(stream)), "fill_bytes_async", bytes, stream);
}

StreamHandle create_stream(int device, bool high_priority) {
  const DeviceGuard guard(device);
  mark_device_used(device);
  int least = 0, greatest = 0;
  check_status(cudaDeviceGetStreamPriorityRange(&least, &greatest), "create_stream", device);
  cudaStream_t stream = nullptr;
  check_status(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high_priority ? greatest : least),
               "create_stream", device);
  return reinterpret_cast<StreamHandle>(stream);
}
void destroy_stream(StreamHandle stream) noexcept {
  if (stream) report_error(cudaStreamDestroy(to_cuda_handle(stream)), "destroy_stream");
}
void synchronize_stream(StreamHandle stream) {
  check_status(cudaStreamSynchronize(to_cuda_handle(stream)), "synchronize_stream", stream);
}
bool is_done(StreamHandle stream) {
  return is_finished(cudaStreamQuery(to_cuda_handle(stream)), "is_done of a stream");
}
void wait_event(StreamHandle stream, EventHandle event) {
  check_status(cudaStreamWaitEvent(to_cuda_handle(stream), to_cuda_handle(event), 0), "wait_event", stream);
}
void call_on_host(StreamHandle stream, void (*f)(void*), void* context) {
  check_status(cudaLaunchHostFunc(to_cuda_handle(stream), f, context), "call_on_host", stream);
}

EventHandle create_event(int device, bool timing) {
  const DeviceGuard guard(device);
  cudaEvent_t event = nullptr;
  check_status(cudaEventCreateWithFlags(&event, timing ? cudaEventDefault : cudaEventDisableTiming), "create_event",
               device);
  return reinterpret_cast<EventHandle>(event);
}
void destroy_event(EventHandle event) noexcept {
  if (event) report_error(cudaEventDestroy(to_cuda_handle(event)), "destroy_event");
}
void record_event(EventHandle event, StreamHandle stream) {
  check_status(cudaEventRecord(to_cuda_handle(event), to_cuda_handle(stream)), "record_event", stream);
}
bool is_done(EventHandle event) { return is_finished(cudaEventQuery(to_cuda_handle(event)), "is_done of an event"); }
void synchronize_event(EventHandle event) {
  check_status(cudaEventSynchronize(to_cuda_handle(event)), "synchronize_event");
}
float elapsed_milliseconds(EventHandle start, EventHandle end) {
  float milliseconds = 0;
  check_status(cudaEventElapsedTime(&milliseconds, to_cuda_handle(start), to_cuda_handle(end)), "elapsed_milliseconds");
  return milliseconds;
}

void begin_capture(StreamHandle stream) {
  check_status(cudaStreamBeginCapture(to_cuda_handle(stream), cudaStreamCaptureModeThreadLocal), "begin_capture",
               stream);
}
GraphHandle end_capture(StreamHandle stream) {
  cudaGraph_t graph = nullptr;
  check_status(cudaStreamEndCapture(to_cuda_handle(stream), &graph), "end_capture", stream);
  cudaGraphExec_t ready = nullptr;
  const cudaError_t status = cudaGraphInstantiateWithFlags(&ready, graph, 0);
  report_error(cudaGraphDestroy(graph), "end_capture");
  check_status(status, "end_capture: cudaGraphInstantiate", stream);
  return reinterpret_cast<GraphHandle>(ready);
}
bool is_capturing(StreamHandle stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_status(cudaStreamIsCapturing(to_cuda_handle(stream), &status), "is_capturing", stream);
  return status != cudaStreamCaptureStatusNone;
}
void launch_graph(GraphHandle graph, StreamHandle stream) {
  check_status(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), to_cuda_handle(stream)), "launch_graph",
               stream);
}
void destroy_graph(GraphHandle graph) noexcept {
  if (graph) report_error(cudaGraphExecDestroy(reinterpret_cast<cudaGraphExec_t>(graph)), "destroy_graph");
}
bool allow_unsafe_calls(bool allowed) noexcept {
  // Captures use the thread-local mode. A thread starts in global mode, which also forbids functions that are unsafe
  // for captures in global mode on any thread; Tandem has no captures in global mode.
  cudaStreamCaptureMode mode = allowed ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal;
  report_error(cudaThreadExchangeStreamCaptureMode(&mode), "allow_unsafe_calls");
  return mode == cudaStreamCaptureModeRelaxed;
}

void check_launch(const char* kernel, StreamHandle stream) {
  static const bool wait = [] {
    const char* text = std::getenv("TANDEM_SYNC_LAUNCHES");
    return text && *text && *text != '0';
  }();
  check_status(cudaGetLastError(), kernel, stream);
  if (wait && !is_capturing(stream)) check_status(cudaStreamSynchronize(to_cuda_handle(stream)), kernel, stream);
}
void allow_shared_memory(const void* kernel, size_t bytes) {
  static std::mutex mutex;
  static auto& limits = *new std::map<std::pair<const void*, int>, size_t>;  // set so far, by kernel and device
  const std::lock_guard lock(mutex);
  size_t& limit = limits[{kernel, current_device()}];
  if (bytes <= limit) return;
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status != cudaSuccess) [[unlikely]]
    throw_cuda_error(status, "allow_shared_memory of " + std::to_string(bytes) + " bytes");
  limit = bytes;
}
void nvtx_range_push([[maybe_unused]] const char* name) {
#if TANDEM_HAS_NVTX
  nvtxRangePushA(name);
#endif
}
void nvtx_range_pop() noexcept {
#if TANDEM_HAS_NVTX
  nvtxRangePop();
#endif
}

}  // namespace tandem::detail::gpu
