// Who may touch the memory of an emulated device: only work of that device, and of its peers, while it runs. Processors
// with memory protection keys check it for nothing: a key for each device, and rights that each thread sets for itself.
// Without keys it is checked if TANDEM_EMULATION_GUARD=1 asks for it, by making the pages inaccessible between kernels.
// That costs some 3 us per MiB and kernel (25 and more without huge pages), and misses what other threads do while one
// runs.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

constexpr uint64_t kAllDevices = ~uint64_t(0);
constexpr uint64_t device_bit(int device) { return uint64_t(1) << device; }

/// Whole pages become memory of a device, or page-locked memory (-1); false when the system refuses. Devices may share
/// a key: there are 15.
bool open_memory(int device, void* begin, size_t bytes);
/// Nobody may touch them any more; what they held is lost.
void close_memory(int device, void* begin, size_t bytes);
/// Has faults between `begin` and `begin + bytes` explained on standard error, before they take their usual way.
/// Said again after a test framework put handlers of its own in between.
/// @param device  -1 for page-locked memory
void explain_faults(int device, const void* begin, size_t bytes);

/// Lets this thread touch the memory of some devices, and of no others, until it goes out of scope.
class DeviceAccess {
 public:
  /// @param who  what runs, for messages about faults; outlives this
  explicit DeviceAccess(uint64_t devices, const char* who = nullptr);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;

 private:
  uint64_t saved_devices_;
  const char* saved_who_;
};

}  // namespace tandem::emulation
