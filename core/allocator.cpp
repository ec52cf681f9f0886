// Allocator of host memory for the virtual CPU devices: size classes, and a cache and statistics for each device.
#include "tandem/core/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/page_locked.h"
#include "tandem/core/poison.h"
#include "tandem/core/trace/memory_trace.h"

namespace tandem {
namespace {

constexpr size_t kAlignment = 64, kHugePage = size_t(2) << 20, kMappedFrom = size_t(4) << 20;

// Size classes of blocks: 64, 128, ... 1024 bytes, then eight classes between consecutive powers of two.
constexpr size_t kSmall = 1024, kSmallClasses = kSmall / kAlignment, kPerPower = 8;
constexpr int kMaxLog = 47;  // log2 of the largest block size in bytes
constexpr size_t kMaxBytes = size_t(1) << kMaxLog, kClasses = kSmallClasses + kPerPower * (kMaxLog - 10);

size_t class_of(size_t bytes) {
  if (bytes <= kSmall) return (bytes - 1) / kAlignment;
  const int log = std::bit_width(bytes - 1) - 1;  // so that 2^log < bytes <= 2^(log + 1)
  const size_t eighth = ((bytes - 1) >> (log - 3)) - kPerPower;
  return kSmallClasses + static_cast<size_t>(log - 10) * kPerPower + eighth;
}
size_t class_bytes(size_t index) {
  if (index < kSmallClasses) return (index + 1) * kAlignment;
  index -= kSmallClasses;
  return (kPerPower + index % kPerPower + 1) << (index / kPerPower + 10 - 3);
}

/// Whether blocks of this size are allocated by mmap. False under AddressSanitizer, which guards only memory from
/// malloc.
bool is_mapped(size_t bytes) { return !TANDEM_ASAN && bytes >= kMappedFrom; }
/// Allocates a block. Returns null on failure.
void* take_from_system(size_t bytes) {
  if (is_mapped(bytes)) {
    void* const mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(mapped);
    const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePage;
    if (before > 0) munmap(begin, before);
    if (before < kHugePage) munmap(begin + before + bytes, kHugePage - before);
    // Errors are ignored: huge pages only reduce the number of page faults.
    madvise(begin + before, bytes, MADV_HUGEPAGE);
    return begin + before;
  }
  return std::aligned_alloc(kAlignment, bytes);
}
void give_to_system(void* data, size_t bytes) {
  if (is_mapped(bytes))
    munmap(data, bytes);
  else
    std::free(data);
}

/// Cached blocks and statistics of one device.
class Cache {
 public:
  /// Allocates a block. Returns null if the size class has no free block and the system cannot provide one.
  void* take(Device device, size_t bytes) {
    const size_t index = class_of(bytes), held = class_bytes(index);
    const std::lock_guard lock(mutex_);
    Class& mine = classes_[index];
    void* data = nullptr;
    if (!mine.free.empty()) {
      data = mine.free.back();
      mine.free.pop_back();
    } else {
      // Reserve room for all blocks of the size class, so that give() needs no memory and cannot fail.
      if (mine.free.capacity() == mine.blocks) mine.free.reserve(2 * mine.blocks + 1);
      data = take_from_system(held);
      if (!data) return nullptr;
      ++mine.blocks;
      stats_.reserved += static_cast<int64_t>(held);
      poison(data, held);
    }
    if (memory_trace_is_on()) [[unlikely]]
      trace_memory(device, data, static_cast<int64_t>(bytes));
    unpoison(data, bytes);  // the rest of the block stays poisoned, so that AddressSanitizer detects overruns
    stats_.current += static_cast<int64_t>(bytes);
    stats_.peak = std::max(stats_.peak, stats_.current);
    ++stats_.allocations;
    return data;
  }
  void give(Device device, void* data, size_t bytes) {
    const size_t index = class_of(bytes);
    const std::lock_guard lock(mutex_);
    classes_[index].free.push_back(data);
    poison(data, class_bytes(index));
    stats_.current -= static_cast<int64_t>(bytes);
    if (memory_trace_is_on()) [[unlikely]]
      trace_memory(device, data, -static_cast<int64_t>(bytes));
  }
  void empty() {
    const std::lock_guard lock(mutex_);
    for (size_t index = 0; index < kClasses; ++index) {
      const size_t held = class_bytes(index);
      Class& mine = classes_[index];
      for (void* const data : mine.free) {
        unpoison(data, held);
        give_to_system(data, held);
      }
      mine.blocks -= mine.free.size();
      stats_.reserved -= static_cast<int64_t>(mine.free.size() * held);
      mine.free.clear();
    }
  }
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.current;
  }

 private:
  struct Class {
    std::vector<void*> free;
    size_t blocks = 0;  // number of blocks, in use or free
  };

  std::mutex mutex_;
  std::array<Class, kClasses> classes_;
  MemoryStats stats_;
};

/// One cache for each device. Constant-initialised and never destroyed: static tensors may be constructed earlier, and
/// destroyed later, than other static objects.
union Caches {
  std::array<Cache, kMaxDevices> of_device;
  constexpr Caches() : of_device() {}
  ~Caches() {}
};
constinit Caches caches;

Cache& cache(int device_index) {
  TANDEM_CHECK(device_index >= 0 && device_index < kMaxDevices, "allocator: device index is ", device_index,
               "; accepted: 0 to ", kMaxDevices - 1);
  return caches.of_device[static_cast<size_t>(device_index)];
}

void empty_cpu_caches() noexcept {
  for (Cache& each : caches.of_device) each.empty();
}

}  // namespace

void* detail::allocate(int device_index, size_t bytes) {
  if (bytes == 0) return nullptr;
  Cache& mine = cache(device_index);
  void* data = nullptr;
  if (bytes <= kMaxBytes) {
    const Device device(kCPU, device_index);
    data = mine.take(device, bytes);
    if (!data) [[unlikely]] {
      empty_cpu_caches();
      data = mine.take(device, bytes);
    }
  }
  if (!data) [[unlikely]] {
    const MemoryStats stats = mine.stats();
    TANDEM_CHECK_AS(OutOfMemoryError, false, "allocate: out of memory on cpu:", device_index,
                    ": can't allocate memory: you tried to allocate ", bytes, " bytes; ", stats.current,
                    " bytes are in use and ", stats.reserved, " reserved");
  }
  return data;
}

void detail::deallocate(int device_index, void* data, size_t bytes) noexcept {
  if (data) cache(device_index).give(Device(kCPU, device_index), data, bytes);
}

MemoryStats memory_stats(Device device) {
  return device.is_cuda() ? cuda::memory_stats(device) : cache(device.index()).stats();
}
void reset_peak_memory_stats(Device device) {
  if (device.is_cuda())
    cuda::reset_peak_memory_stats(device);
  else
    cache(device.index()).reset_peak();
}

void empty_cache() noexcept {
  empty_cpu_caches();
  cuda::empty_cache();
  empty_page_locked_cache();
}

}  // namespace tandem
