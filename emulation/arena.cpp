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
constexpr size_t kRedzone = 256;

/// Page size: 4, 16 or 64 KiB. A function instead of a global variable, because the initialisation of other globals may
/// allocate memory first.
size_t page_size() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
/// Returns the size in bytes of the pages that an allocation of `bytes` bytes takes, without the guard page.
size_t page_span(size_t bytes) { return (kRedzone + bytes + kRedzone + page_size() - 1) / page_size() * page_size(); }

}  // namespace

Arena::Arena(int device, size_t capacity) : device_(device), capacity_(capacity) {
  void* const range =
      mmap(nullptr, capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, /*fd=*/-1, /*offset=*/0);
  const int error = errno;
  TANDEM_CHECK_AS(CudaError, range != MAP_FAILED, "emulated CUDA: cannot reserve ", capacity_,
                  " bytes of address space for ", owner(), ": ", std::strerror(error), "; the limit is `ulimit -v`");
  base_ = static_cast<char*>(range);
  free_[0] = capacity_;
}
Arena::~Arena() {
  allow_access(base_, high_water_mark_);
  for (const auto& [offset, bytes] : live_) decommit_memory(device_, base_ + offset - kRedzone, page_span(bytes));
  munmap(base_, capacity_);
  explain_faults(device_, base_, 0);
}

size_t Arena::find(size_t bytes) const {
  auto at = free_.upper_bound(cursor_);
  if (at != free_.begin()) {
    const auto [offset, available] = *std::prev(at);
    if (offset + available >= cursor_ + bytes) return cursor_;
  }
  const auto fits = [bytes](const auto& range) { return range.second >= bytes; };
  at = std::find_if(at, free_.end(), fits);
  if (at == free_.end()) at = std::find_if(free_.begin(), free_.end(), fits);
  return at == free_.end() ? capacity_ : at->first;
}
void Arena::reserve_range(size_t offset, size_t bytes) {
  const auto at = std::prev(free_.upper_bound(offset));
  const size_t begin = at->first, end = begin + at->second;
  free_.erase(at);
  if (offset > begin) free_[begin] = offset - begin;
  if (end > offset + bytes) free_[offset + bytes] = end - (offset + bytes);
  cursor_ = offset + bytes;
  high_water_mark_ = std::max(high_water_mark_, cursor_);
}
void Arena::free_range(size_t offset, size_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == offset) {
    std::prev(next)->second += bytes;
  } else {
    free_.emplace_hint(next, offset, bytes);
  }
}

void* Arena::allocate(size_t bytes) {
  if (bytes >= capacity_) return nullptr;
  const size_t pages = page_span(bytes), offset = find(pages + page_size());
  if (offset == capacity_) return nullptr;
  char* const begin = base_ + offset;
  if (!commit_memory(device_, begin, pages)) return nullptr;
  explain_faults(device_, base_, capacity_);
  reserve_range(offset, pages + page_size());
  live_[offset + kRedzone] = bytes;
  used_ += bytes;

  char* const data = begin + kRedzone;
  const DeviceAccess access(device_ >= 0 ? device_bit(device_) : 0);
  allow_access(begin, pages);
  std::memset(data, kFillByte, bytes);
  forbid_access(begin, pages);
  allow_access(data, bytes);
  return data;
}

bool Arena::release(const void* memory) {
  if (!contains(memory)) return false;
  const auto at = live_.find(static_cast<size_t>(static_cast<const char*>(memory) - base_));
  if (at == live_.end()) return false;
  const size_t offset = at->first - kRedzone, bytes = page_span(at->second);
  used_ -= at->second;
  live_.erase(at);
  forbid_access(base_ + offset, bytes);
  decommit_memory(device_, base_ + offset, bytes);
  free_range(offset, bytes + page_size());
  return true;
}

bool Arena::contains(const void* memory) const {
  const char* const p = static_cast<const char*>(memory);
  return p >= base_ && p < base_ + capacity_;
}

std::string Arena::problem(const void* memory, size_t bytes) const {
  const auto offset = static_cast<size_t>(static_cast<const char*>(memory) - base_);
  std::ostringstream text;
  auto block = live_.upper_bound(offset);
  if (block != live_.begin() && offset < (--block)->first + block->second) {
    const size_t available = block->first + block->second - offset;
    if (bytes <= available) return {};
    text << "only " << available << " bytes from the end of an allocation of " << block->second << " bytes of "
         << owner();
  } else {
    text << (offset < high_water_mark_ ? "memory that was freed or is between allocations of "
                                       : "never allocated memory of ")
         << owner();
  }
  return text.str();
}

std::string Arena::owner() const {
  return device_ == kPageLocked ? "page-locked host memory" : "cuda:" + std::to_string(device_);
}

}  // namespace tandem::emulation
