#include "tandem/benchmarks/program.h"

#include <chrono>

#include <vector>

#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/generator.h"
#include "tandem/core/version.h"

namespace tandem::benchmarks {
namespace {

double seconds_per_call(const Run& run, int64_t iterations) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < iterations; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(iterations);
}

/// Returns the mean seconds per call, timed by events on the stream. Each call follows a fill that overwrites the L2
/// cache. While the GPU runs the fill, the host has time to launch the call.
double gpu_seconds_per_call(const Run& run, int64_t iterations) {
  constexpr int64_t kMaxCalls = 200;  // more calls do not improve the mean, and each call needs two events
  const auto count = static_cast<size_t>(std::min(iterations, kMaxCalls));
  const tandem::cuda::Stream stream = tandem::cuda::current_stream(device());
  const gpu::DeviceGuard guard(device().index());
  static const Tensor flush =
      core::empty({2 * tandem::cuda::get_device_properties(device()).L2_cache_size}, kUInt8, device());
  std::vector<tandem::cuda::Event> starts(count, tandem::cuda::Event(true)), ends = starts;
  for (size_t i = 0; i < count; ++i) {
    gpu::fill_bytes_async(flush.raw_data(), 0, static_cast<size_t>(flush.nbytes()), stream.handle());
    starts[i].record(stream);
    run();
    ends[i].record(stream);
  }
  stream.synchronize();
  double milliseconds = 0;
  for (size_t i = 0; i < count; ++i) milliseconds += starts[i].elapsed_time(ends[i]);
  return milliseconds * 1e-3 / static_cast<double>(count);
}
double seconds_per_call(const Benchmark& benchmark, const Run& run, int64_t iterations) {
  if (device().is_cpu()) return seconds_per_call(run, iterations);
  const bool uses_host_clock =
      benchmark.name.find("train_step") != std::string::npos || benchmark.name.find("overhead") != std::string::npos;
  if (!uses_host_clock) return gpu_seconds_per_call(run, iterations);
  tandem::cuda::synchronize(device());
  return seconds_per_call(
      [&run, left = iterations]() mutable {
        run();
        if (--left == 0) tandem::cuda::synchronize(device());
      },
      iterations);
}

}  // namespace

std::string TandemProgram::version() const { return TANDEM_VERSION; }

std::optional<double> TandemProgram::prepare(const Case& c) {
  manual_seed(0);
  const Run& run = prepared_runs_[c.key()] = c.benchmark->prepare(c.shapes);
  for (int i = 0; i < 3; ++i) run();
  // Estimates in two steps: the time of one call gives the number of calls that take about 5 ms, and the mean over
  // these calls is the estimate.
  const double one = seconds_per_call(*c.benchmark, run, 1);
  return seconds_per_call(*c.benchmark, run,
                          std::clamp<int64_t>(static_cast<int64_t>(0.005 / std::max(one, 1e-9)), 1, 10000));
}
double TandemProgram::measure_seconds_per_call(const Case& c, int64_t iterations) {
  const Run& run = prepared_runs_.at(c.key());
  run();
  return seconds_per_call(*c.benchmark, run, iterations);
}

}  // namespace tandem::benchmarks
