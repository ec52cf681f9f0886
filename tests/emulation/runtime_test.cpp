// Tests the emulated runtime's errors, devices, and random stream orders.
#include <algorithm>
#include <thread>

#include "../catch.h"
#include "emulated.h"

#include "tandem/core/cuda/gpu_runtime.h"

namespace tandem::test {
namespace {

TEST_CASE("a kernel's error comes with the next wait, names the kernel, and stays", "[emulation][errors]") {
  const Reset reset;
  const OwnStream stream, other(1);
  const Ints memory(1);
  emulation::launch("wild", dim3(1), dim3(1), 0, stream, [] { throw std::runtime_error("went wrong"); });
  set(memory, 1, 1, stream);
  CHECK_THROWS_WITH(gpu::synchronize_stream(stream),
                    Contains("synchronize_stream failed: kernel wild on cuda:0: ") && Contains("went wrong"));
  CHECK_THROWS_WITH(gpu::synchronize(0), Contains("kernel wild"));
  CHECK_THROWS_WITH(set(memory, 1, 1, stream), Contains("kernel wild"));
  CHECK_THROWS_WITH(gpu::allocate(0, 1), Contains("kernel wild"));
  CHECK_NOTHROW(gpu::synchronize_stream(other));
  emulation::reset_runtime();
  CHECK(read_one(memory, stream) == -1);  // no kernel ran after the error
}
TEST_CASE("a launch that no device accepts fails at once", "[emulation][errors]") {
  const Reset reset;
  const OwnStream stream;
  const auto launch = [&stream](dim3 grid, dim3 block, size_t shared_bytes) {
    emulation::launch("shape", grid, block, shared_bytes, stream, [] {});
  };
  for (const dim3 grid : {dim3(0), dim3(1, 65536), dim3(1, 1, 65536), dim3(0x80000000u)})
    CHECK_THROWS_WITH(launch(grid, dim3(1), 0), Contains("kernel shape: ") && Contains("; accepted: 1 to "));
  for (const dim3 block : {dim3(0), dim3(1025), dim3(32, 33), dim3(1, 1, 65)})
    CHECK_THROWS_WITH(launch(dim3(1), block, 0), Contains("kernel shape: ") && Contains("; accepted: 1 to "));
  CHECK_THROWS_WITH(launch(dim3(1), dim3(1), 227 * 1024 + 1),
                    Contains("kernel shape: dynamic shared memory in bytes is 232449; accepted: 0 to 232448"));
  CHECK(emulation::num_pending_items(0) == 0);
  launch(dim3(1), dim3(1024), 227 * 1024);
  gpu::synchronize_stream(stream);
}
TEST_CASE("a launch or a fill on a stream of another device than the current one is refused",
          "[emulation][errors][defect]") {
  const Reset reset;
  const OwnStream stream(1);
  const Ints memory(1, 1);
  const auto launch = [&stream] { emulation::launch("lost", dim3(1), dim3(1), 0, stream, [] {}); };
  const auto fill = [&] { gpu::fill_bytes_async(memory, 0, 4, stream); };
  CHECK_THROWS_WITH(launch(),
                    Contains("launch of lost failed: the stream belongs to cuda:1, but the current device is cuda:0"));
  CHECK_THROWS_WITH(fill(),
                    Contains("fill_bytes_async of 4 bytes on cuda:1 failed: the stream belongs to cuda:1, but"));
  CHECK(emulation::num_pending_items(1) == 0);
  const gpu::DeviceGuard guard(1);
  CHECK_NOTHROW(launch());
  CHECK_NOTHROW(fill());
}
TEST_CASE("what the host may change too takes atomic operations of the whole system", "[emulation][errors][defect]") {
  const Reset reset;
  const OwnStream stream;
  const HostInts host(1);
  host[0] = 0;
  emulation::launch("count", dim3(1), dim3(8), 0, stream, [word = host.data] { atomicCAS_system(word, 0, 3); });
  gpu::synchronize_stream(stream);
  CHECK(host[0] == 3);
  emulation::launch("count", dim3(1), dim3(8), 0, stream, [word = host.data] { atomicCAS(word, 3, 4); });
  CHECK_THROWS_WITH(gpu::synchronize_stream(stream), Contains("kernel count on cuda:0: ") &&
                                                         Contains("page-locked memory") &&
                                                         Contains("atomicCAS_system"));
}
TEST_CASE("with TANDEM_SYNC_LAUNCHES=1 a launch waits and reports its own error", "[emulation][errors]") {
  setenv("TANDEM_SYNC_LAUNCHES", "1", 1);
  const Reset reset;
  unsetenv("TANDEM_SYNC_LAUNCHES");
  const OwnStream stream;
  const HostInts host(1);
  set(host, 3, 1, stream);
  CHECK(host[0] == 3);
  CHECK_THROWS_WITH(emulation::launch("wild", dim3(1), dim3(1), 0, stream, [] { throw std::runtime_error("no"); }),
                    Contains("wild failed: kernel wild on cuda:0"));
}
TEST_CASE("the n-th call of any function can be made to fail", "[emulation][errors]") {
  const Reset reset;
  const OwnStream stream;
  const OwnEvent event(0, true);
  const Ints memory(2);
  static int value = 0;  // static, because queued copies read it until the end of the test
  gpu::record_event(event, stream);
  gpu::synchronize_event(event);
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"allocate", [] { gpu::release(0, gpu::allocate(0, 4)); }},
      {"allocate_host", [] { gpu::release_host(gpu::allocate_host(4)); }},
      {"allow_shared_memory", [] { gpu::allow_shared_memory(nullptr, 4); }},
      {"call_on_host",
       [&] {
         gpu::call_on_host(
             stream, [](void*) {}, nullptr);
       }},
      {"can_access_peer", [] { gpu::can_access_peer(0, 1); }},
      {"check_launch", [&] { gpu::check_launch("kernel", stream); }},
      {"copy_async", [&] { gpu::copy_async(memory, &value, 4, stream); }},
      {"copy_peer_async", [&] { gpu::copy_peer_async(memory, 0, memory + 1, 0, 4, stream); }},
      {"create_event", [] { const OwnEvent another; }},
      {"create_stream", [] { const OwnStream another; }},
      {"elapsed_milliseconds", [&] { gpu::elapsed_milliseconds(event, event); }},
      {"enable_peer_access", [] { gpu::enable_peer_access(0, 1); }},
      {"fill_bytes_async", [&] { gpu::fill_bytes_async(memory, 0, 4, stream); }},
      {"is_done", [&] { gpu::is_done(stream); }},
      {"is_done", [&] { gpu::is_done(event); }},
      {"launch", [&] { set(memory, 1, 1, stream); }},
      {"memory_info", [] { gpu::memory_info(0); }},
      {"pointer_info", [&] { gpu::pointer_info(memory); }},
      {"properties", [] { gpu::properties(0); }},
      {"set_device", [] { gpu::set_device(0); }},
      {"synchronize", [] { gpu::synchronize(0); }},
      {"synchronize_event", [&] { gpu::synchronize_event(event); }},
      {"synchronize_stream", [&] { gpu::synchronize_stream(stream); }},
      {"wait_event", [&] { gpu::wait_event(stream, event); }},
      {"record_event", [&] { gpu::record_event(event, stream); }}};
  for (const auto& [name, call] : calls) {
    INFO(name);
    emulation::inject_call_failure(name, 2);
    CHECK_NOTHROW(call());
    CHECK_THROWS_WITH(call(), Contains(name + " failed: requested by emulation::inject_call_failure"));
    CHECK_NOTHROW(call());
  }
  CHECK_THROWS_WITH(emulation::inject_call_failure("destroy_stream"),
                    Contains("not a function of gpu_runtime.h that can fail"));
  emulation::inject_call_failure("copy_async");
  emulation::reset_runtime();
  CHECK_NOTHROW(gpu::copy_async(memory, &value, 4, stream));
}

