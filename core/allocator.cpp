#include "tandem/core/allocator.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "tandem/core/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TANDEM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TANDEM_ASAN 1
#endif
#endif
#if defined(TANDEM_ASAN)
#include <sanitizer/asan_interface.h>
#endif

namespace tandem {
namespace {

constexpr size_t kAlignment = 64, kHuge = size_t(2) << 20, kHugeFrom = size_t(4) << 20;
constexpr int kClasses = 16 + 8 * 40;

struct SizeClass {
  int index;
  size_t bytes;
};
/// Steps of 64 bytes up to 1 KiB, then eight to a power of two: at most an eighth is wasted.
SizeClass size_class(size_t bytes) {
  if (bytes <= 1024) {
    const size_t units = (bytes + 63) / 64;
    return {static_cast<int>(units) - 1, units * 64};
  }
  const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1), log >= 10
  const size_t step = (size_t(1) << log) / 8, eighth = (bytes - (size_t(1) << log) + step - 1) / step;
  return {16 + (log - 10) * 8 + static_cast<int>(eighth) - 1, (size_t(1) << log) + eighth * step};
}

void* system_allocate(size_t bytes) {
  void* data = std::aligned_alloc(bytes >= kHugeFrom ? kHuge : kAlignment,
                                  bytes >= kHugeFrom ? (bytes + kHuge - 1) / kHuge * kHuge : bytes);
  if (data && bytes >= kHugeFrom) madvise(data, bytes, MADV_HUGEPAGE);  // a hint: refusal changes nothing
  return data;
}
void poison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(TANDEM_ASAN)
  ASAN_POISON_MEMORY_REGION(data, bytes);
#endif
}
void unpoison([[maybe_unused]] void* data, [[maybe_unused]] size_t bytes) {
#if defined(TANDEM_ASAN)
  ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#endif
}

struct DeviceCache {
  std::mutex mutex;
  std::array<std::vector<void*>, kClasses> free;
  MemoryStats stats;
};
// Never destroyed: tensors with static storage may outlive it.
DeviceCache& cache(int device) {
  static auto* caches = new std::array<DeviceCache, kMaxDevices>;
  return (*caches)[static_cast<size_t>(device)];
}

size_t class_bytes(int index) {
  if (index < 16) return static_cast<size_t>(index + 1) * 64;
  const size_t power = size_t(1) << ((index - 16) / 8 + 10);
  return power + power / 8 * static_cast<size_t>((index - 16) % 8 + 1);
}

}  // namespace

void* allocate(int device_index, size_t bytes) {
  const SizeClass c = size_class(bytes);
  DeviceCache& mine = cache(device_index);
  void* data = nullptr;
  if (c.index < kClasses) {
    const std::lock_guard lock(mine.mutex);
    auto& list = mine.free[static_cast<size_t>(c.index)];
    if (!list.empty()) {
      data = list.back();
      list.pop_back();
    }
  }
  bool fresh = false;
  if (!data && c.index < kClasses && c.bytes <= size_t(1) << 48) {
    fresh = true;
    data = system_allocate(c.bytes);
    if (!data) {
      empty_cache();
      data = system_allocate(c.bytes);
    }
  }
  const std::lock_guard lock(mine.mutex);
  TANDEM_CHECK_AS(OutOfMemoryError, data, "out of memory on cpu:", device_index, ": asked for ", bytes, " bytes; ",
                  mine.stats.current, " are in use there and ", mine.stats.reserved, " held");
  if (fresh) mine.stats.reserved += static_cast<int64_t>(c.bytes), poison(data, c.bytes);
  unpoison(data, bytes);
  mine.stats.current += static_cast<int64_t>(bytes);
  mine.stats.peak = std::max(mine.stats.peak, mine.stats.current);
  ++mine.stats.allocations;
  return data;
}

void deallocate(int device_index, void* data, size_t bytes) {
  const SizeClass c = size_class(bytes);
  DeviceCache& mine = cache(device_index);
  poison(data, c.bytes);
  const std::lock_guard lock(mine.mutex);
  mine.free[static_cast<size_t>(c.index)].push_back(data);
  mine.stats.current -= static_cast<int64_t>(bytes);
}

MemoryStats memory_stats(Device device) {
  DeviceCache& mine = cache(device.index());
  const std::lock_guard lock(mine.mutex);
  return mine.stats;
}
void reset_peak_memory_stats(Device device) {
  DeviceCache& mine = cache(device.index());
  const std::lock_guard lock(mine.mutex);
  mine.stats.peak = mine.stats.current;
}

void empty_cache() {
  for (int device = 0; device < kMaxDevices; ++device) {
    DeviceCache& mine = cache(device);
    const std::lock_guard lock(mine.mutex);
    for (int index = 0; index < kClasses; ++index) {
      auto& list = mine.free[static_cast<size_t>(index)];
      for (void* data : list) {
        unpoison(data, class_bytes(index));
        std::free(data);
        mine.stats.reserved -= static_cast<int64_t>(class_bytes(index));
      }
      list.clear();
    }
  }
}

}  // namespace tandem
