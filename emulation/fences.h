// What fences and atomics order, for ThreadSanitizer, which knows nothing of fences:
// a fence, then an atomic operation on x by the same thread, hands over what came before the fence; whoever reads x by
// an atomic operation and then meets a fence receives it. Block fences do so within the block only. (What a thread does
// between its fence and its atomic operation is handed over too: that much is missed.)
#pragma once
#include <map>
#include <vector>

#include "tandem/emulation/running_thread.h"
#include "tandem/emulation/sanitizer.h"

namespace tandem::emulation {

/// What was handed over, by the address of the atomic variable.
class Handovers {
 public:
  void release(const void* address) { points_[address].release(); }
  bool has(const void* address) const { return points_.count(address) != 0; }
  void acquire(const void* address) {
    if (const auto at = points_.find(address); at != points_.end()) at->second.acquire();
  }
  void clear() { points_.clear(); }

 private:
  std::map<const void*, SyncPoint> points_;
};

/// One CUDA thread's part in that.
class ThreadFences {
 public:
  void fence(FenceScope scope, Handovers& block, Handovers& device);
  void before_atomic(const void* address, Handovers& block, Handovers& device);
  void after_atomic(const void* address, const Handovers& block, const Handovers& device);

 private:
  bool fenced_block_ = false, fenced_device_ = false;
  std::vector<const void*> read_;  // addresses of what was handed over, since the last device fence
};

}  // namespace tandem::emulation
