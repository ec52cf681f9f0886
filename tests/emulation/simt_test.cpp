// Tests the intrinsics of emulated kernels against their definitions.
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

#include "tandem/tests/catch.h"
#include "tandem/tests/emulation/grids.h"

using namespace tandem;
using namespace tandem::test;

TEST_CASE("every thread of a grid knows its place", "[emulation]") {
  const dim3 grid(3, 2, 2), block(5, 3, 2);
  std::vector<int> seen(12 * 30);
  std::vector<int> wrong(12 * 30);
  run(grid, block, [&] {
    const unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    const unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    seen[b * 30 + t]++;
    wrong[b * 30 + t] = gridDim.x != 3 || gridDim.y != 2 || gridDim.z != 2 || blockDim.x != 5 || blockDim.y != 3 ||
                        blockDim.z != 2 || warpSize != 32;
  });
  REQUIRE(seen == std::vector<int>(12 * 30, 1));
  REQUIRE(wrong == std::vector<int>(12 * 30, 0));
}

TEST_CASE("a barrier waits for all threads, and votes", "[emulation]") {
  for (const unsigned n : {1u, 31u, 33u, 100u}) {
    const auto sums = each<int>(n, [&] {
      TANDEM_SHARED(int, values, [100]);
      int total = 0;
      for (int round = 0; round < 3; ++round) {
        values[threadIdx.x] = static_cast<int>(threadIdx.x) + round;
        __syncthreads();
        for (unsigned i = 0; i < n; ++i) total += values[i];
        __syncthreads();
      }
      return total;
    });
    const int m = static_cast<int>(n);
    REQUIRE(sums == std::vector<int>(n, 3 * m * (m - 1) / 2 + 3 * m));
    REQUIRE(each<int>(n, [] { return __syncthreads_count(threadIdx.x % 3 == 0); }) == std::vector<int>(n, (m + 2) / 3));
    REQUIRE(each<int>(n, [&] { return __syncthreads_or(threadIdx.x == n - 1 ? 8 : 0); }) == std::vector<int>(n, 1));
    REQUIRE(each<int>(n, [] { return __syncthreads_or(0); }) == std::vector<int>(n, 0));
    REQUIRE(each<int>(n, [] { return __syncthreads_and(4); }) == std::vector<int>(n, 1));
    REQUIRE(each<int>(n, [&] { return __syncthreads_and(threadIdx.x != n - 1); }) == std::vector<int>(n, 0));
  }
}

TEST_CASE("barriers and votes count the threads that have not ended", "[emulation]") {
  const auto counts = each<int>(70, [] {
    if (threadIdx.x % 2) return -1;
    const int all = __syncthreads_count(1);
    if (threadIdx.x < 40) return all;
    return 100 * all + __syncthreads_count(1) + 1000 * __syncthreads_and(1);
  });
  for (unsigned i = 0; i < 70; ++i) REQUIRE(counts[i] == (i % 2 ? -1 : i < 40 ? 35 : 3500 + 15 + 1000));
  // Lanes that have ended or do not exist are not waited for.
  const auto ballots = each<unsigned>(40, [] {
    if (threadIdx.x % 4 == 1) return 0u;
    return __ballot_sync(kAll, 1);
  });
  for (unsigned i = 0; i < 40; ++i) REQUIRE(ballots[i] == (i % 4 == 1 ? 0 : i < 32 ? 0xddddddddu : 0xddu));
}

