// The memory of one emulated device, or the page-locked memory of the host: an address range of its own, so that a
// pointer tells whose it is. It is ordinary memory to kernels. Between allocations, and where one was freed, lie pages
// that cannot be accessed; within a page AddressSanitizer sees the bounds. Fresh memory is NaN (bytes 0xFF), freed
// addresses come back as late as possible.
#pragma once
#include <cstddef>
#include <map>
#include <string>

namespace tandem::emulation {

/// The range of addresses that a device's memory may come to; limits are below it.
constexpr size_t kArenaBytes = size_t(4) << 30;
constexpr int kFresh = 0xFF;                     // every byte of memory that holds nothing: NaN in all floating types
constexpr int kPageLocked = -1, kPageable = -2;  // where a device's index would stand

/// Not safe for several threads at once: the runtime's lock guards it.
class Arena {
 public:
  /// @param device  an index, or kPageLocked
  explicit Arena(int device, size_t capacity = kArenaBytes);
  ~Arena();
  Arena(const Arena&) = delete;

  /// Null when the range is used up.
  void* allocate(size_t bytes);
  /// False unless `memory` is what allocate returned, and was not released since.
  bool release(const void* memory);
  /// Whether the address is in this arena at all.
  bool contains(const void* memory) const;
  /// Empty if all of the range is in one live allocation; otherwise what it is instead.
  std::string problem(const void* memory, size_t bytes) const;
  size_t used() const { return used_; }

 private:
  std::string owner() const;
  /// Where so many bytes are free, from the cursor on and then from the start; the capacity if nowhere.
  size_t find(size_t bytes) const;
  void take(size_t offset, size_t bytes);
  void give_back(size_t offset, size_t bytes);

  const int device_;
  const size_t capacity_;
  char* base_;
  std::map<size_t, size_t> free_;  // offset and bytes, never two that touch
  std::map<size_t, size_t> live_;  // offset of the data and bytes asked for
  size_t cursor_ = 0;              // the search for free memory goes on where the last one ended
  size_t high_ = 0;                // nothing beyond was ever allocated
  size_t used_ = 0;
};

}  // namespace tandem::emulation
