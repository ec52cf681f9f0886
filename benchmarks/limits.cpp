#include "tandem/benchmarks/limits.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/ops/factory/zeros_ones_full.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/shape/clone.h"

namespace tandem::benchmarks {
namespace {

/// Returns the least mean seconds per call over nine runs. Each run repeats the call for about 5 ms.
double measure_min_seconds(const Run& run) {
  using Clock = std::chrono::steady_clock;
  const auto seconds = [&](int64_t calls) {
    const auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) run();
    return std::chrono::duration<double>(Clock::now() - start).count() / static_cast<double>(calls);
  };
  run();
  const auto calls = std::max<int64_t>(static_cast<int64_t>(0.005 / seconds(1)), 1);
  double best = seconds(calls);
  for (int i = 0; i < 8; ++i) best = std::min(best, seconds(calls));
  return best;
}

typedef float Vector16 __attribute__((vector_size(16), may_alias));
typedef float Vector32 __attribute__((vector_size(32), may_alias));
typedef float Vector64 __attribute__((vector_size(64), may_alias));

/// Runs 12 independent chains of multiply-adds, more than are needed to hide the latency.
template <class Vector> [[gnu::always_inline]] inline void multiply_and_add(int64_t rounds) {
  Vector sums[12] = {}, factor = {}, term = {};
  factor += 0.999F, term += 0.001F;
  for (Vector& sum : sums) asm volatile("" : "+m"(sum));  // keeps the compiler from merging the sums, which are equal
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * factor + term;
  for (Vector& sum : sums) asm volatile("" : "+m"(sum));  // keeps the compiler from removing the loop
}
template <class Vector> [[gnu::always_inline]] inline void read(const float* from, int64_t count) {
  constexpr int64_t kFloats = sizeof(Vector) / sizeof(float);
  Vector sums[8] = {};
  for (int64_t i = 0; i + 8 * kFloats <= count; i += 8 * kFloats)
#pragma GCC unroll 8
    for (int k = 0; k < 8; ++k) sums[k] += *reinterpret_cast<const Vector*>(from + i + k * kFloats);
  for (Vector& sum : sums) asm volatile("" : "+m"(sum));
}
/// The loops to time, compiled for one vector width.
struct VectorLoops {
  int floats;
  void (*multiply_and_add)(int64_t rounds);
  void (*read)(const float* from, int64_t count);
};
#if defined(__x86_64__)
[[gnu::target("avx512f")]] void multiply_and_add_avx512(int64_t rounds) { multiply_and_add<Vector64>(rounds); }
[[gnu::target("avx512f")]] void read_avx512(const float* from, int64_t count) { read<Vector64>(from, count); }
[[gnu::target("avx2,fma")]] void multiply_and_add_avx2(int64_t rounds) { multiply_and_add<Vector32>(rounds); }
[[gnu::target("avx2,fma")]] void read_avx2(const float* from, int64_t count) { read<Vector32>(from, count); }
#endif
/// Returns the loops with the widest vectors that Tandem's kernels use on this CPU.
VectorLoops widest_vector_loops() {
#if defined(__x86_64__)
  if (cpu_isa() == CpuIsa::v4) return {16, multiply_and_add_avx512, read_avx512};
  if (cpu_isa() == CpuIsa::v3) return {8, multiply_and_add_avx2, read_avx2};
#endif
  return {4, multiply_and_add<Vector16>, read<Vector16>};
}

/// Copies `count` floats with non-temporal stores; writes zeros if `from` is null.
void copy_nontemporal(const float* from, float* to, int64_t count) {
#if defined(__SSE__)
  for (int64_t i = 0; i < count; i += 4) _mm_stream_ps(to + i, from ? _mm_load_ps(from + i) : _mm_setzero_ps());
  _mm_sfence();
#else
  from ? std::memcpy(to, from, size_t(count) * 4) : std::memset(to, 0, size_t(count) * 4);
#endif
}

}  // namespace

double MachineLimits::fma_flops() {
  if (fma_flops_ > 0) return fma_flops_;
  const VectorLoops loops = widest_vector_loops();
  constexpr int64_t kRounds = 1 << 18;
  const int64_t threads = get_num_threads();
  const double seconds = measure_min_seconds(
      [&] { parallel_for(threads, 1, [&](int64_t, int64_t) { loops.multiply_and_add(kRounds); }); });
  return fma_flops_ = 2.0 * 12 * loops.floats * static_cast<double>(kRounds * threads) / seconds;
}

double MachineLimits::matmul_flops(DType dtype) {
  double& best = matmul_flops_[dtype];
  for (const int64_t n : {512, 1024, 2048}) {
    if (best > 0 && n == 512) break;
    const Tensor a = ones({n, n}).to(dtype), b = ones({n, n}).to(dtype);
    const auto size = static_cast<double>(n);
    best = std::max(best, 2 * size * size * size / measure_min_seconds([&] { matmul(a, b); }));
  }
  return best;
}

double MachineLimits::bandwidth(MemoryTraffic traffic, double bytes) {
  const int power = std::clamp(static_cast<int>(std::lround(std::log2(bytes))), 12, 30);
  double& best = bandwidths_[{traffic, power}];
  if (best > 0) return best;
  const int64_t total = int64_t(1) << power, each = traffic == MemoryTraffic::copy ? total / 2 : total,
                floats = each / 4;
  // ones() writes to every page, so that all pages are mapped before the measurement
  const Tensor from = ones({floats}), to = ones({floats});
  const float* const in = from.data_ptr<float>();
  float* const out = to.data_ptr<float>();
  // One chunk per thread, so that all threads get equal work.
  const int64_t grain = std::max<int64_t>((floats / get_num_threads() + 63) / 64 * 64, 4096);
  const auto measure = [&](auto piece) {
    const double seconds = measure_min_seconds(
        [&] { parallel_for(floats, grain, [&](int64_t begin, int64_t end) { piece(begin, end - begin); }); });
    best = std::max(best, static_cast<double>(total) / seconds);
  };
  const auto size = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  if (traffic == MemoryTraffic::read)
    measure([&, loops = widest_vector_loops()](int64_t at, int64_t count) { loops.read(in + at, count); });
  else if (traffic == MemoryTraffic::write)
    measure([&](int64_t at, int64_t count) { std::memset(out + at, 0, size(count)); });
  else
    measure([&](int64_t at, int64_t count) { std::memcpy(out + at, in + at, size(count)); });
  if (traffic != MemoryTraffic::read)
    measure([&](int64_t at, int64_t count) {
      copy_nontemporal(traffic == MemoryTraffic::copy ? in + at : nullptr, out + at, count);
    });
  return best;
}

double MachineLimits::min_seconds(const Case& c) {
  const Benchmark& b = *c.benchmark;
  double seconds = 0;
  if (b.flops) {
    const bool narrow = b.name.find("bfloat16") != std::string::npos;
    seconds = b.flops(c.shapes) / matmul_flops(narrow ? kBFloat16 : kFloat32);
  }
  if (b.bytes) {
    const double bytes = b.bytes(c.shapes);
    const MemoryTraffic traffic = b.bytes == read_one_bytes    ? MemoryTraffic::read
                                  : b.bytes == write_one_bytes ? MemoryTraffic::write
                                                               : MemoryTraffic::copy;
    seconds = std::max(seconds, bytes / bandwidth(traffic, bytes));
  }
  return seconds;
}

}  // namespace tandem::benchmarks
