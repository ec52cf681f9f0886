// Tests how emulated grids run: limits, messages about deadlocks, thread orders, and stacks.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tandem/tests/catch.h"
#include "tandem/tests/emulation/grids.h"

using namespace tandem;
using namespace tandem::test;
using emulation::set_thread_order, emulation::ThreadOrder;

TEST_CASE("a launch that no GPU accepts is refused", "[emulation]") {
  const Order forward;
  const auto refusal = [](dim3 grid, dim3 block, size_t shared = 0) {
    return error_of([&] {
      run(
          grid, block, [] {}, shared);
    });
  };
  CHECK_THAT(refusal(1, 1025), Contains("kernel tested: block.x is 1025; accepted: 1 to 1024"));
  CHECK_THAT(refusal(1, dim3(33, 32)), Contains("threads in a block is 1056; accepted: 1 to 1024"));
  CHECK_THAT(refusal(1, dim3(1, 1, 65)), Contains("block.z is 65; accepted: 1 to 64"));
  CHECK_THAT(refusal(0, 1), Contains("grid.x is 0"));
  CHECK_THAT(refusal(dim3(1, 65536), 1), Contains("grid.y is 65536; accepted: 1 to 65535"));
  CHECK_THAT(refusal(dim3(1, 1, 65536), 1), Contains("grid.z is 65536"));
  CHECK_THAT(refusal(1, 1, 227 * 1024 + 1), Contains("shared memory in bytes is 232449; accepted: 0 to 232448"));
  const auto large = [] {
    TANDEM_SHARED(double, half, [4096]);
    TANDEM_SHARED(float, more, [4097]);
    half[0] = more[0] = 1;
  };
  CHECK_THAT(error_of([&] { run(1, 1, large); }),
             Contains("block (0, 0, 0), thread (0, 0, 0): shared array more of 16388 bytes") && Contains("49152"));
  const auto both = [] {
    TANDEM_SHARED(float, tile, [256]);
    if (threadIdx.x == 0 && threadIdx.z == 0) tile[0] = 1;
  };
  CHECK_THAT(error_of([&] { run(1, 1, both, 227 * 1024); }), Contains("233472; accepted: up to 232448"));
  // With up to 48 KiB of dynamic shared memory, a launch does not raise the limit, so static and dynamic memory share
  // 48 KiB.
  CHECK_THAT(error_of([&] { run(1, 1, both, 48 * 1024); }), Contains("takes 50176; accepted: up to 49152"));
  run(1, 1, both, 47 * 1024);
  run(1, dim3(16, 1, 64), both, 226 * 1024);
}

TEST_CASE("threads that wait for what never comes are named with their places", "[emulation]") {
  const Order forward;
  const std::string text = error_of([] {
    run(dim3(2, 3), dim3(16, 3), [] {
      if (blockIdx.y != 2) return;
      if (threadIdx.y == 2) return;
      if (threadIdx.y == 1 && threadIdx.x > 3) __shfl_sync(kAll, 1, 2);
      __syncthreads();
    });
  });
  CHECK_THAT(text, Contains("kernel tested, block (0, 2, 0): deadlock: thread (0, 0, 0) waits in __syncthreads "
                            "[grid_test.cpp:"));
  CHECK_THAT(text, Contains("], and 19 more; thread (4, 1, 0) waits in __shfl_sync [grid_test.cpp:"));
  CHECK_THAT(text, Contains("for lanes 0xffffffff, and 11 more; 16 have ended"));
}

TEST_CASE("a barrier in two branches is divergent", "[emulation]") {
  const Order forward;
  const std::string text = error_of([] {
    run(1, 64, [] {
      if (threadIdx.x < 5)
        __syncthreads();
      else
        __syncthreads();
    });
  });
  CHECK_THAT(text, Contains("kernel tested, block (0, 0, 0), thread (5, 0, 0): divergent barrier: it is in "
                            "__syncthreads, while thread (0, 0, 0) waits in __syncthreads [grid_test.cpp:"));
  run(3, 64, [] {  // the whole block takes the same branch, which is allowed
    if (blockIdx.x == 1)
      __syncthreads();
    else
      __syncthreads();
  });
}

