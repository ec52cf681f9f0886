// Access control for the memory of emulated devices: only work that runs on the device itself or on one of its peers
// may access it. Processors with memory protection keys check this at no cost: each device has a key, and each thread
// sets its own rights. Without keys, TANDEM_EMULATION_GUARD=1 enables a check that makes the pages inaccessible between
// kernels. It costs some 3 us per MiB and kernel (25 or more without huge pages), and misses accesses of other threads
// while a kernel runs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

constexpr uint64_t kAllDevices = ~uint64_t(0);
constexpr uint64_t device_bit(int device) { return uint64_t(1) << device; }

/// Makes whole pages accessible as memory of a device, or as page-locked memory if `device` is -1. Returns false if the
/// system refuses. Because there are only 15 protection keys, devices may share a key.
bool commit_memory(int device, void* begin, size_t bytes);
/// Makes the pages inaccessible and drops their contents.
void decommit_memory(int device, void* begin, size_t bytes);
/// Installs a signal handler that explains faults in [begin, begin + bytes) on standard error and then passes them to
/// the previous handler. Called at every allocation, because a test framework may have installed its own handlers since
/// the last call.
/// @param device  -1 for page-locked memory
void explain_faults(int device, const void* begin, size_t bytes);

/// Scope guard: while it exists, this thread may access the memory of the given devices, and of no other device.
class DeviceAccess {
 public:
  /// @param work_name  name of the running work, for messages about faults; must outlive this object
  explicit DeviceAccess(uint64_t devices, const char* work_name = nullptr);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;

 private:
  uint64_t saved_devices_;
  const char* saved_work_name_;
};

}  // namespace tandem::emulation
