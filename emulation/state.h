// Everything that the emulated runtime keeps, behind one lock. Kernels, copies and host functions run without it.
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

/// What emulation.h sets. Built from the environment.
struct Settings {
  int devices = 8;
  std::string wrong;  // an environment variable that could not be read; then there are no devices
  bool peers = true;
  bool wait_for_launches = false;
  uint64_t seed = 0;
  std::array<size_t, kMaxDevices> memory{};
  std::map<std::string, int> failures;  // calls of a function until it fails
  Settings();
};

/// A range of memory that a call named. `device` is kPageLocked or kPageable where it is no device's.
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
  std::array<std::unique_ptr<Arena>, kMaxDevices> arenas;  // of devices that had an allocation
  Arena page_locked{kPageLocked};
  std::array<uint64_t, kMaxDevices> peers{};  // devices whose memory each one may reach, beside its own

  State() { streams.set_seed(settings.seed); }
  Arena& arena(int device);
  /// Whose memory it is, allocated or not.
  int owner(const void* memory) const;
  /// Empty if the range is of one live allocation, or pageable; otherwise what is wrong with it.
  std::string problem(const Range& range) const;
  uint64_t reachable(int device) const { return (uint64_t(1) << device) | peers[static_cast<size_t>(device)]; }
};
/// Never destroyed: tensors with static storage outlive other statics.
State& state();

/// The start of a function that can fail: counts down to a failure that was asked for, refuses calls from host
/// functions.
void enter(const char* call);
/// @throws CudaError when there is no such device
void check_exists(const char* call, int device);
/// @throws CudaError when there is no such device, or its work has failed before
void check_usable(const char* call, int device);

}  // namespace tandem::emulation
