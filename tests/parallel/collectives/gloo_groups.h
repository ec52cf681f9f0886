// Helpers for tests over Gloo: process groups whose ranks are threads, and their input data.
#pragma once
#include <atomic>
#include <cmath>
#include <ostream>

#include "tandem/ops/factory/tensor.h"
#include "tandem/tests/formula.h"
#include "tandem/tests/parallel/ranks.h"

namespace tandem::test {

/// How ranks exchange data
enum class GlooTransport { memory, tcp };
inline std::ostream& operator<<(std::ostream& out, GlooTransport transport) {
  return out << (transport == GlooTransport::memory ? "through shared memory" : "over TCP");
}

inline std::vector<std::string> run_group(int size, std::chrono::milliseconds timeout,
                                          const std::function<void(distributed::ProcessGroup&)>& f,
                                          GlooTransport transport = GlooTransport::memory) {
  return run_gloo_ranks(
      size, timeout, [&](const distributed::ProcessGroupPtr& group) { f(*group); },
      [transport](int) { return transport == GlooTransport::memory; });
}
/// Runs f on every rank and returns the sum of the errors that the ranks counted: Catch2's assertions are not
/// thread-safe.
inline int64_t count_wrong(int size, const std::function<int64_t(distributed::ProcessGroup&)>& f,
                           GlooTransport transport = GlooTransport::memory) {
  std::atomic<int64_t> wrong{0};
  const auto counted = [&](distributed::ProcessGroup& group) { wrong += f(group); };
  for (const std::string& error : run_group(size, std::chrono::seconds(60), counted, transport))
    if (!error.empty()) {
      UNSCOPED_INFO(error);
      ++wrong;
    }
  return wrong;
}
/// Element i of rank r: fractions that get rounded for floating-point dtypes, small integers for the others.
inline double element(DType dtype, int rank, int64_t i) {
  const double unit = test::unit(i, static_cast<uint32_t>(rank + 1));
  if (is_floating_point(dtype)) return 3 * unit - 1;
  return dtype == kBool ? (unit < 0.4 ? 1 : 0) : std::floor(12 * unit);
}
inline Tensor input(DType dtype, int rank, int64_t n) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) values.push_back(element(dtype, rank, i));
  return tensor(values, kFloat64).to(dtype);
}

}  // namespace tandem::test
