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

constexpr size_t kAlignment = 64, kHugePageBytes = size_t(2) << 20, kMmapThresholdBytes = size_t(4) << 20;

// Size classes of blocks: 64, 128, ... 1024 bytes, then eight classes between consecutive powers of two.
constexpr size_t kMaxSmallBytes = 1024, kNumSmallSizeClasses = kMaxSmallBytes / kAlignment,
                 kSizeClassesPerPowerOfTwo = 8;
constexpr int kMaxBlockBytesLog2 = 47;  // log2 of the largest block size in bytes
constexpr size_t kMaxBlockBytes = size_t(1) << kMaxBlockBytesLog2,
                 kNumSizeClasses = kNumSmallSizeClasses + kSizeClassesPerPowerOfTwo * (kMaxBlockBytesLog2 - 10);

size_t size_class_of(size_t bytes) {
  if (bytes <= kMaxSmallBytes) return (bytes - 1) / kAlignment;
  const int log = std::bit_width(bytes - 1) - 1;  // `log` is chosen so that 2^log < bytes <= 2^(log + 1)
  const size_t eighth = ((bytes - 1) >> (log - 3)) - kSizeClassesPerPowerOfTwo;
  return kNumSmallSizeClasses + static_cast<size_t>(log - 10) * kSizeClassesPerPowerOfTwo + eighth;
}
size_t size_class_bytes(size_t index) {
  if (index < kNumSmallSizeClasses) return (index + 1) * kAlignment;
  index -= kNumSmallSizeClasses;
  return (kSizeClassesPerPowerOfTwo + index % kSizeClassesPerPowerOfTwo + 1)
         << (index / kSizeClassesPerPowerOfTwo + 10 - 3);
}

/// Whether blocks of this size are allocated by mmap. False under AddressSanitizer, which guards only memory from
/// malloc.
bool uses_mmap(size_t bytes) { return !TANDEM_ASAN && bytes >= kMmapThresholdBytes; }
/// Allocates a block. Returns null on failure.
void* allocate_from_system(size_t bytes) {
  if (uses_mmap(bytes)) {
    void* const mapped =
        mmap(nullptr, bytes + kHugePageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    char* const begin = static_cast<char*>(mapped);
    const size_t before = -reinterpret_cast<uintptr_t>(begin) % kHugePageBytes;
    if (before > 0) munmap(begin, before);
    if (before < kHugePageBytes) munmap(begin + before + bytes, kHugePageBytes - before);
    // Errors are ignored, because huge pages only reduce the number of page faults.
    madvise(begin + before, bytes, MADV_HUGEPAGE);
    return begin + before;
  }
  return std::aligned_alloc(kAlignment, bytes);
}
void release_to_system(void* data, size_t bytes) {
  if (uses_mmap(bytes))
    munmap(data, bytes);
  else
    std::free(data);
}

/// Cached blocks and statistics of one device.
class CachingAllocator {
 public:
  /// Allocates a block. Returns null if the size class has no free block and the system cannot provide one.
  void* allocate(Device device, size_t bytes) {
    const size_t index = size_class_of(bytes), held = size_class_bytes(index);
    const std::lock_guard lock(mutex_);
    SizeClass& mine = size_classes_[index];
    void* data = nullptr;
    if (!mine.free_blocks.empty()) {
      data = mine.free_blocks.back();
      mine.free_blocks.pop_back();
    } else {
      // Reserve room in the list of free blocks for all blocks of the size class, so that deallocate() can add a block
      // without allocating memory.
      if (mine.free_blocks.capacity() == mine.num_blocks) mine.free_blocks.reserve(2 * mine.num_blocks + 1);
      data = allocate_from_system(held);
      if (!data) return nullptr;
      ++mine.num_blocks;
      stats_.reserved += static_cast<int64_t>(held);
      poison(data, held);
    }
    if (is_memory_trace_enabled()) [[unlikely]]
      trace_memory(device, data, static_cast<int64_t>(bytes));
    unpoison(data, bytes);  // the rest of the block stays poisoned, so that AddressSanitizer detects overruns
    stats_.current += static_cast<int64_t>(bytes);
    stats_.peak = std::max(stats_.peak, stats_.current);
    ++stats_.allocations;
    return data;
  }
  void deallocate(Device device, void* data, size_t bytes) {
    const size_t index = size_class_of(bytes);
    const std::lock_guard lock(mutex_);
    size_classes_[index].free_blocks.push_back(data);
    poison(data, size_class_bytes(index));
    stats_.current -= static_cast<int64_t>(bytes);
    if (is_memory_trace_enabled()) [[unlikely]]
      trace_memory(device, data, -static_cast<int64_t>(bytes));
  }
  void empty_cache() {
    const std::lock_guard lock(mutex_);
    for (size_t index = 0; index < kNumSizeClasses; ++index) {
      const size_t held = size_class_bytes(index);
      SizeClass& mine = size_classes_[index];
      for (void* const data : mine.free_blocks) {
        unpoison(data, held);
        release_to_system(data, held);
      }
      mine.num_blocks -= mine.free_blocks.size();
      stats_.reserved -= static_cast<int64_t>(mine.free_blocks.size() * held);
      mine.free_blocks.clear();
    }
  }
  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return stats_;
  }
  void reset_peak_stats() {
    const std::lock_guard lock(mutex_);
    stats_.peak = stats_.current;
  }

 private:
  struct SizeClass {
    std::vector<void*> free_blocks;
    size_t num_blocks = 0;  // number of blocks of this size class, in use or free
  };

  std::mutex mutex_;
  std::array<SizeClass, kNumSizeClasses> size_classes_;
  MemoryStats stats_;
};

/// One cache for each device. Constant-initialised and never destroyed: static tensors may be constructed earlier, and
/// destroyed later, than other static objects.
union AllocatorArray {
  std::array<CachingAllocator, kMaxDevices> by_device;
  constexpr AllocatorArray() : by_device() {}
  ~AllocatorArray() {}
};
constinit AllocatorArray allocators;

CachingAllocator& allocator_of(int device_index) {
  TANDEM_CHECK(device_index >= 0 && device_index < kMaxDevices, "allocator: device index is ", device_index,
               "; accepted: 0 to ", kMaxDevices - 1);
  return allocators.by_device[static_cast<size_t>(device_index)];
}

void empty_cpu_caches() noexcept {
  for (CachingAllocator& each : allocators.by_device) each.empty_cache();
}

}  // namespace

void* detail::allocate(int device_index, size_t bytes) {
  if (bytes == 0) return nullptr;
  CachingAllocator& mine = allocator_of(device_index);
  void* data = nullptr;
  if (bytes <= kMaxBlockBytes) {
    const Device device(kCPU, device_index);
    data = mine.allocate(device, bytes);
    if (!data) [[unlikely]] {
      empty_cpu_caches();
      data = mine.allocate(device, bytes);
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
  if (data) allocator_of(device_index).deallocate(Device(kCPU, device_index), data, bytes);
}

MemoryStats memory_stats(Device device) {
  return device.is_cuda() ? cuda::memory_stats(device) : allocator_of(device.index()).stats();
}
void reset_peak_memory_stats(Device device) {
  if (device.is_cuda())
    cuda::reset_peak_memory_stats(device);
  else
    allocator_of(device.index()).reset_peak_stats();
}

void empty_cache() noexcept {
  empty_cpu_caches();
  cuda::empty_cache();
  empty_page_locked_cache();
}

}  // namespace tandem
