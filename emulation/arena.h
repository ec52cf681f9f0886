// Arena: the memory of one emulated device, or the page-locked memory of the host. Each arena has its own address
// range, so the address determines the device that memory belongs to. Kernels access it as ordinary memory. Pages
// between allocations, and pages that were freed, cannot be accessed; within a page AddressSanitizer checks the bounds.
// New memory is filled with NaN (bytes 0xFF). Freed addresses are reused as late as possible.
#pragma once
#include <cstddef>
#include <map>
#include <string>

namespace tandem::emulation {

/// Size of an arena's address range, and therefore the maximum memory of a device.
constexpr size_t kArenaBytes = size_t(4) << 30;
constexpr int kFillByte = 0xFF;                  // byte that fills new and discarded memory: NaN in all floating types
constexpr int kPageLocked = -1, kPageable = -2;  // values that are used instead of a device index for host memory

/// Allocator of an address range. Not thread-safe: callers hold the runtime's lock.
class Arena {
 public:
  /// @param device  device index, or kPageLocked
  explicit Arena(int device, size_t capacity = kArenaBytes);
  ~Arena();
  Arena(const Arena&) = delete;

  /// Allocates memory; returns null if there is no free range of this size.
  void* allocate(size_t bytes);
  /// Frees an allocation. Returns false if `memory` is not the start of a live allocation.
  bool release(const void* memory);
  /// Returns whether the address is in this arena's range.
  bool contains(const void* memory) const;
  /// Returns an empty string if the whole range is within one live allocation, otherwise a description of the problem,
  /// for error messages.
  std::string describe_problem(const void* memory, size_t bytes) const;
  size_t used_bytes() const { return used_bytes_; }

 private:
  std::string memory_name() const;
  /// Returns the offset of a free range of `bytes` bytes, or capacity_ if there is none. Searches from cursor_ to the
  /// end, then from the start.
  size_t find_free_range(size_t bytes) const;
  void reserve_range(size_t offset, size_t bytes);
  void free_range(size_t offset, size_t bytes);

  const int device_;
  const size_t capacity_;
  char* base_;
  // maps the offset of each free range to its size; adjacent free ranges are merged
  std::map<size_t, size_t> free_ranges_;
  std::map<size_t, size_t> live_allocations_;  // maps the offset of each live allocation's data to the requested size
  size_t cursor_ = 0;                          // end of the latest allocation, where the next search starts
  size_t high_water_mark_ = 0;                 // maximum end offset of all allocations so far
  size_t used_bytes_ = 0;
};

}  // namespace tandem::emulation
