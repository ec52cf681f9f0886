// Tests the emulated runtime's streams, events and stream barriers, with one host thread and with several.
#include <atomic>
#include <thread>

#include "../catch.h"
#include "emulated.h"

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::test {
namespace {

TEST_CASE("nothing runs before the host waits", "[emulation][streams]") {
  const Reset reset;
  const OwnStream one, two;
  const HostInts host(2);
  host[0] = host[1] = 0;
  set(host, 1, 1, one);
  set(host + 1, 2, 1, two);
  CHECK(emulation::num_pending_items(0) == 2);
  CHECK(emulation::num_pending_items(1) == 0);
  CHECK(host[0] == 0);
  gpu::synchronize_stream(one);
  CHECK(host[0] == 1);
  CHECK(host[1] == 0);  // no call has waited for this stream
  CHECK(emulation::num_pending_items(0) == 1);
  gpu::synchronize(0);
  CHECK(host[1] == 2);
  CHECK(emulation::num_pending_items(0) == 0);
}

TEST_CASE("a wait brings in what the event recorded, and no more", "[emulation][streams]") {
  const Reset reset;
  const OwnStream producer, consumer;
  const OwnEvent event;
  const Ints memory(1);
  set(memory, 1, 1, producer);
  gpu::record_event(event, producer);
  set(memory, 2, 1, producer);  // after the event was recorded
  gpu::wait_event(consumer, event);
  CHECK(read_one(memory, consumer) == 1);
  CHECK(gpu::is_done(event));
  CHECK_FALSE(gpu::is_done(producer));
  CHECK(read_one(memory, producer) == 2);
}

TEST_CASE("a wait is for what was recorded when it was made", "[emulation][streams]") {
  const Reset reset;
  const OwnStream producer, consumer;
  const OwnEvent event;
  const Ints memory(1);
  set(memory, 0, 1, producer);
  gpu::wait_event(consumer, event);  // the event was never recorded, so no wait
  gpu::synchronize_stream(consumer);
  CHECK(emulation::num_pending_items(0) == 1);
  CHECK(gpu::is_done(event));
  gpu::synchronize_event(event);

  set(memory, 1, 1, producer);
  gpu::record_event(event, producer);
  gpu::wait_event(consumer, event);
  set(memory, 2, 1, producer);
  gpu::record_event(event, producer);  // recording again does not change the earlier wait
  CHECK(read_one(memory, consumer) == 1);
  gpu::synchronize_event(event);
  CHECK(read_one(memory, consumer) == 2);
}

TEST_CASE("asking whether work is done says no at first, and comes to an end", "[emulation][streams]") {
  const Reset reset;
  const OwnStream stream;
  const OwnEvent event;
  const Ints memory(1);
  for (int i = 0; i < 5; ++i) set(memory, i, 1, stream);
  gpu::record_event(event, stream);
  int asked = 0;
  while (!gpu::is_done(event)) ++asked;
  CHECK(asked == 6);
  CHECK(gpu::is_done(stream));
  set(memory, 9, 1, stream);
  CHECK_FALSE(gpu::is_done(stream));
  CHECK(gpu::is_done(stream));
  CHECK(gpu::is_done(event));
}

TEST_CASE("events measure time and refuse what they cannot", "[emulation][streams]") {
  const Reset reset;
  const OwnStream stream;
  const OwnEvent start(0, true), end(0, true), plain, other(1);
  const Ints memory(1);
  CHECK_THROWS_WITH(gpu::elapsed_milliseconds(start, end), Contains("not recorded"));
  gpu::record_event(start, stream);
  set(memory, 1, 1, stream);
  gpu::record_event(end, stream);
  CHECK_THROWS_WITH(gpu::elapsed_milliseconds(start, end), Contains("has not completed"));
  gpu::synchronize_event(end);
  CHECK(gpu::elapsed_milliseconds(start, end) > 0);
  CHECK(gpu::elapsed_milliseconds(end, end) == 0);
  CHECK_THROWS_WITH(gpu::elapsed_milliseconds(start, plain), Contains("without timing"));
  CHECK_THROWS_WITH(gpu::record_event(other, stream), Contains("the event belongs to cuda:1 and the stream to cuda:0"));
}

TEST_CASE("copies of pageable memory happen when the stream gets there", "[emulation][streams][defect]") {
  const Reset reset;
  const OwnStream stream;
  const Ints memory(2);
  std::vector<int> values{1, 2};
  gpu::copy_async(memory, values.data(), 8, stream);
  values = {8, 9};  // a program error: overwritten before the copy has read it, which shows
  add(memory, memory, 10, 2, stream);
  CHECK(emulation::num_pending_items(0) == 2);
  gpu::copy_async(values.data(), memory, 8, stream);
  CHECK(values == std::vector<int>{8, 9});
  gpu::synchronize_stream(stream);
  CHECK(values == std::vector<int>{18, 19});
  CHECK(emulation::num_pending_items(0) == 0);
}
TEST_CASE("copies of page-locked memory happen when the stream gets there", "[emulation][streams]") {
  const Reset reset;
  const OwnStream stream;
  const Ints memory(1);
  const HostInts from(1), to(1);
  from[0] = 1;
  gpu::copy_async(memory, from, 4, stream);
  gpu::copy_async(to, memory, 4, stream);
  from[0] = 2;  // a program error: overwritten before the copy has read it, which shows
  CHECK(to[0] == -1);
  gpu::synchronize_stream(stream);
  CHECK(to[0] == 2);
  gpu::copy_async(to, from, 0, stream);
  gpu::copy_async(from, to, 4, stream);  // both are host memory, so the copy is done at once
  CHECK(emulation::num_pending_items(0) == 0);
}

TEST_CASE("page-locked memory comes and goes when the current device has done its work", "[emulation][streams]") {
  const Reset reset;
  const OwnStream stream, other(1);
  const HostInts host(3);
  host[0] = host[1] = host[2] = 0;
  set(host, 1, 1, stream);
  set(host + 2, 1, 1, other);
  {
    const HostInts more(1);  // allocating waits for the current device
    CHECK(host[0] == 1);
    set(host + 1, 1, 1, stream);
    CHECK(host[1] == 0);
  }  // freeing waits too
  CHECK(host[1] == 1);
  CHECK(host[2] == 0);  // work of another device is not waited for
  gpu::synchronize(1);
}
TEST_CASE("what is discarded is NaN from there on", "[emulation][streams][defect]") {
  const Reset reset;
  const OwnStream stream;
  const Ints memory(3), before(3), after(3);
  set(memory, 1, 3, stream);
  gpu::copy_async(before, memory, 12, stream);
  gpu::discard(memory, 8, stream);
  gpu::copy_async(after, memory, 12, stream);  // a program error: copied after the discard, which shows
  CHECK(read(before, 3, stream) == std::vector<int>{1, 1, 1});
  CHECK(read(after, 3, stream) == std::vector<int>{-1, -1, 1});
}
TEST_CASE("a destroyed stream finishes its work; release waits for its device", "[emulation][streams]") {
  const Reset reset;
  const HostInts host(2);
  host[0] = 0;
  set(host, 1, 1, OwnStream());
  CHECK(emulation::num_pending_items(0) == 1);
  CHECK(host[0] == 0);
  { const Ints memory(1); }
  CHECK(host[0] == 1);
  const gpu::StreamHandle gone = OwnStream();
  CHECK_THROWS_WITH(gpu::synchronize_stream(gone), Contains("was destroyed"));
  CHECK_THROWS_WITH(gpu::synchronize_stream(nullptr), Contains("is not a stream"));
}

struct HostCall {
  std::atomic<int> calls{0};
  std::thread::id thread;
  std::string error;
  static void run(void* self) {
    auto& call = *static_cast<HostCall*>(self);
    call.thread = std::this_thread::get_id();
    try {
      gpu::synchronize(0);
    } catch (const CudaError& error) {
      call.error = error.what();
    }
    ++call.calls;
  }
};
TEST_CASE("host functions run in their turn, on another thread, and must not call the runtime",
          "[emulation][streams]") {
  const Reset reset;
  const OwnStream stream;
  HostCall call;
  gpu::call_on_host(stream, HostCall::run, &call);
  CHECK(call.calls == 0);
  gpu::synchronize_stream(stream);
  CHECK(call.calls == 1);
  CHECK(call.thread != std::this_thread::get_id());
  CHECK_THAT(call.error, Contains("a host function must not call the runtime"));
  gpu::call_on_host(stream, HostCall::run, &call);
  while (!gpu::is_done(stream)) std::this_thread::yield();
  CHECK(call.calls == 2);
}

// ---- several host threads

TEST_CASE("threads use devices, streams and events side by side", "[emulation][threads]") {
  const Reset reset;
  const uint64_t seed = GENERATE(0, 1, 2, 3);
  emulation::set_stream_seed(seed);
  constexpr int kThreads = 4, kSteps = 20;
  std::vector<int> results(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t, &results] {
      const int device = t % 2;
      const OwnStream stream(device), side(device);
      const OwnEvent event(device), back(device);
      const Ints memory(8, device);
      const gpu::DeviceGuard guard(device);
      gpu::fill_bytes_async(memory, 0, 32, stream);
      for (int i = 0; i < kSteps; ++i) {
        add(memory, memory, 1, 8, stream);
        gpu::record_event(event, stream);
        gpu::wait_event(side, event);
        add(memory, memory, 1, 8, side);
        gpu::record_event(back, side);
        gpu::wait_event(stream, back);
        if (i % 5 == t) gpu::synchronize(device);
        if (i % 7 == t)
          while (!gpu::is_done(back)) std::this_thread::yield();
      }
      results[static_cast<size_t>(t)] = read_one(memory + 7, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<int>(kThreads, 2 * kSteps));
}
TEST_CASE("a device that is held up does not hold up another", "[emulation][threads]") {
  const Reset reset;
  const OwnStream held(0), free(1);
  const Ints memory(1, 1);
  std::atomic<bool> go{false};
  gpu::call_on_host(
      held,
      [](void* go) {
        while (!static_cast<std::atomic<bool>*>(go)->load()) std::this_thread::yield();
      },
      &go);
  std::thread waiter([&held] { gpu::synchronize_stream(held); });
  set(memory, 4, 1, free);
  CHECK(read_one(memory, free) == 4);
  CHECK_FALSE(gpu::is_done(held));
  go = true;
  waiter.join();
  CHECK(gpu::is_done(held));
}
TEST_CASE("an event may be of another device and another thread", "[emulation][threads]") {
  const Reset reset;
  emulation::set_stream_seed(GENERATE(0, 1, 2, 3, 5, 7));
  const OwnStream zero(0), one(1);
  const OwnEvent event(0);
  const Ints from(1, 0), to(1, 1);
  std::thread([&] {
    set(from, 6, 1, zero);
    gpu::record_event(event, zero);
  }).join();
  gpu::wait_event(one, event);
  gpu::copy_peer_async(to, 1, from, 0, 4, one);
  CHECK(read_one(to, one) == 6);
}

TEST_CASE("a meeting waits for all streams, whoever brings them", "[emulation][meeting]") {
  const Reset reset;
  emulation::set_stream_seed(GENERATE(0, 1, 2, 3, 5, 7));
  constexpr int kRanks = 4;
  std::vector<emulation::StreamBarrier> steps;
  std::vector<std::unique_ptr<Ints>> memory;
  for (int rank = 0; rank < kRanks; ++rank) memory.push_back(std::make_unique<Ints>(1, rank));
  const auto all_reduce = [&memory] {
    int sum = 0;
    for (const auto& one : memory) sum += **one;
    for (const auto& one : memory) **one = sum;
  };
  for (int i = 0; i < 3; ++i) steps.emplace_back("all_reduce", kRanks, all_reduce);
  std::vector<int> results(kRanks);
  std::vector<std::thread> threads;
  threads.reserve(kRanks);
  for (int rank = 0; rank < kRanks; ++rank) {
    threads.emplace_back([&, rank] {
      const OwnStream stream(rank);
      int* const mine = *memory[static_cast<size_t>(rank)];
      set(mine, rank, 1, stream);
      for (emulation::StreamBarrier& step : steps) {
        step.join(stream);
        add(mine, mine, 1, 1, stream);
      }
      results[static_cast<size_t>(rank)] = read_one(mine, stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(results == std::vector<int>(kRanks, ((6 + 1) * 4 + 1) * 4 + 1));
}
TEST_CASE("a meeting that is cancelled lets its streams go on", "[emulation][meeting]") {
  const Reset reset;
  const OwnStream stream;
  const Ints memory(1);
  bool ran = false;
  emulation::StreamBarrier meeting("broadcast", 2, [&ran] { ran = true; });
  meeting.join(stream);
  set(memory, 3, 1, stream);
  CHECK_FALSE(gpu::is_done(stream));
  CHECK_FALSE(gpu::is_done(stream));
  std::thread([&meeting] { meeting.cancel(); }).join();
  CHECK(read_one(memory, stream) == 3);
  CHECK_FALSE(ran);
}

TEST_CASE("a meeting that fails is an error of all its devices", "[emulation][meeting]") {
  const Reset reset;
  const OwnStream one(1), two(2);
  emulation::StreamBarrier meeting("all_gather", 2, [] { throw std::runtime_error("went wrong"); });
  meeting.join(one);
  meeting.join(two);
  CHECK_THROWS_WITH(gpu::synchronize(1), Contains("all_gather on cuda:") && Contains("went wrong"));
  CHECK_THROWS_WITH(gpu::synchronize(2), Contains("all_gather on cuda:") && Contains("went wrong"));
}

TEST_CASE("a meeting with a device that has failed never takes place", "[emulation][meeting]") {
  const Reset reset;
  const bool came_before = GENERATE(false, true);
  const OwnStream lost(1), side(1), other(2);
  const Ints memory(1, 2);
  bool ran = false;
  emulation::StreamBarrier meeting("all_reduce", 2, [&ran] { ran = true; });
  if (came_before) {
    meeting.join(lost);
    CHECK_FALSE(gpu::is_done(lost));
  }
  {
    const gpu::DeviceGuard guard(1);
    emulation::launch("wild", dim3(1), dim3(1), 0, side, [] { throw std::runtime_error("went wrong"); });
  }
  CHECK_THROWS_WITH(gpu::synchronize_stream(side), Contains("went wrong"));
  if (!came_before) meeting.join(lost);
  CHECK_THROWS_WITH(gpu::synchronize_stream(lost), Contains("went wrong"));  // completes with the error
  meeting.join(other);
  set(memory, 4, 1, other);
  for (int i = 0; i < 10; ++i) CHECK_FALSE(gpu::is_done(other));
  meeting.cancel();
  CHECK(read_one(memory, other) == 4);
  CHECK_FALSE(ran);
}

TEST_CASE("what reset drops holds nobody up", "[emulation][meeting]") {
  const Reset reset;
  const OwnStream stuck, other;
  const OwnEvent event;
  const Ints memory(1);
  emulation::StreamBarrier meeting("broadcast", 2, [] {});
  meeting.join(stuck);
  gpu::record_event(event, stuck);
  emulation::reset_runtime();
  gpu::wait_event(other, event);
  set(memory, 5, 1, other);
  for (int i = 0; i < 10 && !gpu::is_done(other); ++i) continue;
  CHECK(gpu::is_done(other));
  if (gpu::is_done(other)) CHECK(read_one(memory, other) == 5);
}

}  // namespace
}  // namespace tandem::test
