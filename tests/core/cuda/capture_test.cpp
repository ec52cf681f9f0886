// Tests the resources of CUDA Graphs: memory of their pools, streams, page-locked memory, and the runtime's errors.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gpu.h"
#include "tandem/core/cuda/allocator.h"
#include "tandem/tandem.h"

namespace tandem::test {
namespace {

Tensor filled(Shape sizes, double value) { return full(sizes, value, TensorOptions(kGpu)); }

TEST_CASE("a graph's memory is its own until it is reset", "[graph][cuda][allocator][one_thread]") {
  if (!has_gpu()) return;
  cuda::synchronize(kGpu);
  empty_cache();
  const int64_t reserved_before = cuda::memory_reserved(kGpu);
  // Under a sanitizer one seed takes half a minute.
  const StreamSeed seed(TANDEM_TEST_SANITIZED ? 3 : GENERATE(0, 3, 5));
  {
    const Tensor x = filled({1000, 1000}, 1);
    Tensor y;
    Graph graph;
    const int64_t allocated = cuda::memory_allocated(kGpu);
    graph.capture([&] {
      Tensor a = x + 1;  // each sum may reuse the memory of the one before its input
      for (int i = 0; i < 10; ++i) a = a + 1;
      y = a;
    });
    CHECK(cuda::memory_allocated(kGpu) == allocated + y.nbytes());
    CHECK(graph.summary().gpu_bytes > 0);
    CHECK(graph.summary().gpu_bytes < 6 * y.nbytes());
    CHECK((graph.pool() != cuda::MempoolId_t{}));
    for (int i = 0; i < (TANDEM_TEST_SANITIZED ? 1 : 3); ++i) {
      graph.replay();
      std::vector<Tensor> others;  // must not get the memory of the graph's temporaries
      for (int k = 0; k < 5; ++k) others.push_back(filled({1000, 1000}, -1));
      empty_cache();
      graph.replay();
      for (const Tensor& other : others) CHECK(other.equal(filled({1000, 1000}, -1)));
      CHECK(y.equal(filled({1000, 1000}, 12)));
    }
    const int64_t held = graph.summary().gpu_bytes, reserved = cuda::memory_reserved(kGpu);
    empty_cache();
    CHECK(cuda::memory_reserved(kGpu) >= held);
    graph.reset();
    CHECK(y.equal(filled({1000, 1000}, 12)));  // a tensor outlives the graph
    y = Tensor();
    empty_cache();
    CHECK(cuda::memory_reserved(kGpu) <= reserved - held);
  }
  empty_cache();
  CHECK(cuda::memory_reserved(kGpu) == reserved_before);
}

TEST_CASE("graphs share a pool, and are replayed in turn", "[graph][cuda][allocator][one_thread]") {
  if (!has_gpu()) return;
  const cuda::MempoolId_t pool = cuda::graph_pool_handle();
  const Tensor x = filled({1000, 1000}, 1);
  Tensor a, b;
  Graph first, second, third;
  first.capture_begin(pool);
  a = (x + 1) + (x + 2);
  first.capture_end();
  CHECK(first.pool() == pool);
  const int64_t bytes = first.summary().gpu_bytes;
  second.capture_begin(first.pool());
  b = (a + 1) + (a + 2);
  second.capture_end();
  // Reuses the memory of the first graph's temporaries.
  CHECK(second.summary().gpu_bytes <= bytes + b.nbytes() + int64_t(2 * kMiB));
  third.capture([&] { (x + 1).add_(1); });
  CHECK(third.pool() != pool);
  for (int i = 0; i < 2; ++i) {
    first.replay();
    second.replay();
    CHECK(b.equal(filled({1000, 1000}, 13)));
  }
  first.reset();
  second.replay();  // the graph keeps its input and the pool alive
  CHECK(b.equal(filled({1000, 1000}, 13)));
  first.capture_begin(pool);
  Graph other;
  CHECK_THROWS_WITH(other.capture_begin({1, 1}), Contains("a capture is under way"));
  first.capture_end();
  CHECK_THROWS_WITH(other.capture_begin({1, 1}), Contains("the pool is {1, 1}"));
}

TEST_CASE("a capture is on the stream that is current, and others join it", "[graph][cuda][streams]") {
  if (!has_gpu()) return;
  const StreamSeed seed(GENERATE(0, 1, 2, 3, 5, 7));
  const cuda::Stream own(kGpu), side(kGpu), later(kGpu);
  Tensor x = filled({100}, 1), y, z;
  own.wait_stream(cuda::current_stream());
  Graph graph;
  {
    const cuda::StreamGuard guard(own);
    graph.capture([&] {
      CHECK(cuda::current_stream() == own);
      x.add_(1);
      side.wait_stream(cuda::current_stream());
      {
        const cuda::StreamGuard beside(side);
        y = x * 10;
        y = y + 1;
      }
      z = x * 100;
      cuda::current_stream().wait_stream(side);
      z = z + y;
    });
    graph.replay();
  }
  later.wait_stream(own);
  {
    const cuda::StreamGuard guard(later);
    graph.replay();  // runs after the first replay, though on another stream
    CHECK(z.equal(filled({100}, 331)));
    CHECK_THROWS_WITH(graph.capture([&] {
      x.add_(1);
      // This stream does not wait for the captured one, so it is not part of the capture.
      const cuda::StreamGuard beside(side);
      y = x * 10;
    }),
                      Contains("its stream on cuda:0 is not part of the capture"));
    CHECK_THROWS_WITH(graph.capture([&] {
      x.add_(1);
      side.wait_stream(cuda::current_stream());
      const cuda::StreamGuard beside(side);  // the captured stream does not wait for this one
      x.add_(1);
    }),
                      Contains("cudaErrorStreamCaptureUnjoined"));
    x.add_(1);
    CHECK(x.equal(filled({100}, 4)));
  }
}

TEST_CASE("page-locked memory is read and written by replays, other host memory refused", "[graph][cuda]") {
  if (!has_gpu()) return;
  Tensor batch = full({16}, 2.0).pin_memory(), out = zeros({16}).pin_memory();
  Tensor x = filled({16}, 0), y;
  Graph graph;
  graph.capture([&] {
    x.copy_(batch, /*non_blocking=*/true);
    y = x * 3;
    out.copy_(y, /*non_blocking=*/true);
  });
  for (int i = 1; i <= 3; ++i) {
    batch.fill_(i);
    graph.replay();
    cuda::synchronize(kGpu);
    CHECK(out.equal(full({16}, 3.0 * i)));
  }
}

TEST_CASE("what is given back during a capture waits for streams of the capture", "[graph][cuda][allocator]") {
  if (!has_gpu()) return;
  const StreamSeed seed(GENERATE(0, 1, 2, 3));
  const cuda::Stream side(kGpu);
  constexpr size_t kBytes = 3 * kMiB;
  void* const eager = cuda::allocate(kGpu, kBytes);  // used by the default stream and by a capturing one
  Tensor x = filled({4}, 1), y;
  Graph graph;
  void *first = nullptr, *second = nullptr;
  graph.capture([&] {
    x.add_(1);
    side.wait_stream(cuda::current_stream());
    cuda::record_stream(kGpu, eager, side);
    cuda::deallocate(kGpu, eager);
    first = cuda::allocate(kGpu, kBytes);
    cuda::record_stream(kGpu, first, side);
    cuda::deallocate(kGpu, first);
    second = cuda::allocate(kGpu, kBytes);
    cuda::deallocate(kGpu, second);
    CHECK(cuda::allocate(kGpu, kBytes) == second);
    cuda::deallocate(kGpu, second);
    cuda::current_stream().wait_stream(side);
  });
  CHECK(first != eager);
  CHECK(second != first);
  graph.replay();
  cuda::synchronize(kGpu);
  empty_cache();  // must not query events that belong to the capture
  CHECK(x.equal(filled({4}, 2)));
}

TEST_CASE("another thread goes on while a Graph records", "[graph][cuda][parallel]") {
  if (!has_gpu()) return;
  const Tensor x = filled({1000}, 1);
  Tensor y;
  Graph graph;
  std::atomic<int> steps{0};
  std::atomic<bool> stop{false}, right{true};
  std::thread other([&] {  // this thread allocates and queries its own memory
    const cuda::Stream stream(kGpu);
    const cuda::StreamGuard guard(stream);
    while (!stop) {
      Tensor z = filled({1000}, 2) + filled({1000}, 3);
      z.record_stream(cuda::default_stream());
      if (z.sum().item<double>() != 5000) right = false, stop = true;
      z = Tensor();
      if (++steps % 10 == 0) empty_cache();
    }
  });
  try {
    for (int i = 0; i < 20; ++i) {
      graph.capture([&] {
        Tensor z = x;
        for (int k = 0; k < 20; ++k) z = z + 1;
        y = z;
        empty_cache();  // has nothing to free during a capture
      });
      graph.replay();
      CHECK(y.equal(filled({1000}, 21)));
    }
  } catch (...) {
    stop = true;
    other.join();
    throw;
  }
  while (steps < 20 && !stop) std::this_thread::yield();
  stop = true;
  other.join();
  CHECK(right);
}

#if TANDEM_TEST_EMULATED
TEST_CASE("an error of the runtime in a capture or a replay leaves all usable", "[graph][cuda][errors]") {
  const Tensor x = filled({4}, 1);
  Tensor y;
  const auto step = [&] { y = (x * 2 + 1).sum(); };
  step();
  for (const char* call : {"begin_capture", "launch", "end_capture", "is_capturing", "allocate"}) {
    CAPTURE(call);
    Graph graph;
    if (call == std::string("allocate")) empty_cache();
    emulation::inject_call_failure(call);
    CHECK_THROWS_WITH(graph.capture(step), Contains("requested by emulation::inject_call_failure"));
    CHECK_FALSE(cuda::is_current_stream_capturing());
    graph.capture(step);
    emulation::inject_call_failure("launch_graph");
    CHECK_THROWS_WITH(graph.replay(), Contains("requested by emulation::inject_call_failure"));
    graph.replay();
    CHECK(y.item<double>() == 12);
  }
}

TEST_CASE("a capture without memory for it fails as an allocation does", "[graph][cuda][errors]") {
  const Tensor x = full({int64_t(kMiB)}, 1.0, TensorOptions(kGpu));
  cuda::synchronize(kGpu);
  empty_cache();
  emulation::set_memory_limit(0, static_cast<size_t>(cuda::memory_reserved(kGpu)) + 30 * kMiB);
  std::vector<Tensor> made;
  Graph graph;
  const auto step = [&] {
    for (int i = 0; i < 20; ++i) {
      made.push_back(empty_like(x));
      made.back().narrow(0, 0, 8).fill_(2);
    }
  };
  CHECK_THROWS_AS(graph.capture(step), OutOfMemoryError);
  CHECK_FALSE(cuda::is_current_stream_capturing());
  made.clear();
  CHECK_THROWS_AS(step(), OutOfMemoryError);
  made.clear();
  emulation::set_memory_limit(0, size_t(1) << 30);
  graph.capture(step);
  graph.replay();
  CHECK(made.back().narrow(0, 0, 8).equal(full({8}, 2.0, TensorOptions(kGpu))));
}
#endif

}  // namespace
}  // namespace tandem::test
