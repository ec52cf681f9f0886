// The order that fences and atomic operations establish, for ThreadSanitizer, which does not understand fences.
// A fence followed by an atomic operation on x by the same thread releases everything before the fence. A thread that
// reads x by an atomic operation and then executes a fence acquires it. Block fences work within the block only.
// (Accesses between the fence and the atomic operation count as released too, so some races are missed.)
#pragma once
#include <map>
#include <vector>

#include "tandem/emulation/running_thread.h"
#include "tandem/emulation/sanitizer.h"

namespace tandem::emulation {

/// Released states, by the address of the atomic variable.
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

/// Fences and atomic operations of one CUDA thread.
class ThreadFences {
 public:
  void fence(FenceScope scope, Handovers& block, Handovers& device);
  void before_atomic(const void* address, Handovers& block, Handovers& device);
  void after_atomic(const void* address, const Handovers& block, const Handovers& device);

 private:
  bool fenced_block_ = false, fenced_device_ = false;
  std::vector<const void*> read_;  // addresses with a released state that were read since the last device fence
};

}  // namespace tandem::emulation