TEST_CASE("there are as many devices as a test asks for", "[emulation][devices]") {
  const Reset reset;
  CHECK(gpu::device_count() == 8);
  emulation::set_device_count(2);
  CHECK(gpu::device_count() == 2);
  CHECK_THROWS_WITH(gpu::set_device(2), Contains("there is no cuda:2; there are 2 emulated devices"));
  CHECK_THROWS_AS(gpu::create_stream(-1), CudaError);
  CHECK_THROWS_AS(gpu::allocate(2, 1), CudaError);
  {
    const gpu::DeviceGuard guard(1);
    CHECK(gpu::current_device() == 1);
    std::thread([] { CHECK(gpu::current_device() == 0); }).join();
  }
  CHECK(gpu::current_device() == 0);
  emulation::set_device_count(0);
  CHECK_THAT(gpu::unavailable_reason(), Contains("no devices"));
  setenv("TANDEM_EMULATED_DEVICES", "three", 1);
  emulation::reset_runtime();
  CHECK(gpu::device_count() == 0);
  CHECK_THAT(gpu::unavailable_reason(), Contains("TANDEM_EMULATED_DEVICES is 'three'; accepted: 0 to 64"));
  setenv("TANDEM_EMULATED_DEVICES", "3", 1);
  emulation::reset_runtime();
  CHECK(gpu::device_count() == 3);
  unsetenv("TANDEM_EMULATED_DEVICES");
}

// ---- random stream orders: programs with a defect, and correct programs

