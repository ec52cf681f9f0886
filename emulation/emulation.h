// Test controls of the emulated CUDA runtime: the number of devices, failing calls, and the order in which streams run.
// Only in builds with TANDEM_WITH_CUDA=EMULATED. docs/cuda_emulation.md describes how the emulation works and which
// errors it cannot detect.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::emulation {

/// Sets the number of devices, 0 to kMaxDevices. Initially TANDEM_EMULATED_DEVICES, or 8.
void set_device_count(int count);
/// Sets whether devices can be peers of each other. Initially TANDEM_EMULATED_PEERS (0 or 1), or true. False also
/// revokes access that was enabled before.
void set_peer_access(bool possible);
/// Sets the number of bytes that a device can allocate, at most 4 GiB. Initially 1 GiB.
void set_memory_limit(int device, size_t bytes);
/// Sets the order in which streams run. 0: work runs as late as the rules of streams allow. Any other seed: work runs
/// at random moments, in any order of streams that the events permit. Initially TANDEM_EMULATION_STREAMS, or 0.
void set_stream_seed(uint64_t seed);
/// Makes the n-th call from now of a function of core/cuda/gpu_runtime.h (or of "launch") fail with a CudaError; n = 1
/// is the next call.
/// @throws Error if there is no such function, if it cannot fail, or if n is less than 1
void fail_call(const std::string& function, int n = 1);
/// Runs the queued work that can run, drops the rest, clears all errors, and restores the initial settings. Streams,
/// events and memory stay.
void reset();

/// Returns the number of items queued on the streams of a device.
size_t pending(int device);
/// Returns whether forbidden accesses cause a fault: host code that touches device memory, and a kernel that touches
/// the memory of a device that is not its peer. This requires a processor with memory protection keys, or
/// TANDEM_EMULATION_GUARD=1 at the start.
bool guards_memory();

/// Work that several streams do together, such as a collective: it starts when all the streams have reached it, and no
/// stream continues before it is done. The streams may belong to several devices and be driven by several host threads.
/// If one of these devices fails first, the work never starts, and the other streams wait until cancel().
class StreamBarrier {
 public:
  /// @param streams  number of streams that have to join
  /// @param work     runs once, with access to the memory of all devices; an exception is an error of all of them
  StreamBarrier(const std::string& name, int streams, std::function<void()> work);
  /// Queues the barrier on a stream. The work may run before this returns, so it must not need a lock that the caller
  /// holds.
  void join(gpu::StreamHandle stream);
  /// Lets the streams continue without the work, as an aborted communicator does.
  void cancel();

 private:
  std::string name_;
  std::shared_ptr<struct Mark> mark_;
};

}  // namespace tandem::emulation
