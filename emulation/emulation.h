// Functions by which tests control the emulated CUDA runtime: the number of devices, failing calls, and the order in
// which streams run. They exist only in builds with TANDEM_WITH_CUDA=EMULATED. docs/cuda_emulation.md describes how the
// emulation works and which errors it cannot detect.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::emulation {

/// Sets the number of devices, 0 to kMaxDevices. The initial value is the environment variable TANDEM_EMULATED_DEVICES,
/// or 8 if it is unset.
void set_device_count(int count);
/// Sets whether devices can access each other's memory (peer access). The initial value is the environment variable
/// TANDEM_EMULATED_PEERS (0 or 1), or true if it is unset. False also revokes access that was enabled before.
void set_peer_access(bool possible);
/// Sets the number of bytes that can be allocated on a device, at most 4 GiB. The initial value is 1 GiB.
void set_memory_limit(int device, size_t bytes);
/// Sets the order in which streams run. With seed 0, work runs as late as the rules of streams allow. With any other
/// seed, work runs at random moments, in any order of streams that the events permit. The initial value is the
/// environment variable TANDEM_EMULATION_STREAMS, or 0 if it is unset.
void set_stream_seed(uint64_t seed);
/// Makes one call of a function of core/cuda/gpu_runtime.h (or of "launch") fail with a CudaError: the n-th call from
/// now, where n = 1 is the next call.
/// @throws Error if there is no such function, if the function cannot fail, or if n is less than 1
void inject_call_failure(const std::string& function, int n = 1);
/// Runs the queued work that can run, drops the rest, clears all errors, and restores the initial settings. Streams,
/// events and allocations remain.
void reset_runtime();

/// Returns the number of items queued on the streams of a device.
size_t num_pending_items(int device);
/// Returns whether forbidden accesses cause a fault. Host code must not access device memory, and a kernel must not
/// access the memory of a device without peer access. The check requires a processor with memory protection keys, or
/// the environment variable TANDEM_EMULATION_GUARD=1 at the start of the process.
bool is_memory_protected();

/// Work that several streams do together, such as a collective. The work starts when all of the streams have reached
/// it, and no stream continues before the work is done. The streams may belong to several devices and be driven by
/// several host threads. If one of these devices fails first, the work never starts, and the other streams wait until
/// cancel().
class StreamBarrier {
 public:
  /// @param streams  number of streams that have to join
  /// @param work     function that runs once, with access to the memory of all devices; if it throws, the devices
  ///     of all these streams have failed
  StreamBarrier(const std::string& name, int streams, std::function<void()> work);
  /// Queues the barrier on a stream. The barrier's work may run before this returns, so it must not need a lock that
  /// the caller holds.
  void join(gpu::StreamHandle stream);
  /// Lets the streams continue without the work, as if a communicator had been aborted.
  void cancel();

 private:
  std::string name_;
  std::shared_ptr<struct SyncEvent> sync_event_;
};

}  // namespace tandem::emulation
