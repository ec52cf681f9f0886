// Implements ThreadFences, which tells ThreadSanitizer the order that a thread's fences and atomic operations
// establish.
#include "tandem/emulation/fences.h"

#include <algorithm>

namespace tandem::emulation {

void ThreadFences::fence(FenceScope scope, SyncPointMap& block, SyncPointMap& device) {
  fenced_block_ = true;
  for (const void* address : read_) block.acquire(address);
  if (scope == FenceScope::block) return;
  fenced_device_ = true;
  for (const void* address : read_) device.acquire(address);
  read_.clear();
}

void ThreadFences::before_atomic(const void* address, SyncPointMap& block, SyncPointMap& device) {
  if (fenced_block_) block.release(address);
  if (fenced_device_) device.release(address);
}

void ThreadFences::after_atomic(const void* address, const SyncPointMap& block, const SyncPointMap& device) {
  if (!block.has(address) && !device.has(address)) return;
  if (std::find(read_.begin(), read_.end(), address) == read_.end()) read_.push_back(address);
}

}  // namespace tandem::emulation