TEST_CASE("what a warp may not do is an error", "[emulation]") {
  const Order forward;
  const auto error = [](const std::function<void()>& thread) { return error_of([&] { run(1, 40, thread); }); };
  const auto in_half = [](auto f) {
    return [f] {
      if (threadIdx.x < 16) f();
    };
  };
  CHECK_THAT(error(in_half([] { __shfl_sync(0xffff, 1, 16); })),
             Contains("thread (0, 0, 0): __shfl_sync: lane 0 reads lane 16, which is not in its mask 0xffff"));
  CHECK_THAT(error([] {
               if (threadIdx.x != 3) __shfl_xor_sync(kAll, 1.0f, 1);
             }),
             Contains("lane 2 reads lane 3, which has ended"));
  // The last warp has 8 lanes.
  CHECK_THAT(error([] { __shfl_down_sync(kAll, 1.0f, 8); }), Contains("reads lane 8, which has ended"));
  CHECK_THAT(error([] { __ballot_sync(0xfff0, 1); }), Contains("lane 0 is not in its own mask 0xfff0"));
  CHECK_THAT(error([] { __shfl_sync(kAll, 1, 0, 12); }), Contains("width is 12; accepted: 1, 2, 4, 8, 16, 32"));
  CHECK_THAT(error([] {
               if (threadIdx.x == 9)
                 __syncwarp();
               else
                 __any_sync(kAll, 1);
             }),
             Contains("thread (9, 0, 0): __syncwarp for lanes 0xffffffff, while thread (0, 0, 0) waits in __any_sync"));
  CHECK_THAT(error_of([] { __syncthreads(); }), Contains("__syncthreads was called outside a kernel"));
  CHECK_THAT(error([] { run(1, 1, [] {}); }), Contains("started by a thread of kernel tested"));
  CHECK_THAT(error([] { __trap(); }), Contains("block (0, 0, 0), thread (0, 0, 0): __trap() [grid_test.cpp:"));
}

TEST_CASE("an exception ends the grid, and nothing of its threads is left", "[emulation]") {
  const Order forward;
#if !TANDEM_TEST_TSAN  // ThreadSanitizer would report that threads count in one variable
  struct Counted {
    int& alive;
    explicit Counted(int& alive) : alive(alive) { ++alive; }
    ~Counted() { --alive; }
  };
  int alive = 0, later = 0;
  const auto thread = [&] {
    const Counted counted(alive);
    const std::vector<int> held(100, static_cast<int>(threadIdx.x));
    if (blockIdx.x == 2) later = 1;
    if (blockIdx.x == 1 && threadIdx.x == 20) throw std::out_of_range("thread " + std::to_string(held[99]));
    __syncthreads();
  };
  REQUIRE_THROWS_WITH(run(3, 64, thread), "thread 20");
  REQUIRE(alive == 0);
  REQUIRE(later == 0);
#endif
  REQUIRE_THROWS_AS(run(2, 64,
                        [] {
                          const std::vector<int> held(100);
                          if (threadIdx.x == 63) throw std::out_of_range("x");
                          __syncthreads();
                        }),
                    std::out_of_range);
  REQUIRE(each<int>(64, [] { return __syncthreads_count(1); }) == std::vector<int>(64, 64));
}

TEST_CASE("a grid that fails in a destructor of the host ends its threads where they wait", "[emulation]") {
  const Order forward;
  struct Late {
    std::atomic<int>& behind;
    ~Late() {
      CHECK_THROWS_WITH(run(1, 64,
                            [&] {
                              if (threadIdx.x == 63) throw std::out_of_range("thread 63");
                              __syncthreads();
                              ++behind;
                            }),
                        "thread 63");
    }
  };
  std::atomic<int> behind{0};
  const auto fail = [&] {
    const Late late{behind};
    throw std::runtime_error("the host's");
  };
  CHECK_THROWS_WITH(fail(), "the host's");
  CHECK(behind == 0);
}

