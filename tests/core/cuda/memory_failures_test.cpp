// Tests an emulated GPU that runs out of memory or whose runtime fails, and checks that misuse of memory is detected.
#include <cstring>
#include <future>
#include <thread>

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/fault.h"
#include "tandem/core/cuda/page_locked.h"
#include "tandem/core/cuda/streams.h"
#include "tandem/core/poison.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using test::kMiB;

namespace {

const Device kLimited("cuda:3");  // used by no other test

void* take_limited(size_t bytes, const cuda::Stream& stream) {
  const cuda::StreamGuard guard(stream);
  return cuda::allocate(kLimited, bytes);
}
void give_limited(void* data) { cuda::deallocate(kLimited, data); }
size_t reserved_limited() { return static_cast<size_t>(cuda::memory_reserved(kLimited)); }

/// Limits a device to `mebibytes` MiB while it lives.
struct Limit {
  explicit Limit(size_t mebibytes) {
    empty_cache();
    emulation::set_memory_limit(kLimited.index(), mebibytes * kMiB);
  }
  ~Limit() {
    emulation::reset_runtime();
    empty_cache();
  }
};

}  // namespace

TEST_CASE("without memory a GPU's cache is emptied, and then the error says who holds what",
          "[cuda][allocator][errors]") {
  if (!test::has_gpu()) return;
  const Limit limit(64);
  const cuda::Stream stream(kLimited), other(kLimited);
  void* const large = take_limited(30 * kMiB, stream);
  give_limited(large);
  void* const larger = take_limited(50 * kMiB, stream);  // frees the cached 30 MiB first
  REQUIRE(reserved_limited() == 50 * kMiB);
  void* const a = take_limited(3 * kMiB, stream);  // a full segment of 20 MiB would not fit
  REQUIRE(reserved_limited() == 54 * kMiB);
  void* const b = take_limited(3 * kMiB, other);
  void* const c = take_limited(100, other);
  REQUIRE(reserved_limited() == 60 * kMiB);
  give_limited(c);
  REQUIRE_THROWS_AS(take_limited(8 * kMiB, stream), OutOfMemoryError);
  REQUIRE_THROWS_WITH(take_limited(8 * kMiB, stream),
                      Contains("CUDA out of memory. Tried to allocate 8 MiB (8388608 bytes) on cuda:3. GPU 3 has a "
                               "total capacity of 64 MiB") &&
                          Contains("of which 6 MiB is free. In use: 56 MiB in 3 blocks (peak 56 MiB)") &&
                          Contains("Cached: 1 MiB of this stream and 1 MiB of other streams, largest block 1 MiB") &&
                          Contains("still used by other streams: 0 bytes") &&
                          Contains("Reserved by this process: 58 MiB") &&
                          Contains("Most in use: 1 x 50 MiB, 2 x 3 MiB"));
  give_limited(larger);
  void* const again = take_limited(8 * kMiB, stream);  // from the cached segment of `larger`
  for (void* const each : {again, a, b}) give_limited(each);
}

TEST_CASE("without memory a stream waits for another's, on the GPU", "[cuda][allocator][stream]") {
  if (!test::has_gpu()) return;
  const Limit limit(64);
  const cuda::Stream a(kLimited), b(kLimited);
  void* const first = take_limited(40 * kMiB, a);
  test::Gate gate(a);
  test::fill(first, 1, 100, a);
  give_limited(first);
  void* const second = take_limited(40 * kMiB, b);
  REQUIRE(second == first);
  test::fill(second, 2, 100, b);
  CHECK(test::stays_busy(b));
  gate.open();
  Tensor seen = core::empty_pinned({100}, kUInt8);
  gpu::copy_async(seen.raw_data(), second, 100, b.handle());
  b.synchronize();
  CHECK(seen.equal(full({100}, 2, kUInt8)));
  give_limited(second);
}

TEST_CASE("without memory the host waits for what other streams still use", "[cuda][allocator][stream]") {
  if (!test::has_gpu()) return;
  const Limit limit(64);
  const cuda::Stream a(kLimited), b(Device(kCUDA, GENERATE(3, 4)));
  if (b.device() != kLimited) cuda::enable_p2p_access(kLimited, b.device());
  void* const first = take_limited(40 * kMiB, a);
  b.wait_stream(a);
  test::fill(first, 1, 100, b);
  cuda::record_stream(kLimited, first, b);
  give_limited(first);
  void* const second = take_limited(41 * kMiB, a);
  CHECK(b.query());
  CHECK(reserved_limited() == 42 * kMiB);
  give_limited(second);
}

