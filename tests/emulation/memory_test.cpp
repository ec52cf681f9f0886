// Tests the emulated runtime's memory: which device owns an address, which code may access it, and copies that are
// refused.
#include "emulated.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "../catch.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/device.h"
#include "tandem/emulation/arena.h"
#include "tandem/emulation/protection.h"

namespace tandem::test {

Death death_of(const std::function<void()>& f) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    f();
    _exit(0);
  }
  close(ends[1]);
  Death death{};
  std::array<char, 4096> part{};
  for (ssize_t bytes = 0; (bytes = ::read(ends[0], part.data(), part.size())) > 0;)
    death.words.append(part.data(), static_cast<size_t>(bytes));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  death.died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  return death;
}

namespace {

const auto kPage = static_cast<size_t>(sysconf(_SC_PAGESIZE));

TEST_CASE("a pointer tells whose memory it is", "[emulation][memory]") {
  const Reset reset;
  const Ints zero(10, 0), three(10, 3);
  const HostInts host(10);
  const int local = 0;
  CHECK(gpu::pointer_info(zero).device == 0);
  CHECK(gpu::pointer_info(three + 9).device == 3);
  CHECK(gpu::pointer_info(three).kind == gpu::MemoryKind::device);
  CHECK(gpu::pointer_info(three + 10).kind == gpu::MemoryKind::pageable);  // behind the end of the block
  CHECK(gpu::pointer_info(host).kind == gpu::MemoryKind::page_locked);
  CHECK(gpu::pointer_info(host).device == -1);
  CHECK(gpu::pointer_info(&local).kind == gpu::MemoryKind::pageable);
  CHECK(gpu::pointer_info(nullptr).kind == gpu::MemoryKind::pageable);
  CHECK(reinterpret_cast<uintptr_t>(zero.data) % 256 == 0);
  CHECK(reinterpret_cast<uintptr_t>(host.data) % 256 == 0);
}

TEST_CASE("fresh memory is NaN", "[emulation][memory]") {
  const Reset reset;
  const OwnStream stream;
  const Ints some(100);
  CHECK(read(some, 100, stream) == std::vector<int>(100, -1));
  const HostInts host(3);
  CHECK(host[2] == -1);
}

TEST_CASE("addresses come back as late as possible, and as fresh memory", "[emulation][memory]") {
  constexpr int kDevice = kMaxDevices - 1;
  const size_t bytes = kPage + 900;
  emulation::Arena arena(kDevice, 64 * kPage);
  const emulation::DeviceAccess access(emulation::device_bit(kDevice));
  auto* const first = static_cast<unsigned char*>(arena.allocate(bytes));
  std::memset(first, 1, bytes);
  REQUIRE(arena.release(first));
  CHECK_FALSE(arena.release(first));
  int others = 0;
  unsigned char* again = nullptr;
  while ((again = static_cast<unsigned char*>(arena.allocate(bytes))) != first) {
    REQUIRE(arena.release(again));
    ++others;
  }
  CHECK(others == 64 / 3 - 1);  // each block takes two pages and a guard page
  CHECK(again[0] == 0xFF);
  CHECK(again[bytes - 1] == 0xFF);
  CHECK(arena.used_bytes() == bytes);
  CHECK(arena.allocate(64 * kPage) == nullptr);
  CHECK(arena.allocate(62 * kPage) == nullptr);
  REQUIRE(arena.release(again));
  CHECK(arena.allocate(62 * kPage));  // freed blocks are merged
}

TEST_CASE("a device's memory has a limit, and says how much is left", "[emulation][memory]") {
  const Reset reset;
  CHECK(gpu::memory_info(2).total_bytes == int64_t(1) << 30);
  emulation::set_memory_limit(2, 1000);
  {
    void* const most = gpu::allocate(2, 900);
    REQUIRE(most);
    CHECK(gpu::memory_info(2).free_bytes == 100);
    CHECK(gpu::allocate(2, 101) == nullptr);
    void* const rest = gpu::allocate(2, 100);
    CHECK(rest);
    gpu::release(2, most);
    gpu::release(2, rest);
  }
  CHECK(gpu::memory_info(2).free_bytes == 1000);
  CHECK(gpu::allocate(2, 0) == nullptr);
}

TEST_CASE("allocations of all sizes come and go without meeting each other", "[emulation][memory]") {
  const Reset reset;
  struct Block {
    int* data;
    size_t count;
    int value;
  };
  const OwnStream stream;
  std::vector<Block> blocks;
  uint32_t random = 1;
  const auto draw = [&random](uint32_t n) {
    random = random * 1664525 + 1013904223;
    return (random >> 8) % n;
  };
  for (int i = 0; i < 300; ++i) {
    if (!blocks.empty() && draw(2) == 0) {
      const size_t at = draw(static_cast<uint32_t>(blocks.size()));
      const Block block = blocks[at];
      blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(at));
      CHECK(read_one(block.data, stream) == block.value);
      CHECK(read_one(block.data + block.count - 1, stream) == block.value);
      gpu::release(0, block.data);
    } else {
      const size_t count = 1 + draw(5000);
      auto* const data = static_cast<int*>(gpu::allocate(0, count * sizeof(int)));
      REQUIRE(data);
      gpu::fill_bytes_async(data, i, count * sizeof(int), stream);
      blocks.push_back({data, count, static_cast<int>(static_cast<uint32_t>(i & 255) * 0x01010101u)});
    }
  }
  for (const Block& block : blocks) gpu::release(0, block.data);
}