/// Returns the number of seeds for which a program does not return `right`.
int wrong_results(int seeds, int right, const std::function<int()>& program) {
  int wrong = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    emulation::set_stream_seed(static_cast<uint64_t>(seed));
    if (program() != right) ++wrong;
    for (const int device : {0, 1}) gpu::synchronize(device);
  }
  emulation::set_stream_seed(0);
  return wrong;
}

/// A stream fills a buffer, and another stream reads it. The result is right only with `wait`.
int produce_and_consume(bool wait) {
  const OwnStream producer, consumer;
  const OwnEvent event;
  const Ints input(4), output(4);
  for (int step = 1; step <= 3; ++step) set(input, step, 4, producer);
  gpu::record_event(event, producer);
  if (wait) gpu::wait_event(consumer, event);
  add(output, input, 10, 4, consumer);
  return read_one(output, consumer);
}
TEST_CASE("a missing event is seen within 50 seeds, and in order", "[emulation][seeds][defect]") {
  const Reset reset;
  CHECK(produce_and_consume(false) != 13);
  CHECK(wrong_results(50, 13, [] { return produce_and_consume(false); }) > 0);
}
TEST_CASE("with the event it is right for 1000 seeds", "[emulation][seeds]") {
  const Reset reset;
  CHECK(wrong_results(1000, 13, [] { return produce_and_consume(true); }) == 0);
}

/// A copy stream fills one staging buffer for each of three batches, which a compute stream adds up. With `wait`, each
/// copy waits until the previous batch was read.
int add_batches(bool wait) {
  const OwnStream copies, compute;
  const OwnEvent copied, read;
  const Ints staging(1), sum(1);
  const HostInts batches(3);
  gpu::fill_bytes_async(sum, 0, 4, compute);
  for (int i = 0; i < 3; ++i) {
    batches[i] = 1 << i;
    if (wait) gpu::wait_event(copies, read);
    gpu::copy_async(staging, batches + i, 4, copies);
    gpu::record_event(copied, copies);
    gpu::wait_event(compute, copied);
    emulation::launch("accumulate", dim3(1), dim3(1), 0, compute,
                      [to = sum.data, from = staging.data] { *to += *from; });
    gpu::record_event(read, compute);
  }
  return read_one(sum, compute);
}
TEST_CASE("a buffer that is used again too early is seen within 50 seeds", "[emulation][seeds][defect]") {
  const Reset reset;
  CHECK(wrong_results(50, 7, [] { return add_batches(false); }) > 0);
}
TEST_CASE("a buffer that is used again in time is right for 1000 seeds", "[emulation][seeds]") {
  const Reset reset;
  CHECK(wrong_results(1000, 7, [] { return add_batches(true); }) == 0);
}
/// Like add_batches, but the host overwrites page-locked memory.
int stage_batches(bool wait) {
  const OwnStream stream;
  const OwnEvent copied;
  const Ints staging(1), sum(1);
  const HostInts batch(1);
  gpu::fill_bytes_async(sum, 0, 4, stream);
  for (int i = 0; i < 3; ++i) {
    if (wait) gpu::synchronize_event(copied);
    batch[0] = 1 << i;
    gpu::copy_async(staging, batch, 4, stream);
    gpu::record_event(copied, stream);
    emulation::launch("accumulate", dim3(1), dim3(1), 0, stream,
                      [to = sum.data, from = staging.data] { *to += *from; });
  }
  return read_one(sum, stream);
}
TEST_CASE("page-locked memory that is written again too early is seen at once", "[emulation][seeds][defect]") {
  const Reset reset;
  CHECK(stage_batches(false) != 7);
  CHECK(stage_batches(true) == 7);
  CHECK(wrong_results(50, 7, [] { return stage_batches(false); }) > 0);
  CHECK(wrong_results(1000, 7, [] { return stage_batches(true); }) == 0);
}
TEST_CASE("seeds run work early and late, and give the same order again", "[emulation][seeds]") {
  const Reset reset;
  const HostInts host(1);
  std::vector<size_t> queued;
  const auto run = [&](uint64_t seed) {
    emulation::set_stream_seed(seed);
    const OwnStream one, two;
    size_t left = 0;
    for (int i = 0; i < 20; ++i) {
      set(host, i, 1, i % 3 ? one : two);
      left = left * 31 + emulation::num_pending_items(0);
    }
    queued.push_back(emulation::num_pending_items(0));
    gpu::synchronize(0);
    return left;
  };
  std::vector<size_t> orders;
  for (uint64_t seed = 1; seed <= 20; ++seed) orders.push_back(run(seed));
  for (uint64_t seed = 1; seed <= 20; ++seed) CHECK(orders[seed - 1] == run(seed));
  CHECK(*std::min_element(queued.begin(), queued.end()) == 0);
  CHECK(*std::max_element(queued.begin(), queued.end()) == 20);
}

}  // namespace
}  // namespace tandem::test
