// The entire state of the emulated runtime, which one mutex protects. Kernels, copies and host functions run without
// holding it.
#pragma once
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tandem/emulation/arena.h"
#include "tandem/emulation/capture.h"
#include "tandem/emulation/emulation.h"
#include "tandem/emulation/streams.h"

namespace tandem::emulation {

/// Settings that the functions of emulation.h change; initialised from environment variables.
struct Settings {
  int num_devices = 8;
  // Description of an environment variable with an invalid value; if not empty, there are no devices
  std::string invalid_variable;
  bool has_peer_access = true;
  bool wait_for_launches = false;
  uint64_t stream_seed = 0;
  std::array<size_t, kMaxDevices> memory_limit_bytes{};
  std::map<std::string, int> calls_until_failure;  // maps a function's name to the number of calls until it fails
  Settings();
};

/// Memory range that was passed to a call. `device` is a device index, kPageLocked or kPageable.
struct MemoryRange {
  const void* memory;
  size_t bytes;
  int device;
};

struct State {
  std::mutex mutex;
  Settings settings;
  Streams streams{mutex};
  Captures captures;
  // memory of each device; null if nothing was allocated on the device yet
  std::array<std::unique_ptr<Arena>, kMaxDevices> arenas;
  Arena page_locked{kPageLocked};
  std::array<uint64_t, kMaxDevices> peers{};  // bit mask of the peers whose memory each device may access

  State() { streams.set_seed(settings.stream_seed); }
  Arena& arena(int device);
  /// Returns the index of the device whose address range contains `memory` (allocated or not), kPageLocked or
  /// kPageable.
  int find_memory_device(const void* memory) const;
  /// Returns an empty string if the range is within one live allocation, or in pageable memory; otherwise a description
  /// of the problem.
  std::string describe_problem(const MemoryRange& range) const;
  uint64_t reachable_devices(int device) const { return (uint64_t(1) << device) | peers[static_cast<size_t>(device)]; }
};
/// Returns the state, which is never destroyed, because static tensors may outlive other static objects.
State& state();

/// Every function that can fail calls this first, with its own name. @throws CudaError if inject_call_failure()
/// requested that this call fails, or if the caller is a host function of a stream
void begin_call(const char* call);
/// Checks that a device exists. @throws CudaError if it does not
void check_valid_device(const char* call, int device);
/// @throws CudaError if there is no such device, or if work of the device has failed before
void check_device_usable(const char* call, int device);

}  // namespace tandem::emulation
