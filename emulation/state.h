// Entire state of the emulated runtime, behind one lock. Kernels, copies and host functions run without holding the
// lock.
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

/// Settings of emulation.h, initialised from the environment.
struct Settings {
  int devices = 8;
  std::string wrong;  // describes an environment variable with an invalid value; then there are no devices
  bool peers = true;
  bool wait_for_launches = false;
  uint64_t seed = 0;
  std::array<size_t, kMaxDevices> memory{};
  std::map<std::string, int> failures;  // number of calls until a function fails, by its name
  Settings();
};

/// Memory range passed to a call. `device` is a device index, kPageLocked or kPageable.
struct Range {
  const void* memory;
  size_t bytes;
  int device;
};

struct State {
  std::mutex mutex;
  Settings settings;
  Streams streams{mutex};
  Captures captures;
  std::array<std::unique_ptr<Arena>, kMaxDevices> arenas;  // null for devices that never had an allocation
  Arena page_locked{kPageLocked};
  std::array<uint64_t, kMaxDevices> peers{};  // bit mask of the peers whose memory each device may access

  State() { streams.set_seed(settings.seed); }
  Arena& arena(int device);
  /// Returns the device whose address range contains `memory` (allocated or not), kPageLocked or kPageable.
  int owner(const void* memory) const;
  /// Returns an empty string if the range is in one live allocation or is pageable memory, otherwise a description of
  /// the problem.
  std::string problem(const Range& range) const;
  uint64_t reachable(int device) const { return (uint64_t(1) << device) | peers[static_cast<size_t>(device)]; }
};
/// Never destroyed: tensors with static storage outlive other statics.
State& state();

/// Called first by every function that can fail. @throws CudaError if fail_call() requested it, or if the caller is a
/// host function of a stream
void enter(const char* call);
/// @throws CudaError if there is no such device
void check_exists(const char* call, int device);
/// @throws CudaError if there is no such device, or if its work has failed before
void check_usable(const char* call, int device);

}  // namespace tandem::emulation