TEST_CASE("a call of the runtime that fails leaves the allocators as they were", "[cuda][allocator][errors]") {
  if (!test::has_gpu()) return;
  const Limit limit(1024);
  const cuda::Stream a(kLimited), b(kLimited);
  const std::string call =
      GENERATE("allocate", "create_event", "record_event", "wait_event", "is_done", "synchronize_stream");
  const int n = GENERATE(1, 2, 3);
  if (TANDEM_TEST_SANITIZED && n != 2) return;
  CAPTURE(call, n);
  const int64_t before = cuda::memory_allocated(kLimited);
  emulation::inject_call_failure(call, n);
  std::vector<void*> all;
  for (int i = 0; i < 12; ++i) try {
      const cuda::Stream& mine = i % 2 ? a : b;
      void* const data = take_limited((static_cast<size_t>(i % 4) + 1) * 5 * kMiB, mine);
      all.push_back(data);
      cuda::record_stream(kLimited, data, i % 2 ? b : a);
      if (i % 3 == 2) {
        give_limited(all.back());
        all.pop_back();
      }
      if (i == 6) cuda::empty_cache();
    } catch (const CudaError& error) {
      REQUIRE_THAT(error.what(), Contains(call) && Contains("inject_call_failure"));
    }
  for (void* const each : all) give_limited(each);
  CHECK(cuda::memory_allocated(kLimited) == before);
  emulation::reset_runtime();
  empty_cache();
  CHECK(reserved_limited() == 0);
}

TEST_CASE("page-locked memory that cannot be had is an error that says what is held", "[cuda][pinned][errors]") {
  if (!test::has_gpu()) return;
  emulation::inject_call_failure("allocate_host");
  empty_cache();
  REQUIRE_THROWS_AS(core::empty_pinned({1000}, kUInt8), CudaError);
  const MemoryStats before = page_locked_memory_stats();
  REQUIRE_THROWS_AS(core::empty_pinned({int64_t(1) << 46}, kUInt8), OutOfMemoryError);
  REQUIRE_THROWS_WITH(core::empty_pinned({int64_t(1) << 50}, kUInt8),
                      Contains("cannot allocate 1125899906842624 bytes"));
  CHECK(page_locked_memory_stats().current == before.current);
}

namespace {

/// Calls `waits` on a thread whose current device is blocked. When the runtime waits there for the device, calls
/// `other` on a second thread.
/// @return whether `other` returned while the first thread still waited
bool goes_on_beside(const std::function<void()>& waits, const std::function<void()>& other) {
  const cuda::Stream stream(Device("cuda:5"));
  std::promise<void> waiting, done;
  gpu::call_on_host(  // runs when the runtime waits for the stream
      stream.handle(), [](void* waiting) { static_cast<std::promise<void>*>(waiting)->set_value(); }, &waiting);
  test::Gate gate(stream);
  std::thread first([&] {
    const gpu::DeviceGuard guard(5);
    waits();
  });
  waiting.get_future().wait();
  std::thread second([&] {
    other();
    done.set_value();
  });
  const bool ended = done.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  gate.open();
  first.join();
  second.join();
  return ended;
}

}  // namespace

TEST_CASE("the driver may wait to lock pages, and to unlock them, while other threads get theirs",
          "[cuda][pinned][threads]") {
  if (!test::has_gpu()) return;
  const auto lock_pages = [](int64_t bytes) { core::empty_pinned({bytes}, kUInt8); };
  const int64_t before = page_locked_memory_stats().current;
  empty_page_locked_cache();
  lock_pages(1000);
  CHECK(goes_on_beside([&] { lock_pages(1 << 20); }, [&] { lock_pages(1000); }));
  CHECK(goes_on_beside([] { empty_page_locked_cache(); }, [&] { lock_pages(1000); }));
  CHECK(goes_on_beside([] { cuda::device_fault(Device("cuda:5")); }, [] { cuda::device_fault(Device("cuda:6")); }));
  CHECK(page_locked_memory_stats().current == before);
}

TEST_CASE("memory that was given back holds nothing any more", "[cuda][allocator]") {
  if (!test::has_gpu()) return;
  const cuda::Stream stream(kLimited);
  const cuda::StreamGuard guard(stream);
  const void* before = nullptr;
  {
    const Tensor x = full({1000}, 1.0, kLimited);
    before = x.raw_data();
    stream.synchronize();
  }
  const Tensor y = core::empty({1000}, kFloat32, kLimited);
  REQUIRE(y.raw_data() == before);
  CHECK(y.cpu().isnan().all().item<bool>());
}

TEST_CASE("a block used on another stream without record_stream is seen to be reused too early", "[cuda][allocator]") {
  if (!test::has_gpu()) return;
  const cuda::Stream a(kLimited), b(kLimited);
  const bool announced = GENERATE(true, false);
  if (TANDEM_ASAN && !announced) return;  // AddressSanitizer would end the program
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    emulation::set_stream_seed(seed);
    Tensor seen = core::empty_pinned({100}, kUInt8);
    {
      void* const data = take_limited(100, a);
      test::fill(data, 1, 100, a);
      b.wait_stream(a);
      gpu::copy_async(seen.raw_data(), data, 100, b.handle());
      if (announced) cuda::record_stream(kLimited, data, b);
      give_limited(data);
    }
    void* const next = take_limited(100, a);
    test::fill(next, 2, 100, a);
    give_limited(next);
    cuda::synchronize(kLimited);
    wrong += seen.data<uint8_t>()[50] != 1;
  }
  emulation::reset_runtime();
  CHECK((wrong > 0) == !announced);
}
