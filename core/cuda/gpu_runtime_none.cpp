// GPU interface for builds without CUDA: there are no devices.
#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::detail::gpu {
[[noreturn]] static void throw_without_cuda(const char* call) {
  TANDEM_CHECK_AS(CudaError, false, call,
                  ": this build was not compiled with CUDA enabled; configure with -DTANDEM_WITH_CUDA=ON");
  __builtin_unreachable();
}

int device_count() noexcept { return 0; }
std::string unavailable_reason() { return "this build was not compiled with CUDA enabled"; }
const char* implementation() { return "none"; }
bool loads_kernels_eagerly() { return true; }
const DeviceProperties& properties(int) { throw_without_cuda("properties"); }
MemoryInfo memory_info(int) { throw_without_cuda("memory_info"); }
int driver_version() { return 0; }
int runtime_version() { return 0; }
int current_device() { return 0; }
void set_device(int) { throw_without_cuda("set_device"); }
void restore_device(int) noexcept {}
void synchronize(int) { throw_without_cuda("synchronize"); }
bool can_access_peer(int, int) { return false; }
void enable_peer_access(int, int) { throw_without_cuda("enable_peer_access"); }
void* allocate(int, size_t) { throw_without_cuda("allocate"); }
void release(int, void*) noexcept {}
void discard(void*, size_t, StreamHandle) noexcept {}
void* allocate_host(size_t) { throw_without_cuda("allocate_host"); }
void release_host(void*) noexcept {}
PointerInfo pointer_info(const void*) { return {MemoryKind::pageable, -1}; }
void copy_async(void*, const void*, size_t, StreamHandle) { throw_without_cuda("copy_async"); }
void copy_peer_async(void*, int, const void*, int, size_t, StreamHandle) { throw_without_cuda("copy_peer_async"); }
void fill_bytes_async(void*, int, size_t, StreamHandle) { throw_without_cuda("fill_bytes_async"); }
StreamHandle create_stream(int, bool) { throw_without_cuda("create_stream"); }
void destroy_stream(StreamHandle) noexcept {}
void synchronize_stream(StreamHandle) { throw_without_cuda("synchronize_stream"); }
bool is_done(StreamHandle) { return true; }
void wait_event(StreamHandle, EventHandle) { throw_without_cuda("wait_event"); }
void call_on_host(StreamHandle, void (*)(void*), void*) { throw_without_cuda("call_on_host"); }
EventHandle create_event(int, bool) { throw_without_cuda("create_event"); }
void destroy_event(EventHandle) noexcept {}
void record_event(EventHandle, StreamHandle) { throw_without_cuda("record_event"); }
bool is_done(EventHandle) { return true; }
void synchronize_event(EventHandle) { throw_without_cuda("synchronize_event"); }
float elapsed_milliseconds(EventHandle, EventHandle) { throw_without_cuda("elapsed_milliseconds"); }
void begin_capture(StreamHandle) { throw_without_cuda("begin_capture"); }
GraphHandle end_capture(StreamHandle) { throw_without_cuda("end_capture"); }
bool is_capturing(StreamHandle) { return false; }
void launch_graph(GraphHandle, StreamHandle) { throw_without_cuda("launch_graph"); }
void destroy_graph(GraphHandle) noexcept {}
bool allow_unsafe_calls(bool) noexcept { return false; }
void check_launch(const char*, StreamHandle) {}
void allow_shared_memory(const void*, size_t) { throw_without_cuda("allow_shared_memory"); }
void nvtx_range_push(const char*) {}
void nvtx_range_pop() noexcept {}

}  // namespace tandem::detail::gpu
