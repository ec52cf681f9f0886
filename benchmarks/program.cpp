#include "tandem/benchmarks/program.h"

#include <chrono>

#include "tandem/core/generator.h"

namespace tandem::benchmarks {
namespace {

double seconds_per_call(const Run& run, int64_t iterations) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < iterations; ++i) run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
         static_cast<double>(iterations);
}

}  // namespace

std::string OwnProgram::version() const { return TANDEM_VERSION; }

std::optional<double> OwnProgram::prepare(const Case& c) {
  manual_seed(0);
  const Run& run = ready_[c.key()] = c.benchmark->prepare(c.shapes);
  for (int i = 0; i < 3; ++i) run();
  // One call says how many make a tenth of what a sample takes; those many say how long one takes.
  const double one = seconds_per_call(run, 1);
  return seconds_per_call(run, std::clamp<int64_t>(static_cast<int64_t>(0.005 / std::max(one, 1e-9)), 1, 10000));
}
double OwnProgram::time(const Case& c, int64_t iterations) {
  const Run& run = ready_.at(c.key());
  run();
  return seconds_per_call(run, iterations);
}

}  // namespace tandem::benchmarks