TEST_CASE("copies and fills refuse what is not live memory of their device", "[emulation][memory]") {
  const Reset reset;
  const OwnStream stream;
  const Ints mine(4), other(4, 1);
  std::vector<int> host(8);
  int* const freed = static_cast<int*>(gpu::allocate(0, 16));
  gpu::release(0, freed);
  CHECK_THROWS_WITH(gpu::copy_async(mine, host.data(), 17, stream),
                    Contains("copy_async of 17 bytes on cuda:0 failed: the target is only 16 bytes from the end of an "
                             "allocation of 16 bytes of cuda:0"));
  CHECK_THROWS_WITH(gpu::copy_async(host.data(), mine + 1, 16, stream), Contains("the source is only 12 bytes"));
  CHECK_THROWS_WITH(gpu::copy_async(freed, host.data(), 4, stream), Contains("the target is memory that was freed"));
  CHECK_THROWS_WITH(gpu::copy_async(mine, nullptr, 4, stream), Contains("the source is null"));
  CHECK_THROWS_WITH(gpu::fill_bytes_async(freed, 0, 4, stream), Contains("memory that was freed"));
  CHECK_THROWS_WITH(gpu::fill_bytes_async(host.data(), 0, 4, stream), Contains("pageable"));
  CHECK_THROWS_WITH(gpu::copy_async(other, host.data(), 4, stream),
                    Contains("the target is memory of cuda:1, which is not a peer of cuda:0"));
  CHECK_THROWS_WITH(gpu::fill_bytes_async(other, 0, 4, stream), Contains("memory of cuda:1"));
  CHECK_THROWS_WITH(gpu::copy_async(mine, mine + 1, 8, stream), Contains("source and target overlap"));
  CHECK_THROWS_WITH(gpu::copy_peer_async(mine, 1, other, 0, 4, stream), Contains("source is on cuda:1"));
  CHECK_THROWS_AS(gpu::copy_async(mine, host.data(), 17, stream), CudaError);
  CHECK(emulation::num_pending_items(0) == 0);
  gpu::enable_peer_access(0, 1);
  gpu::enable_peer_access(0, 1);
  gpu::fill_bytes_async(other, 0, 4, stream);
  gpu::copy_peer_async(mine, 0, other, 1, 4, stream);
  CHECK(read_one(mine, stream) == 0);
}

TEST_CASE("peers can be turned off; copies between devices work all the same", "[emulation][memory]") {
  const Reset reset;
  CHECK(gpu::can_access_peer(0, 1));
  CHECK_FALSE(gpu::can_access_peer(1, 1));
  emulation::set_peer_access(false);
  CHECK_FALSE(gpu::can_access_peer(0, 1));
  CHECK_THROWS_WITH(gpu::enable_peer_access(0, 1), Contains("cannot be peers"));
  const OwnStream stream(1);
  const Ints from(4, 0), to(4, 1);
  const OwnStream first(0);
  set(from, 5, 4, first);
  gpu::synchronize_stream(first);
  gpu::copy_peer_async(to, 1, from, 0, 16, stream);
  CHECK(read_one(to, stream) == 5);
}

