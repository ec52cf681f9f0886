// Tells ThreadSanitizer, which does not understand fences, the order that fences and atomic operations establish. If a
// thread executes a fence and then an atomic operation on x, it releases all its accesses before the fence. If another
// thread then executes an atomic operation on x and then a fence, it acquires these accesses. Block fences order only
// threads of the same block. (Accesses between the first fence and the atomic operation count as released too, so some
// races are missed.)
#pragma once
#include <map>
#include <vector>

#include "tandem/emulation/running_thread.h"
#include "tandem/emulation/sanitizer.h"

namespace tandem::emulation {

/// Maps the address of each atomic variable to the SyncPoint that threads released through it.
class SyncPointMap {
 public:
  void release_point(const void* address) { sync_points_[address].release(); }
  bool contains(const void* address) const { return sync_points_.count(address) != 0; }
  void acquire_point(const void* address) {
    if (const auto at = sync_points_.find(address); at != sync_points_.end()) at->second.acquire();
  }
  void clear() { sync_points_.clear(); }

 private:
  std::map<const void*, SyncPoint> sync_points_;
};

/// State of one CUDA thread: the fences and atomic operations that it has executed.
class ThreadFences {
 public:
  void fence(FenceScope scope, SyncPointMap& block, SyncPointMap& device);
  void before_atomic(const void* address, SyncPointMap& block, SyncPointMap& device);
  void after_atomic(const void* address, const SyncPointMap& block, const SyncPointMap& device);

 private:
  bool has_fenced_block_ = false, has_fenced_device_ = false;
  // addresses of atomic variables that the thread has read since its last device-wide fence
  std::vector<const void*> read_addresses_;
};

}  // namespace tandem::emulation
