// Who may touch the memory of an emulated device: only work of that device, and of its peers, while it runs. Processors
// with memory protection keys check it for nothing: a key for each device, and rights that each thread sets for itself.
// Without keys nothing is checked: making the pages inaccessible around each kernel would cost 25 us per MiB and hide
// what other threads do at that time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tandem::emulation {

constexpr uint64_t kAllDevices = ~uint64_t(0);
constexpr uint64_t device_bit(int device) { return uint64_t(1) << device; }

/// A device's key for pkey_mprotect, or -1 where there are none. More devices than keys share them.
int protection_key(int device);
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
