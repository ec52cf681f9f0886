// Implements Arena: reserves an address range, and allocates and frees pages in it, with a guard page after each
// allocation.
#include "tandem/emulation/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/emulation/protection.h"
#include "tandem/emulation/sanitizer.h"

namespace tandem::emulation {
namespace {

// Bytes between the start of the first page and the data: as on a GPU, data is aligned to 256 bytes only
constexpr size_t kRedzoneBytes = 256;

/// Page size: 4, 16 or 64 KiB. A function instead of a global variable, because the initialisation of other globals may
/// allocate memory first.
size_t page_size() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
/// Returns the size in bytes of the pages that an allocation of `bytes` bytes takes, without the guard page.
size_t page_bytes_of(size_t bytes) {
  return (kRedzoneBytes + bytes + kRedzoneBytes + page_size() - 1) / page_size() * page_size();
}

}  // namespace

Arena::Arena(int device, size_t capacity) : device_(device), capacity_(capacity) {
  void* const range =
      mmap(nullptr, capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, /*offset=*/0);
  const int error = errno;
  TANDEM_CHECK_AS(CudaError, range != MAP_FAILED, "emulated CUDA: cannot reserve ", capacity_,
                  " bytes of address space for ", memory_name(), ": ", std::strerror(error),
                  "; the limit is `ulimit -v`");
  base_ = static_cast<char*>(range);
  free_ranges_[0] = capacity_;
}
Arena::~Arena() {
  allow_access(base_, high_water_mark_);
  for (const auto& [offset, bytes] : live_allocations_)
    decommit_memory(device_, base_ + offset - kRedzoneBytes, page_bytes_of(bytes));
  munmap(base_, capacity_);
  explain_faults(device_, base_, 0);
}

size_t Arena::find_free_range(size_t bytes) const {
  auto at = free_ranges_.upper_bound(cursor_);
  if (at != free_ranges_.begin()) {
    const auto [offset, available] = *std::prev(at);
    if (offset + available >= cursor_ + bytes) return cursor_;
  }
  const auto fits = [bytes](const auto& range) { return range.second >= bytes; };
  at = std::find_if(at, free_ranges_.end(), fits);
  if (at == free_ranges_.end()) at = std::find_if(free_ranges_.begin(), free_ranges_.end(), fits);
  return at == free_ranges_.end() ? capacity_ : at->first;
}
void Arena::reserve_range(size_t offset, size_t bytes) {
  const auto at = std::prev(free_ranges_.upper_bound(offset));
  const size_t begin = at->first, end = begin + at->second;
  free_ranges_.erase(at);
  if (offset > begin) free_ranges_[begin] = offset - begin;
  if (end > offset + bytes) free_ranges_[offset + bytes] = end - (offset + bytes);
  cursor_ = offset + bytes;
  high_water_mark_ = std::max(high_water_mark_, cursor_);
}
void Arena::free_range(size_t offset, size_t bytes) {
  auto next = free_ranges_.lower_bound(offset);
  if (next != free_ranges_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_ranges_.erase(next);
  }
  if (next != free_ranges_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += bytes;
  } else {
    free_ranges_.emplace_hint(next, offset, bytes);
  }
}

void* Arena::allocate(size_t bytes) {
  if (bytes >= capacity_) return nullptr;
  const size_t pages = page_bytes_of(bytes), offset = find_free_range(pages + page_size());
  if (offset == capacity_) return nullptr;
  char* const begin = base_ + offset;
  if (!commit_memory(device_, begin, pages)) return nullptr;
  explain_faults(device_, base_, capacity_);
  reserve_range(offset, pages + page_size());
  live_allocations_[offset + kRedzoneBytes] = bytes;
  used_bytes_ += bytes;

  char* const data = begin + kRedzoneBytes;
  const DeviceAccess access(device_ >= 0 ? device_bit(device_) : 0);
  allow_access(begin, pages);
  std::memset(data, kFillByte, bytes);
  forbid_access(begin, pages);
  allow_access(data, bytes);
  return data;
}

bool Arena::release(const void* memory) {
  if (!contains(memory)) return false;
  const auto at = live_allocations_.find(static_cast<size_t>(static_cast<const char*>(memory) - base_));
  if (at == live_allocations_.end()) return false;
  const size_t offset = at->first - kRedzoneBytes, bytes = page_bytes_of(at->second);
  used_bytes_ -= at->second;
  live_allocations_.erase(at);
  forbid_access(base_ + offset, bytes);
  decommit_memory(device_, base_ + offset, bytes);
  free_range(offset, bytes + page_size());
  return true;
}

bool Arena::contains(const void* memory) const {
  const char* const p = static_cast<const char*>(memory);
  return p >= base_ && p < base_ + capacity_;
}

std::string Arena::describe_problem(const void* memory, size_t bytes) const {
  const auto offset = static_cast<size_t>(static_cast<const char*>(memory) - base_);
  std::ostringstream text;
  auto block = live_allocations_.upper_bound(offset);
  if (block != live_allocations_.begin() && offset < (--block)->first + block->second) {
    const size_t available = block->first + block->second - offset;
    if (bytes <= available) return {};
    text << "only " << available << " bytes from the end of an allocation of " << block->second << " bytes of "
         << memory_name();
  } else {
    text << (offset < high_water_mark_ ? "memory that was freed or is between allocations of "
                                       : "never allocated memory of ")
         << memory_name();
  }
  return text.str();
}

std::string Arena::memory_name() const {
  return device_ == kPageLocked ? "page-locked host memory" : "cuda:" + std::to_string(device_);
}

}  // namespace tandem::emulation
