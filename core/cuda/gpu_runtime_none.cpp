// GPU interface for builds without CUDA: there are no devices.
#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::detail::gpu {
[[noreturn]] static void refuse(const char* call) {
  TANDEM_CHECK_AS(CudaError, false, call, ": this build was not compiled with CUDA enabled");
  __builtin_unreachable();
}

int device_count() noexcept { return 0; }
std::string unavailable_reason() { return "this build was not compiled with CUDA enabled"; }
const char* implementation() { return "none"; }
bool loads_kernels_at_start() { return true; }
const DeviceProperties& properties(int) { refuse("properties"); }
MemoryInfo memory_info(int) { refuse("memory_info"); }
int driver_version() { return 0; }
int runtime_version() { return 0; }
int current_device() { return 0; }
void set_device(int) { refuse("set_device"); }
void restore_device(int) noexcept {}
void synchronize(int) { refuse("synchronize"); }
bool can_access_peer(int, int) { return false; }
void enable_peer_access(int, int) { refuse("enable_peer_access"); }
void* allocate(int, size_t) { refuse("allocate"); }
void release(int, void*) noexcept {}
void discard(void*, size_t, StreamHandle) noexcept {}
void* allocate_host(size_t) { refuse("allocate_host"); }
void release_host(void*) noexcept {}
PointerInfo pointer_info(const void*) { return {MemoryKind::pageable, -1}; }
void copy_async(void*, const void*, size_t, StreamHandle) { refuse("copy_async"); }
void copy_peer_async(void*, int, const void*, int, size_t, StreamHandle) { refuse("copy_peer_async"); }
void fill_bytes_async(void*, int, size_t, StreamHandle) { refuse("fill_bytes_async"); }
StreamHandle create_stream(int, bool) { refuse("create_stream"); }
void destroy_stream(StreamHandle) noexcept {}
void synchronize_stream(StreamHandle) { refuse("synchronize_stream"); }
bool is_done(StreamHandle) { return true; }
void wait_event(StreamHandle, EventHandle) { refuse("wait_event"); }
void call_on_host(StreamHandle, void (*)(void*), void*) { refuse("call_on_host"); }
EventHandle create_event(int, bool) { refuse("create_event"); }
void destroy_event(EventHandle) noexcept {}
void record_event(EventHandle, StreamHandle) { refuse("record_event"); }
bool is_done(EventHandle) { return true; }
void synchronize_event(EventHandle) { refuse("synchronize_event"); }
float elapsed_milliseconds(EventHandle, EventHandle) { refuse("elapsed_milliseconds"); }
void begin_capture(StreamHandle) { refuse("begin_capture"); }
GraphHandle end_capture(StreamHandle) { refuse("end_capture"); }
bool is_capturing(StreamHandle) { return false; }
void launch_graph(GraphHandle, StreamHandle) { refuse("launch_graph"); }
void destroy_graph(GraphHandle) noexcept {}
bool allow_unsafe_calls(bool) noexcept { return false; }
void check_launch(const char*, StreamHandle) {}
void allow_shared_memory(const void*, size_t) { refuse("allow_shared_memory"); }
void push_range(const char*) {}
void pop_range() noexcept {}

}  // namespace tandem::detail::gpu
