// Implements ThreadFences, which tells ThreadSanitizer the order that a thread's fences and atomic operations
// establish.
#include "tandem/emulation/fences.h"

#include <algorithm>

namespace tandem::emulation {

void ThreadFences::fence(FenceScope scope, SyncPointMap& block, SyncPointMap& device) {
  has_fenced_block_ = true;
  for (const void* address : read_addresses_) block.acquire_point(address);
  if (scope == FenceScope::block) return;
  has_fenced_device_ = true;
  for (const void* address : read_addresses_) device.acquire_point(address);
  read_addresses_.clear();
}

void ThreadFences::before_atomic(const void* address, SyncPointMap& block, SyncPointMap& device) {
  if (has_fenced_block_) block.release_point(address);
  if (has_fenced_device_) device.release_point(address);
}

void ThreadFences::after_atomic(const void* address, const SyncPointMap& block, const SyncPointMap& device) {
  if (!block.contains(address) && !device.contains(address)) return;
  if (std::find(read_addresses_.begin(), read_addresses_.end(), address) == read_addresses_.end())
    read_addresses_.push_back(address);
}

}  // namespace tandem::emulation