TEST_CASE("memory that is freed before a copy reaches it is that copy's error", "[emulation][memory]") {
  const Reset reset;
  const OwnStream stream(1);
  const Ints to(4, 1);
  HostInts* const from = new HostInts(4);
  gpu::copy_async(to, *from, 16, stream);
  delete from;
  CHECK_THROWS_WITH(gpu::synchronize_stream(stream), Contains("synchronize_stream failed: copy_async of 16 bytes") &&
                                                         Contains("source is memory that was freed"));
}

TEST_CASE("what release does not know is reported", "[emulation][memory]") {
  const Reset reset;
  const Ints memory(4);
  gpu::release(0, memory + 1);
  CHECK_THROWS_WITH(gpu::synchronize(0), Contains("release on cuda:0"));
  CHECK_NOTHROW(gpu::synchronize(1));
}

// ---- planted defects in kernels: each ends the program with a message that describes it

/// Without memory protection keys on this CPU, access is checked only in the test run with TANDEM_EMULATION_GUARD=1.
bool rights_are_checked() {
  if (emulation::is_memory_protected()) return true;
  WARN("SKIPPED: this processor has no memory protection keys");
  return false;
}

TEST_CASE("a kernel that uses freed memory dies at that line", "[emulation][memory][defect]") {
  const Reset reset;
  const Death death = death_of([] {
    const OwnStream stream;
    int* const memory = static_cast<int*>(gpu::allocate(0, 400));
    gpu::release(0, memory);
    set(memory, 1, 100, stream);
    gpu::synchronize_stream(stream);
  });
  CHECK(death.died);
  if (kAddressSanitizer) {
    CHECK_THAT(death.words, Contains("use-after-poison") && Contains("emulated.h:"));
  } else {
    CHECK_THAT(death.words, Contains("kernel set touched memory of cuda:0") && Contains("was freed"));
  }
}
TEST_CASE("a kernel that writes out of bounds dies at that line", "[emulation][memory][defect]") {
  const Reset reset;
  // Unless AddressSanitizer is used, only whole pages are protected.
  const size_t beyond = kAddressSanitizer ? 100 : kPage / sizeof(int);
  const Death death = death_of([=] {
    const OwnStream stream;
    int* const memory = static_cast<int*>(gpu::allocate(0, 400));
    set(memory + beyond, 1, 1, stream);
    gpu::synchronize_stream(stream);
  });
  CHECK(death.died);
  if (kAddressSanitizer) {
    CHECK_THAT(death.words, Contains("use-after-poison") && Contains("emulated.h:"));
  } else {
    CHECK_THAT(death.words, Contains("kernel set touched memory of cuda:0") && Contains("out of bounds"));
  }
}
TEST_CASE("a kernel that touches another device's memory dies unless they are peers", "[emulation][memory][defect]") {
  if (!rights_are_checked()) return;
  const Reset reset;
  const auto program = [] {
    const OwnStream stream;
    const Ints memory(4, 1);
    set(memory, 1, 4, stream);
    gpu::synchronize_stream(stream);
  };
  const Death death = death_of(program);
  CHECK(death.died);
  CHECK_THAT(death.words, Contains("kernel set touched memory of cuda:1") && Contains("without peer access"));
  gpu::enable_peer_access(0, 1);
  program();
}
TEST_CASE("host code that touches device memory dies", "[emulation][memory][defect]") {
  if (!rights_are_checked()) return;
  const Reset reset;
  const Death death = death_of([] {
    const Ints memory(4);
    *static_cast<volatile int*>(memory.data) = 1;
  });
  CHECK(death.died);
  CHECK_THAT(death.words, Contains("host code touched memory of cuda:0") && Contains("only kernels and copies"));
}

}  // namespace
}  // namespace tandem::test
