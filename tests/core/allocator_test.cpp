// Tests the caching CPU allocator: alignment, size classes, reuse, statistics, threads, errors.
#include "tandem/core/allocator.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"

using namespace tandem;

#if TANDEM_TEST_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace {

constexpr int kDevice = 37;  // used by no other test
MemoryStats stats() { return memory_stats(Device(kCPU, kDevice)); }

}  // namespace

TEST_CASE("blocks are aligned, writable to the last byte, and at most an eighth too large", "[core][allocator]") {
  for (const size_t bytes : {size_t(1), size_t(63), size_t(64), size_t(65), size_t(1000), size_t(1024), size_t(1025),
                             size_t(1152), size_t(1153), size_t(100'000), size_t(1) << 20, (size_t(4) << 20) - 1,
                             size_t(4) << 20, (size_t(4) << 20) + 1, size_t(70'000'000)}) {
    empty_cache();
    const int64_t before = stats().reserved;
    char* const data = static_cast<char*>(allocate(kDevice, bytes));
    const auto held = static_cast<size_t>(stats().reserved - before);
    REQUIRE(reinterpret_cast<uintptr_t>(data) % 64 == 0);
    std::memset(data, 1, bytes);
    REQUIRE(held >= bytes);
    REQUIRE(held <= std::max(bytes + 63, bytes + bytes / 8 + 1));
    deallocate(kDevice, data, bytes);
    REQUIRE(stats().reserved == before + static_cast<int64_t>(held));  // no memory is returned to the system
  }
  empty_cache();
  REQUIRE(stats().reserved == 0);
}

TEST_CASE("a freed block serves the next request of its class, and no other", "[core][allocator]") {
  for (const size_t bytes : {size_t(100), size_t(5000), size_t(9) << 20}) {
    void* const first = allocate(kDevice, bytes);
    deallocate(kDevice, first, bytes);
    void* const other = allocate(kDevice, 2 * bytes);
    REQUIRE(other != first);
    void* const elsewhere = allocate(kDevice + 1, bytes);
    REQUIRE(elsewhere != first);
    void* const again = allocate(kDevice, bytes - 1);
    REQUIRE(again == first);
    deallocate(kDevice, again, bytes - 1);
    deallocate(kDevice, other, 2 * bytes);
    deallocate(kDevice + 1, elsewhere, bytes);
  }
}

TEST_CASE("statistics count requested bytes, per device", "[core][allocator]") {
  const MemoryStats before = stats();
  const MemoryStats elsewhere = memory_stats(Device(kCPU, kDevice + 1));
  reset_peak_memory_stats(Device(kCPU, kDevice));
  void* const a = allocate(kDevice, 1000);
  void* const b = allocate(kDevice, 3);
  REQUIRE(stats().current == before.current + 1003);
  deallocate(kDevice, a, 1000);
  REQUIRE(stats().current == before.current + 3);
  REQUIRE(stats().peak == before.current + 1003);
  REQUIRE(stats().allocations == before.allocations + 2);
  reset_peak_memory_stats(Device(kCPU, kDevice));
  REQUIRE(stats().peak == before.current + 3);
  deallocate(kDevice, b, 3);
  REQUIRE(memory_stats(Device(kCPU, kDevice + 1)).allocations == elsewhere.allocations);
}

TEST_CASE("no bytes are no block", "[core][allocator]") {
  const MemoryStats before = stats();
  REQUIRE(allocate(kDevice, 0) == nullptr);
  deallocate(kDevice, nullptr, 0);
  REQUIRE(stats().allocations == before.allocations);
}

TEST_CASE("a request that cannot be met names device and bytes, and leaves the counts as they were",
          "[core][allocator]") {
  void* const kept = allocate(kDevice, 12345);
  const MemoryStats before = stats();
#if TANDEM_TEST_ASAN || TANDEM_TEST_TSAN
  // Sanitizers abort for other sizes.
  const std::vector<size_t> requests = {SIZE_MAX, size_t(1) << 63, (size_t(1) << 47) + 1};
#else
  const std::vector<size_t> requests = {SIZE_MAX, size_t(1) << 63, (size_t(1) << 47) + 1, size_t(1) << 47};
#endif
  for (const size_t bytes : requests) {
    REQUIRE_THROWS_AS(allocate(kDevice, bytes), OutOfMemoryError);
    REQUIRE_THROWS_WITH(allocate(kDevice, bytes), Contains("cpu:37") && Contains(std::to_string(bytes) + " bytes") &&
                                                      Contains(std::to_string(before.current) + " bytes are in use"));
  }
  REQUIRE(stats().current == before.current);
  REQUIRE(stats().peak == before.peak);
  deallocate(kDevice, kept, 12345);
}

TEST_CASE("devices outside the range are refused", "[core][allocator]") {
  REQUIRE_THROWS_WITH(allocate(-1, 8), Contains("-1") && Contains("0 to 63"));
  REQUIRE_THROWS_WITH(allocate(64, 8), Contains("64"));
  REQUIRE_THROWS_WITH(memory_stats(Device(kCUDA, 63)), Contains("cuda:63"));
}

TEST_CASE("threads take and free each other's blocks", "[core][allocator]") {
  const MemoryStats before = stats();
  struct Block {
    unsigned char* data;
    size_t bytes;
    unsigned char mark;
  };
  std::mutex mutex;
  std::vector<Block> shared;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const size_t bytes = static_cast<size_t>(1 + (i * 37 + t * 11) % 3000);
        Block block{static_cast<unsigned char*>(allocate(kDevice, bytes)), bytes, static_cast<unsigned char>(i + t)};
        std::memset(block.data, block.mark, bytes);
        {
          const std::lock_guard lock(mutex);
          shared.push_back(block);
          if (shared.size() < 8) continue;
          std::swap(block, shared[static_cast<size_t>(i) % shared.size()]);
          shared.pop_back();
        }
        if (block.data[0] != block.mark || block.data[block.bytes - 1] != block.mark) ++wrong;
        deallocate(kDevice, block.data, block.bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const Block& block : shared) deallocate(kDevice, block.data, block.bytes);
  REQUIRE(wrong == 0);
  REQUIRE(stats().current == before.current);
  REQUIRE(stats().allocations == before.allocations + 8000);
}

#if TANDEM_TEST_ASAN
TEST_CASE("AddressSanitizer sees exactly the requested bytes, and none of a freed block", "[core][allocator]") {
  for (const size_t bytes : {size_t(100), size_t(64), size_t(5000), size_t(4) << 20}) {
    for (int round = 0; round < 2; ++round) {  // first fresh memory, then a cached block
      char* const data = static_cast<char*>(allocate(kDevice, bytes));
      REQUIRE(__asan_region_is_poisoned(data, bytes) == nullptr);
      REQUIRE(__asan_address_is_poisoned(data + bytes));
      deallocate(kDevice, data, bytes);
      REQUIRE(__asan_address_is_poisoned(data));
      REQUIRE(__asan_address_is_poisoned(data + bytes - 1));
    }
  }
}
#endif
