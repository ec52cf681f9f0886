// Tests stream capture of the emulated runtime: the work recorded in a graph, the work that a launch runs, and calls
// that CUDA refuses during capture.
#include <atomic>
#include <functional>
#include <thread>

#include "../catch.h"
#include "emulated.h"

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::test {
namespace {

struct OwnGraph {
  gpu::GraphHandle handle;
  explicit OwnGraph(gpu::GraphHandle graph) : handle(graph) {}
  OwnGraph(const OwnGraph&) = delete;
  ~OwnGraph() { gpu::destroy_graph(handle); }
  operator gpu::GraphHandle() const { return handle; }
};
gpu::GraphHandle capture(gpu::StreamHandle stream, const std::function<void()>& work) {
  gpu::begin_capture(stream);
  work();
  return gpu::end_capture(stream);
}
/// Makes `to` wait for the work that is now on `from`.
void wait_for(gpu::StreamHandle to, gpu::StreamHandle from) {
  const OwnEvent event(from->device);
  gpu::record_event(event, from);
  gpu::wait_event(to, event);
}

TEST_CASE("what is captured runs when the graph is launched, each time", "[emulation][capture]") {
  const Reset reset;
  emulation::set_stream_seed(GENERATE(0, 1, 2, 3));
  const OwnStream stream, other;
  const Ints memory(2);
  const HostInts host(2);
  std::atomic<int> calls{0};
  set(memory, 1, 2, stream);
  gpu::synchronize_stream(stream);
  const OwnGraph graph(capture(stream, [&] {
    CHECK(gpu::is_capturing(stream));
    CHECK_FALSE(gpu::is_capturing(other));
    add(memory, memory, 10, 1, stream);
    gpu::copy_async(memory + 1, memory, 4, stream);
    gpu::copy_async(host, memory, 8, stream);
    gpu::fill_bytes_async(memory, 0, 4, stream);
    gpu::call_on_host(
        stream, [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &calls);
    CHECK(emulation::num_pending_items(0) == 0);
  }));
  CHECK_FALSE(gpu::is_capturing(stream));
  CHECK(read(memory, 2, stream) == std::vector<int>{1, 1});
  gpu::launch_graph(graph, other);
  CHECK(read(memory, 2, other) == std::vector<int>{0, 11});
  CHECK(host[1] == 11);
  set(memory, 5, 1, other);
  gpu::launch_graph(graph, other);
  gpu::launch_graph(graph, stream);  // runs after the other launch, though on another stream
  gpu::synchronize(0);
  CHECK(read(memory, 2, stream) == std::vector<int>{0, 10});
  CHECK(calls == 3);
}

TEST_CASE("launches keep the order of their stream, and a graph that is gone still runs", "[emulation][capture]") {
  const Reset reset;
  emulation::set_stream_seed(GENERATE(0, 1, 2, 3, 5));
  const OwnStream stream;
  const Ints memory(1);
  const int factor = 3;
  {
    const OwnGraph graph(capture(stream, [&] { add(memory, memory, factor, 1, stream); }));
    set(memory, 1, 1, stream);
    gpu::launch_graph(graph, stream);
    add(memory, memory, 100, 1, stream);
    gpu::launch_graph(graph, stream);
  }
  CHECK(read_one(memory, stream) == 107);
}

TEST_CASE("streams that wait for a captured event take part until they are waited for", "[emulation][capture]") {
  const Reset reset;
  const uint64_t seed = GENERATE(Catch::Generators::range(0, 24));
  emulation::set_stream_seed(seed);
  const OwnStream stream, side(0), far(1), on;
  const Ints memory(4), away(1, 1);
  const OwnGraph graph(capture(stream, [&] {
    add(memory, memory, 1, 1, stream);
    wait_for(side, stream);
    wait_for(far, stream);
    CHECK(gpu::is_capturing(far));
    add(memory + 1, memory, 10, 1, side);  // may run concurrently with the kernel on `stream`
    gpu::copy_peer_async(away, 1, memory, 0, 4, far);
    add(away, away, 100, 1, far);
    add(memory + 2, memory, 20, 1, stream);
    wait_for(stream, side);
    wait_for(stream, far);
    gpu::copy_peer_async(memory + 3, 0, away, 1, 4, stream);
    add(memory + 2, memory + 1, 1000, 1, stream);
  }));
  CHECK_FALSE(gpu::is_capturing(far));
  set(memory, 0, 4, on);
  for (int i = 1; i <= 3; ++i) {
    gpu::launch_graph(graph, on);
    CHECK(read(memory, 4, on) == std::vector<int>{i, i + 10, i + 1010, i + 100});
  }
}

TEST_CASE("work of a graph runs in any order that its events permit", "[emulation][capture]") {
  const Reset reset;
  bool first = false, last = false;
  for (uint64_t seed = 1; seed < 50; ++seed) {
    emulation::set_stream_seed(seed);
    const OwnStream stream, side;
    const Ints memory(1);
    const OwnGraph graph(capture(stream, [&] {
      wait_for(side, stream);
      set(memory, 1, 1, side);
      set(memory, 2, 1, stream);  // race: either value may be written last
      wait_for(stream, side);
    }));
    gpu::launch_graph(graph, stream);
    (read_one(memory, stream) == 1 ? first : last) = true;
  }
  CHECK(first);
  CHECK(last);
}

TEST_CASE("two threads capture at once", "[emulation][capture][threads]") {
  const Reset reset;
  emulation::set_stream_seed(GENERATE(0, 1, 2));
  std::vector<int> results(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t, &results] {
      const int device = t % 2;
      const OwnStream stream(device);
      const Ints memory(1, device);
      set(memory, t, 1, stream);
      const OwnGraph graph(capture(stream, [&] {
        for (int i = 0; i < 10; ++i) add(memory, memory, 1, 1, stream);
        std::this_thread::yield();
      }));
      for (int i = 0; i < 5; ++i) gpu::launch_graph(graph, stream);
      results[static_cast<size_t>(t)] = read_one(memory, stream);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<int>{50, 51, 52, 53});
}

TEST_CASE("what CUDA refuses to a capture is refused, and invalidates it", "[emulation][capture]") {
  const Reset reset;
  const OwnStream stream, other, late;
  const OwnEvent event, before, timed(0, true);
  const Ints memory(1);
  const HostInts host(1);
  std::vector<int> pageable(1);
  gpu::record_event(before, other);
  struct Refused {
    const char* name;
    const char* error;
    std::function<void()> call;
  };
  const char* const unsupported = "cudaErrorStreamCaptureUnsupported";
  const std::vector<Refused> all = {
      {"synchronize", unsupported, [&] { gpu::synchronize(0); }},
      {"synchronize_stream", unsupported, [&] { gpu::synchronize_stream(stream); }},
      {"synchronize_stream", unsupported, [&] { gpu::synchronize_stream(other); }},
      {"is_done", unsupported, [&] { gpu::is_done(stream); }},
      {"is_done", unsupported, [&] { gpu::is_done(other); }},
      {"is_done", unsupported, [&] { gpu::is_done(before); }},
      {"synchronize_event", unsupported, [&] { gpu::synchronize_event(before); }},
      {"allocate", unsupported, [] { gpu::allocate(0, 16); }},
      {"allocate_host", unsupported, [] { gpu::allocate_host(16); }},
      {"copy_async", unsupported, [&] { gpu::copy_async(memory, pageable.data(), 4, stream); }},
      {"copy_async", unsupported, [&] { gpu::copy_async(pageable.data(), memory, 4, stream); }},
      {"is_done", "cudaErrorCapturedEvent",
       [&] {
         gpu::record_event(event, stream);
         gpu::is_done(event);
       }},
      {"synchronize_event", "cudaErrorCapturedEvent",
       [&] {
         gpu::record_event(event, stream);
         gpu::synchronize_event(event);
       }},
      {"elapsed_milliseconds", "cudaErrorCapturedEvent",
       [&] {
         gpu::record_event(timed, stream);
         gpu::elapsed_milliseconds(timed, timed);
       }},
      {"wait_event", "cudaErrorStreamCaptureIsolation", [&] { gpu::wait_event(stream, before); }},
      {"begin_capture", "cudaErrorIllegalState", [&] { gpu::begin_capture(stream); }},
      {"wait_event", "cudaErrorStreamCaptureMerge",
       [&] {
         gpu::begin_capture(late);
         gpu::record_event(event, late);
         gpu::wait_event(stream, event);
       }},
      {"join", unsupported, [&] { emulation::StreamBarrier("join", 1, [] {}).join(stream); }},
  };
  for (const Refused& each : all) {
    CAPTURE(each.name, each.error);
    gpu::begin_capture(stream);
    set(memory, 1, 1, stream);
    CHECK_THROWS_WITH(each.call(), Contains(each.name) && Contains(each.error));
    CHECK(gpu::is_capturing(stream));
    CHECK_THROWS_WITH(set(memory, 1, 1, stream), Contains("cudaErrorStreamCaptureInvalidated"));
    CHECK_THROWS_WITH(gpu::record_event(event, stream), Contains("cudaErrorStreamCaptureInvalidated"));
    CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureInvalidated"));
    CHECK_FALSE(gpu::is_capturing(stream));
    if (gpu::is_capturing(late)) CHECK_THROWS_WITH(gpu::end_capture(late), Contains("CaptureInvalidated"));
    set(memory, 7, 1, stream);  // the stream works as before
    CHECK(read_one(memory, stream) == 7);
    gpu::record_event(event, stream);
    CHECK_FALSE((gpu::is_done(event), false));
  }
  // release() reports no error. The capture reports it when it ends.
  for (const bool on_host : {false, true}) {
    void* const block = on_host ? gpu::allocate_host(16) : gpu::allocate(0, 16);
    const auto give_back = [&] { on_host ? gpu::release_host(block) : gpu::release(0, block); };
    gpu::begin_capture(stream);
    give_back();
    CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureInvalidated"));
    give_back();
  }
}

TEST_CASE("a capture ends where it began, with all its streams", "[emulation][capture]") {
  const Reset reset;
  const OwnStream stream, side;
  const OwnEvent event;
  const Ints memory(1);
  CHECK_THROWS_WITH(gpu::begin_capture(nullptr), Contains("cudaErrorStreamCaptureUnsupported"));
  CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorIllegalState"));

  gpu::begin_capture(stream);
  wait_for(side, stream);
  set(memory, 1, 1, side);
  CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureUnjoined") && Contains("kernel set"));
  CHECK_FALSE(gpu::is_capturing(side));

  gpu::begin_capture(stream);
  wait_for(side, stream);
  CHECK_THROWS_WITH(gpu::end_capture(side), Contains("cudaErrorStreamCaptureUnmatched"));
  CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureInvalidated"));

  gpu::begin_capture(stream);
  std::thread([&] {
    CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureWrongThread"));
  }).join();
  gpu::record_event(event, stream);
  gpu::destroy_graph(gpu::end_capture(stream));
  CHECK_THROWS_WITH(gpu::wait_event(side, event), Contains("cudaErrorCapturedEvent"));
  CHECK_THROWS_WITH(gpu::is_done(event), Contains("cudaErrorCapturedEvent"));
  gpu::record_event(event, stream);  // usable like any other event again
  gpu::wait_event(side, event);
  gpu::synchronize_stream(side);

  const OwnGraph graph(capture(stream, [&] { set(memory, 1, 1, stream); }));
  gpu::begin_capture(stream);
  CHECK_THROWS_WITH(gpu::launch_graph(graph, stream), Contains("cudaErrorStreamCaptureUnsupported"));
  CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureInvalidated"));
}

TEST_CASE("a capture of one thread forbids another little", "[emulation][capture][threads]") {
  const Reset reset;
  const OwnStream stream, other;
  const Ints memory(2);
  gpu::begin_capture(stream);
  set(memory, 1, 1, stream);
  std::thread([&] {
    const Ints mine(1);
    const HostInts host(1);
    set(mine, 3, 1, other);
    CHECK(read_one(mine, other) == 3);
    set(memory + 1, 2, 1, stream);  // recorded into the capture
  }).join();
  {
    const gpu::UnsafeCallsGuard guard;  // allows unsafe calls in the capturing thread
    const Ints mine(1);
    gpu::synchronize_stream(other);
  }
  const OwnGraph graph(gpu::end_capture(stream));
  gpu::launch_graph(graph, stream);
  CHECK(read(memory, 2, stream) == std::vector<int>{1, 2});

  gpu::begin_capture(stream);
  std::thread([] {
    CHECK_THROWS_WITH(gpu::synchronize(0), Contains("cudaErrorStreamCaptureUnsupported"));
    gpu::synchronize(1);
  }).join();
  CHECK_THROWS_WITH(gpu::end_capture(stream), Contains("cudaErrorStreamCaptureInvalidated"));
}

TEST_CASE("a launch fails where memory of the graph is gone", "[emulation][capture][defect]") {
  const Reset reset;
  const OwnStream stream;
  auto memory = std::make_unique<Ints>(1);
  const HostInts host(1);
  const OwnGraph graph(capture(stream, [&] { gpu::copy_async(host, *memory, 4, stream); }));
  memory.reset();
  gpu::launch_graph(graph, stream);
  CHECK_THROWS_WITH(gpu::synchronize_stream(stream), Contains("copy_async of 4 bytes") && Contains("source is"));
}

}  // namespace
}  // namespace tandem::test
