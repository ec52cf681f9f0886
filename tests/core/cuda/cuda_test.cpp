// Tests streams, events, and page-locked memory.
#include "tandem/core/cuda/cuda.h"

#include <thread>

#include "tandem/core/allocator.h"
#include "tandem/core/cuda/page_locked.h"
#include "tandem/ops/factory/arange.h"
#include "tandem/ops/factory/empty.h"
#include "tandem/ops/factory/eye.h"
#include "tandem/ops/factory/linspace.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/random/randint.h"
#include "tandem/ops/random/randperm.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/core/cuda/gpu.h"

using namespace tandem;
using test::kGpu;

namespace {

/// Fills x with a byte value on a stream.
void fill(const Tensor& x, int value, const cuda::Stream& stream) {
  test::fill(x.raw_data(), value, static_cast<size_t>(x.nbytes()), stream);
}
Tensor bytes_on(Device device) { return core::empty({1000}, kUInt8, device); }

}  // namespace

TEST_CASE("the current stream is the device's default, or what the innermost guard names", "[cuda][stream]") {
  if (!test::has_gpu()) return;
  const cuda::Stream first = cuda::current_stream();
  CHECK(first == cuda::default_stream(kGpu));
  const cuda::Stream a(kGpu), b(kGpu);
  CHECK_FALSE(a == b);
  {
    const cuda::StreamGuard outer(a);
    CHECK(cuda::current_stream() == a);
    {
      const cuda::StreamGuard inner(b);
      CHECK(cuda::current_stream() == b);
      CHECK(cuda::default_stream() == first);
    }
    CHECK(cuda::current_stream() == a);
    std::thread([&] { CHECK(cuda::current_stream() == first); }).join();
    std::thread([context = ThreadContext::current(), &a] {
      const ThreadContextGuard guard(context);
      CHECK(cuda::current_stream() == a);
    }).join();
    if (cuda::device_count() > 1) {
      const Device second("cuda:1");
      CHECK(cuda::current_stream(second) == cuda::default_stream(second));
      const cuda::Stream there(second);
      const cuda::StreamGuard inner(there);
      CHECK(cuda::current_stream(second) == there);
      CHECK(cuda::current_stream(kGpu) == a);
    }
  }
  CHECK(cuda::current_stream() == first);
  REQUIRE_THROWS_WITH(cuda::current_stream(Device("cpu")), Contains("accepted: a CUDA device"));
  REQUIRE_THROWS_WITH(cuda::Stream(Device("cuda:63")), Contains("cuda:63"));
}

TEST_CASE("a stream that nobody names any more is kept for the next", "[cuda][stream]") {
  if (!test::has_gpu()) return;
  std::vector<cuda::Stream> all;
  all.reserve(200);
  for (int i = 0; i < 100; ++i) {
    const cuda::Stream one(kGpu, /*high_priority=*/i % 2 == 0);
    CHECK(one.priority() == (i % 2 == 0 ? -1 : 0));
    const bool known = std::find(all.begin(), all.end(), one) != all.end();
    if (!known) all.push_back(one);
  }
  CHECK(all.size() == 100);  // streams are reused only after all handles to them are gone
  std::vector<gpu::StreamHandle> handles;
  for (const cuda::Stream& each : all) handles.push_back(each.handle());
  all.clear();
  const cuda::Stream again(kGpu);
  CHECK(std::find(handles.begin(), handles.end(), again.handle()) != handles.end());
}

TEST_CASE("streams wait for each other, and the host for them", "[cuda][stream]") {
  if (!test::has_gpu()) return;
  const cuda::Stream a(kGpu), b(kGpu);
  const Tensor x = bytes_on(kGpu), y = bytes_on(kGpu);
  a.wait_stream(cuda::current_stream());  // the memory of x and y belongs to the current stream
  cuda::Event event;
  CHECK(event.query());
  event.synchronize();
  {
    test::Gate gate(a);
    fill(x, 7, a);
    event.record(a);
    b.wait_event(event);
    gpu::copy_async(y.raw_data(), x.raw_data(), 1000, b.handle());
    CHECK(test::stays_busy(a));
    CHECK(test::stays_busy(b));
    CHECK_FALSE(event.query());
    gate.open();
    b.synchronize();
    CHECK(event.query());
    CHECK(b.query());
  }
  const cuda::StreamGuard guard(b);
  CHECK(y.cpu().equal(full({1000}, 7, kUInt8)));
  a.wait_stream(a);
  b.wait_stream(a);
  cuda::synchronize(kGpu);
  CHECK(a.query());
}

