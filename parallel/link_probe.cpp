// Implements the link probe: times all-reduces of two sizes, and computes a bucket size from latency and bandwidth.
#include "tandem/parallel/link_probe.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/trace/tracer.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::nn::parallel {

detail::LinkEstimate detail::probe_link(const std::string& caller, distributed::ProcessGroup& group) {
  constexpr int64_t kSizes[] = {4 << 10, 4 << 20};
  constexpr int kRepeats = 5;
  double min_times[] = {HUGE_VAL, HUGE_VAL};
  for (size_t i = 0; i < 2; ++i) {
    const Tensor x = zeros({kSizes[i] / 4}, TensorOptions(kFloat32).device(group.device()));
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      group.barrier(caller + ": before a look at the link")->wait();
      const double start = tandem::detail::trace_clock_seconds();
      group.all_reduce(x, distributed::ReduceOp::SUM, caller + ": a look at the link")->synchronize();
      if (repeat > 0) min_times[i] = std::min(min_times[i], tandem::detail::trace_clock_seconds() - start);
    }
  }
  const Tensor times = tensor({min_times[0], min_times[1]}, kFloat64).to(group.device());
  group.all_reduce(times, distributed::ReduceOp::MAX, caller + ": the link's times")->synchronize();
  const Tensor slowest = times.cpu();
  const double small = slowest[0].item<double>(), large = slowest[1].item<double>();
  LinkEstimate link;
  link.bandwidth = static_cast<double>(kSizes[1] - kSizes[0]) / std::max(large - small, 1e-9);
  link.latency = std::max(small - static_cast<double>(kSizes[0]) / link.bandwidth, 1e-9);
  return link;
}

int64_t detail::optimal_bucket_bytes(const LinkEstimate& link, int64_t bytes) {
  constexpr int64_t kMinBytes = 64 << 10;
  const double best = std::sqrt(static_cast<double>(bytes) * link.bandwidth * link.latency);
  return std::max(kMinBytes, static_cast<int64_t>(std::min(best, static_cast<double>(bytes))));
}

}  // namespace tandem::nn::parallel