#if !TANDEM_TEST_ASAN
TEST_CASE("a write beyond a shared array is found when its block has ended", "[emulation]") {
  const Order forward;
  const auto error = [](int at) {
    return error_of([&] {
      run(2, 8, [&] {
        TANDEM_SHARED(int, tile, [8]);
        int* const first = tile;
        if (blockIdx.x == 1 && threadIdx.x == 0) first[at] = 1;
      });
    });
  };
  CHECK_THAT(error(8), Contains("kernel tested, block (1, 0, 0): a write past the end of tile [grid_test.cpp:"));
  CHECK_THAT(error(-1), Contains("a write before the start of tile"));
  CHECK(error(7) == "no CudaError");
}
#endif

namespace {
std::vector<int> order_of_threads(unsigned blocks) {
  std::vector<int> order(blocks * 64);
  int next = 0;
  run(blocks, 64, [&] { order[atomicAdd(&next, 1)] = static_cast<int>(blockIdx.x * 64 + threadIdx.x); });
  return order;
}
}  // namespace

TEST_CASE("threads and blocks run forward, in reverse, or shuffled by a seed", "[emulation]") {
  const Order saved;
  std::vector<int> forward(4 * 64);
  std::iota(forward.begin(), forward.end(), 0);
  set_thread_order(ThreadOrder::forward);
  REQUIRE(order_of_threads(4) == forward);
  set_thread_order(ThreadOrder::reverse);
  REQUIRE(order_of_threads(4) == std::vector<int>(forward.rbegin(), forward.rend()));
  set_thread_order(ThreadOrder::shuffle, 1);
  const std::vector<int> first = order_of_threads(4), second = order_of_threads(4);
  REQUIRE(first == second);
  REQUIRE(first != forward);
  REQUIRE(std::set<int>(first.begin(), first.end()).size() == forward.size());
  set_thread_order(ThreadOrder::shuffle, 2);
  REQUIRE(order_of_threads(4) != first);
}

TEST_CASE("a right kernel gives the same in every order, a wrong one does not", "[emulation]") {
  const Order saved;
  std::vector<float> x(128);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
  const auto sums = [&](bool barrier) {
    std::vector<float> y(2);
    run(2, 64, [&] {
      TANDEM_SHARED(float, part, [2]);
      float v = x[blockIdx.x * 64 + threadIdx.x];
      for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(kAll, v, d);
      if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
      if (barrier) __syncthreads();
      if (threadIdx.x == 5) y[blockIdx.x] = part[0] + part[1];
    });
    return std::isnan(y[0]) ? std::vector<float>() : y;
  };
  set_thread_order(ThreadOrder::forward);
  const std::vector<float> expected = sums(true);
  REQUIRE(!expected.empty());
  std::set<std::vector<float>> right, wrong;
  for (int seed = -2; seed < 30; ++seed) {
    if (seed < 0)
      set_thread_order(seed == -1 ? ThreadOrder::reverse : ThreadOrder::forward);
    else
      set_thread_order(ThreadOrder::shuffle, static_cast<uint64_t>(seed));
    right.insert(sums(true));
#if !TANDEM_TEST_TSAN
    wrong.insert(sums(false));
#endif
  }
  REQUIRE(right == std::set<std::vector<float>>{expected});
#if !TANDEM_TEST_TSAN
  REQUIRE(wrong.size() > 1);
#endif
}

TEST_CASE("host threads run grids side by side", "[emulation]") {
  std::vector<std::vector<int>> results(4);
  std::vector<std::thread> hosts;
  hosts.reserve(results.size());
  for (auto& result : results)
    hosts.emplace_back([&result] {
      for (int repeat = 0; repeat < 3; ++repeat)
        result = each<int>(40, [] {
          TANDEM_SHARED(int, next, [40]);
          next[(threadIdx.x + 1) % 40] = static_cast<int>(threadIdx.x);
          __syncthreads();
          return next[threadIdx.x];
        });
    });
  for (auto& host : hosts) host.join();
  for (const auto& result : results)
    for (int i = 0; i < 40; ++i) REQUIRE(result[i] == (i + 39) % 40);
}

TEST_CASE("a thread may use a large part of its stack", "[emulation]") {
  const auto sums = each<int>(8, [] {
    volatile int local[16 * 1024];
    for (int i = 0; i < 16 * 1024; i += 512) local[i] = i / 512;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 16 * 1024; i += 512) sum += local[i];
    return sum;
  });
  REQUIRE(sums == std::vector<int>(8, 496));
}