TEST_CASE("events with timing measure", "[cuda][stream]") {
  if (!test::has_gpu()) return;
  const cuda::Stream stream(kGpu);
  cuda::Event start(true), end(true), without;
  start.record(stream);
  const cuda::StreamGuard guard(stream);
  fill(bytes_on(kGpu), 1, stream);
  end.record(stream);
  end.synchronize();
  CHECK(start.elapsed_time(end) >= 0);
  without.record(stream);
  REQUIRE_THROWS_WITH(start.elapsed_time(without), Contains("enable_timing"));
}

TEST_CASE("tensors go to page-locked memory", "[cuda][pinned]") {
  if (!test::has_gpu()) {
    REQUIRE_THROWS_WITH(zeros({2}).pin_memory(), Contains("page-locked") && Contains(gpu::unavailable_reason()));
    REQUIRE_THROWS_AS(zeros({2}, TensorOptions().pinned_memory(true)), Error);
    REQUIRE_FALSE(zeros({2}).is_pinned());
    return;
  }
  const Tensor x = arange(6).view({2, 3});
  CHECK_FALSE(x.is_pinned());
  const Tensor pinned = x.t().pin_memory();
  CHECK(pinned.is_pinned());
  CHECK(pinned.is_cpu());
  CHECK(pinned.equal(x.t()));
  CHECK(pinned.pin_memory().is_same(pinned));
  CHECK(pinned[1].is_pinned());
  const TensorOptions options = TensorOptions(kFloat64).pinned_memory(true);
  CHECK(zeros({3}, options).is_pinned());
  CHECK(full({3}, 2, pinned_memory()).sum().item<float>() == 6);
  CHECK(randn({3}, options).is_pinned());
  CHECK(randint(5, {3}, options).is_pinned());
  CHECK(arange(5, options).is_pinned());
  CHECK(linspace(0, 1, 3, options).is_pinned());
  CHECK(eye(3, options).is_pinned());
  CHECK(randperm(4, TensorOptions().pinned_memory(true)).is_pinned());
  CHECK(tensor({1, 2, 3}, options).is_pinned());
  CHECK(empty_like(x, options).is_pinned());
  CHECK(x.to(options).is_pinned());
  CHECK(x.to(options).dtype() == kFloat64);
  CHECK_FALSE(pinned.clone().is_pinned());
  REQUIRE_THROWS_WITH(zeros({3}, options.device(kCUDA)), Contains("accepted: a CPU device"));
  REQUIRE_THROWS_WITH(bytes_on(kGpu).pin_memory(), Contains("only dense CPU tensors can be pinned"));
  REQUIRE_THROWS_WITH(x.record_stream(cuda::current_stream()), Contains("page-locked"));
  Tensor w = ones({2}).requires_grad_();
  (w.pin_memory() * 3).sum().backward();
  CHECK(w.grad().equal(full({2}, 3.0)));
}

TEST_CASE("freed page-locked memory waits for the copies that use it", "[cuda][pinned]") {
  if (!test::has_gpu()) return;
  empty_cache();
  const int64_t before = page_locked_memory_stats().current;
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  const Tensor y = bytes_on(kGpu);
  { const Tensor one = core::empty_pinned({1000}, kUInt8), other = core::empty_pinned({1000}, kUInt8); }
  {
    test::Gate gate(stream);  // locking pages would wait for this stream, so the two cached blocks are used
    void* first = nullptr;
    {
      Tensor x = core::empty_pinned({1000}, kUInt8);
      first = x.raw_data();
      x.fill_(5);
      Tensor target = y;
      target.copy_(x, /*non_blocking=*/true);
      CHECK(page_locked_memory_stats().current == before + 1000);
    }
    CHECK(page_locked_memory_stats().current == before);
    Tensor next = core::empty_pinned({1000}, kUInt8);
    CHECK(next.raw_data() != first);
    next.fill_(6);
    gate.open();
    stream.synchronize();
    const Tensor last = core::empty_pinned({1000}, kUInt8);
    CHECK(last.raw_data() == first);
  }
  CHECK(y.cpu().equal(full({1000}, 5, kUInt8)));
  const Tensor dropped = core::empty_pinned({1000}, kUInt8);
  dropped.record_stream(stream);
  CHECK(page_locked_memory_stats().reserved >= 1024);
  empty_cache();
  CHECK(page_locked_memory_stats().reserved >= 1024);  // one block is in use
}
