// What tests can ask of the emulated CUDA runtime: how many devices it has, what fails, and in which order streams run.
// Only in builds with TANDEM_WITH_CUDA=EMULATED. docs/cuda_emulation.md says how it works and what it cannot tell.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::emulation {

/// How many devices there are, 0 to kMaxDevices; at the start TANDEM_EMULATED_DEVICES, or 8.
void set_device_count(int count);
/// Whether devices can be peers of each other; at the start TANDEM_EMULATED_PEERS (0 or 1), or true. Turned off, access
/// that was enabled ends.
void set_peer_access(bool possible);
/// Bytes that a device has for allocations, at most 4 GiB; at the start 1 GiB.
void set_memory_limit(int device, size_t bytes);
/// 0: work runs as late as the rules of streams allow, a stream's in its order. Any other seed: at random moments and
/// in any order that events permit. At the start TANDEM_EMULATION_STREAMS, or 0.
void set_stream_seed(uint64_t seed);
/// The n-th call from now of a function of core/cuda/gpu_runtime.h (or of "launch") fails with a CudaError; 1 is the
/// next.
/// @throws Error when there is no such function, or it cannot fail
void fail_call(const std::string& function, int n = 1);
/// Finishes or drops what is queued, forgets errors, and brings all settings back to those of the start. Streams,
/// events and memory stay.
void reset();

/// How many items wait on the streams of a device.
size_t pending(int device);
/// Whether host code that touches device memory, and a kernel that touches another device's, end in a fault: it takes a
/// processor with memory protection keys, or TANDEM_EMULATION_GUARD=1 at the start.
bool guards_memory();

/// Work of several streams at once, as a collective is: it starts when all of them have come to it, and none goes on
/// before it is done. Streams may be of several devices and be brought by several host threads. When one of these
/// devices fails before, it never starts, and the streams of the others wait until it is cancelled.
class StreamBarrier {
 public:
  /// @param streams  how many have to join
  /// @param work     runs once, with access to the memory of all devices; what it throws is an error of all of them
  StreamBarrier(const std::string& name, int streams, std::function<void()> work);
  /// Puts the meeting on a stream. The work may run before this returns, so that it must not need a lock held here.
  void join(gpu::StreamHandle stream);
  /// Lets the streams go on without it, as an aborted communicator does.
  void cancel();

 private:
  std::string name_;
  std::shared_ptr<struct Mark> mark_;
};

}  // namespace tandem::emulation