TEMPLATE_TEST_CASE("shuffles of every type and width", "[emulation]", float, double, int, unsigned, int64_t, uint64_t,
                   long long, Half, BFloat16) {
  using T = TestType;
  const auto value = [](int lane) { return T(static_cast<float>(lane * 3 - (std::is_unsigned_v<T> ? 0 : 40))); };
  for (const int width : {1, 2, 4, 8, 16, 32})
    for (const int by : {0, 1, 2, 3, 7, 16, 31}) {
      std::vector<T> indexed(64), exclusive(64), up(64), down(64);
      run(1, 64, [&] {
        const int lane = threadIdx.x % 32;
        indexed[threadIdx.x] = __shfl_sync(kAll, value(lane), by + lane, width);
        exclusive[threadIdx.x] = __shfl_xor_sync(kAll, value(lane), by, width);
        up[threadIdx.x] = __shfl_up_sync(kAll, value(lane), by, width);
        down[threadIdx.x] = __shfl_down_sync(kAll, value(lane), by, width);
      });
      bool right = true;
      for (int i = 0; i < 64; ++i) {
        const int lane = i % 32, first = lane / width * width, last = first + width - 1;
        const int other = lane ^ by;
        right &= float(indexed[i]) == float(value(first + (by + lane) % width));
        right &= float(exclusive[i]) == float(value(other > last ? lane : other));
        right &= float(up[i]) == float(value(lane - by < first ? lane : lane - by));
        right &= float(down[i]) == float(value(lane + by > last ? lane : lane + by));
      }
      CAPTURE(width, by);
      REQUIRE(right);
    }
}

TEST_CASE("lanes meet under any mask, several masks at a time", "[emulation]") {
  const auto sums = each<unsigned>(64, [] {
    const unsigned lane = threadIdx.x % 32, mask = lane % 3 == 0   ? 0x49249249u
                                                   : lane % 3 == 1 ? 0x92492492u
                                                                   : 0x24924924u;
    unsigned sum = 0;
    for (unsigned repeat = 0; repeat < 1 + lane % 3; ++repeat) sum += __reduce_add_sync(mask, lane);
    return sum;
  });
  unsigned expected[3] = {};
  for (unsigned lane = 0; lane < 32; ++lane) expected[lane % 3] += lane;
  for (unsigned i = 0; i < 64; ++i) REQUIRE(sums[i] == expected[i % 32 % 3] * (1 + i % 32 % 3));
}

TEST_CASE("votes of a warp", "[emulation]") {
  const unsigned odd = 0xaaaaaaaau;
  const auto result = each<unsigned>(32, [&] {
    const unsigned lane = threadIdx.x, mask = lane % 2 ? odd : ~odd;
    unsigned bits = __ballot_sync(kAll, lane % 5 == 0) == 0x42108421u;
    bits |= (__any_sync(mask, lane == 7) == (lane % 2 ? 1 : 0)) << 1;
    bits |= (__all_sync(mask, lane % 2) == (lane % 2 ? 1 : 0)) << 2;
    bits |= (__activemask() == 1u << lane) << 3;
    bits |= (__match_any_sync(kAll, lane / 4) == 0xfu << lane / 4 * 4) << 4;
    return bits;
  });
  REQUIRE(result == std::vector<unsigned>(32, 31));
}

TEST_CASE("reductions of a warp", "[emulation]") {
  const auto wrong = each<int>(32, [] {
    const int lane = static_cast<int>(threadIdx.x);
    const unsigned u = 1u << lane;
    return (__reduce_add_sync(kAll, lane - 20) != 496 - 640) + (__reduce_min_sync(kAll, lane - 20) != -20) +
           (__reduce_max_sync(kAll, lane - 20) != 11) + (__reduce_min_sync(kAll, u) != 1) +
           (__reduce_max_sync(kAll, u) != 1u << 31) + (__reduce_or_sync(kAll, u) != kAll) +
           (__reduce_and_sync(kAll, ~u) != 0) + (__reduce_xor_sync(kAll, u | 1) != 0xfffffffeu);
  });
  REQUIRE(wrong == std::vector<int>(32, 0));
}

TEST_CASE("atomic operations", "[emulation]") {
  struct Cells {
    int add = 0, least = 100, most = -100, exchanged = -1, both = -1, any = 0, odd = 0;
    unsigned added = 0, up = 0, down = 3, taken = 0;
    unsigned long long large = 0;
    float sum = 0;
    double total = 0;
    long long smallest = 0;
  } c;
  std::vector<int> old(128), winners(128);
  run(4, 32, [&] {
    const int i = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
    old[i] = atomicAdd(&c.add, 1);
    atomicAdd(&c.added, 2u);
    atomicAdd(&c.large, 1ull << 33);
    atomicAdd(&c.sum, 0.5f);
    atomicAdd(&c.total, 0.25);
    atomicMin(&c.least, i - 7);
    atomicMax(&c.most, i);
    atomicMin(&c.smallest, -(1ll << 40) * i);
    atomicAnd(&c.both, ~(i & 3));
    atomicOr(&c.any, 1 << (i % 8));
    atomicXor(&c.odd, i);
    atomicInc(&c.up, 5);
    atomicDec(&c.down, 9);
    atomicSub(&c.taken, 1u);
    winners[i] = atomicCAS(&c.exchanged, -1, i) == -1;
  });
  std::sort(old.begin(), old.end());
  std::vector<int> expected(128);
  std::iota(expected.begin(), expected.end(), 0);
  REQUIRE(old == expected);
  REQUIRE(c.add == 128);
  REQUIRE(c.added == 256);
  REQUIRE(c.large == 128ull << 33);
  REQUIRE(c.sum == 64);
  REQUIRE(c.total == 32);
  REQUIRE(c.least == -7);
  REQUIRE(c.most == 127);
  REQUIRE(c.smallest == -127 * (1ll << 40));
  REQUIRE(c.both == ~3);
  REQUIRE(c.any == 255);
  REQUIRE(c.odd == 0);
  REQUIRE(c.up == 128 % 6);
  REQUIRE(c.down == 5);  // 3, 2, 1, 0, then 9 again: 124 steps in a cycle of 10
  REQUIRE(c.taken == 0u - 128u);
  REQUIRE(std::accumulate(winners.begin(), winners.end(), 0) == 1);
  REQUIRE(winners[c.exchanged] == 1);
  float f = 1;
  unsigned long long big = 5;
  run(1, 1, [&] { old[0] = atomicExch(&f, 2.0f) == 1 && atomicCAS(&big, 5, 7) == 5 && atomicCAS(&big, 5, 9) == 7; });
  REQUIRE((f == 2 && big == 7 && old[0] == 1));
}

TEST_CASE("the block that comes last sees what all have left", "[emulation]") {
  std::vector<float> partial(20);
  unsigned arrived = 0;
  float total = 0;
  run(20, 32, [&] {
    TANDEM_SHARED(bool, last, );
    if (threadIdx.x == 0) {
      partial[blockIdx.x] = static_cast<float>(blockIdx.x);
      __threadfence();
      last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
      __threadfence();
    }
    __syncthreads();
    if (!last) return;
    float sum = threadIdx.x < 20 ? partial[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(kAll, sum, d);
    if (threadIdx.x == 0) total = sum;
  });
  REQUIRE(total == 190);
}

TEST_CASE("block fences hand over within a block", "[emulation]") {
  const auto got = each<int>(64, [] {
    TANDEM_SHARED(int, data, [2]);
    TANDEM_SHARED(int, ready, );
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 40) {
      data[0] = 17;
      __threadfence_block();
      atomicExch(&ready, 1);
    }
    if (threadIdx.x != 3) return 0;
    while (atomicAdd(&ready, 0) == 0) __nanosleep(20);
    __threadfence_block();
    return data[0];
  });
  REQUIRE(got[3] == 17);
}

TEST_CASE("vector types have CUDA's sizes and alignments", "[emulation]") {
  static_assert(sizeof(float2) == 8 && alignof(float2) == 8 && sizeof(float3) == 12 && alignof(float3) == 4);
  static_assert(sizeof(float4) == 16 && alignof(float4) == 16 && sizeof(double2) == 16 && alignof(double2) == 16);
  static_assert(sizeof(int2) == 8 && alignof(int4) == 16 && alignof(uint2) == 8 && alignof(uint4) == 16);
  static_assert(sizeof(uchar4) == 4 && alignof(uchar4) == 4 && alignof(short4) == 8 && sizeof(uchar3) == 3);
  static_assert(sizeof(double4) == 32 && alignof(double4) == 16 && alignof(longlong2) == 16 && sizeof(dim3) == 12);
  const float4 v = make_float4(1, 2, 3, 4);
  REQUIRE((v.x == 1 && v.y == 2 && v.z == 3 && v.w == 4));
  REQUIRE(make_uint3(1, 2, 3).z == 3);
  struct __align__(16) Eight {
    uint16_t values[8];
  };
  REQUIRE((alignof(Eight) == 16 && dim3(7).y == 1));
}

TEST_CASE("small functions", "[emulation]") {
  REQUIRE((__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64));
  REQUIRE((__clz(0) == 32 && __clz(1) == 31 && __clz(-1) == 0 && __clzll(1) == 63));
  REQUIRE((__ffs(0) == 0 && __ffs(8) == 4 && __ffsll(1ll << 40) == 41));
  REQUIRE((__brev(1) == 0x80000000u && __brev(0x12345678u) == 0x1e6a2c48u && __brevll(2) == 1ull << 62));
  REQUIRE((__umulhi(0xffffffffu, 0xffffffffu) == 0xfffffffeu && __mulhi(-1, 1) == -1));
  REQUIRE(__umul64hi(~0ull, ~0ull) == ~0ull - 1);
  REQUIRE((__funnelshift_l(0x80000000u, 1, 1) == 3 && __funnelshift_r(0, 1, 1) == 0x80000000u));
  REQUIRE((__float_as_int(1.0f) == 0x3f800000 && __int_as_float(0x40000000) == 2));
  REQUIRE((__float_as_uint(-0.0f) == 0x80000000u && __uint_as_float(0x3f000000u) == 0.5f));
  REQUIRE((__double_as_longlong(1.0) == 0x3ff0000000000000ll && __longlong_as_double(0) == 0));
  REQUIRE((min(-1, 2) == -1 && max(3u, 2u) == 3 && max(-1, 2u) == 0xffffffffu && min(int64_t{4}, int64_t{3}) == 3));
  REQUIRE((min(NAN, 1.0f) == 1 && max(2.0, double{NAN}) == 2 && fminf(1, 2) == 1 && max(1.0f, 2.0) == 2));
  REQUIRE((rsqrtf(4) == 0.5f && rsqrt(16.0) == 0.25 && __expf(0) == 1 && __fdividef(1, 4) == 0.25f));
  REQUIRE((__saturatef(2) == 1 && __saturatef(-1) == 0 && __saturatef(NAN) == 0));
  REQUIRE((__fadd_rn(1, 2) == 3 && __dmul_rn(2, 4) == 8 && __fmaf_rn(2, 3, 4) == 10 && __float2int_rn(2.5f) == 2));
  const int number = 5;
  REQUIRE((__ldg(&number) == 5 && __ldcs(&number) == 5));
}

TEST_CASE("shared memory belongs to a block and starts out as NaNs", "[emulation]") {
  std::vector<int> bad(6 * 40);
  run(
      6, 40,
      [&] {
        TANDEM_SHARED(float, tile, [3][40]);
        TANDEM_SHARED(unsigned char, byte, );
        TANDEM_DYNAMIC_SHARED(double, row);
        int& count = bad[blockIdx.x * 40 + threadIdx.x];
        const unsigned t = threadIdx.x;
        if (t == 0) count += byte != 255;
        __syncthreads();
        for (int i = 0; i < 3; ++i) count += !std::isnan(tile[i][t]);
        count += !std::isnan(row[t]);
        tile[1][t] = row[t] = static_cast<float>(t);
        if (t == 39) byte = 7;
        __syncthreads();
        count += tile[1][39 - t] != 39 - static_cast<float>(t);
        count += row[39 - t] != 39 - static_cast<double>(t);
        count += byte != 7;
        count += reinterpret_cast<uintptr_t>(row) % 16 != 0;
      },
      40 * sizeof(double));
  REQUIRE(bad == std::vector<int>(6 * 40, 0));
}

template <class T> int own_array() {
  TANDEM_SHARED(T, cell, );
  if (threadIdx.x == 0) cell = T(sizeof(T));
  __syncthreads();
  const int result = static_cast<int>(cell);
  __syncthreads();
  return result;
}
TEST_CASE("a shared array is one per declaration and instance, however often it is met", "[emulation]") {
  const auto sums = each<int>(33, [] {
    int sum = 0;
    for (int i = 0; i < 3; ++i) sum += own_array<int>() + 10 * own_array<double>();
    return sum;
  });
  REQUIRE(sums == std::vector<int>(33, 3 * 84));
}
