// Implements the link probe: times all-reduces of two sizes, and computes a bucket size from latency and bandwidth.
#include "tandem/parallel/link_probe.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/trace/tracer.h"
#include "tandem/ops/factory/tensor.h"
#include "tandem/ops/factory/zeros_ones_full.h"

namespace tandem::nn::parallel {

detail::LinkEstimate detail::probe_link(const std::string& who, distributed::ProcessGroup& group) {
  constexpr int64_t kSizes[] = {4 << 10, 4 << 20};
  constexpr int kRepeats = 5;
  double least[] = {HUGE_VAL, HUGE_VAL};
  for (size_t i = 0; i < 2; ++i) {
    const Tensor x = zeros({kSizes[i] / 4}, TensorOptions(kFloat32).device(group.device()));
    for (int repeat = 0; repeat <= kRepeats; ++repeat) {
      group.barrier(who + ": before a look at the link")->wait();
      const double start = tandem::detail::trace_clock();
      group.all_reduce(x, distributed::ReduceOp::SUM, who + ": a look at the link")->synchronize();
      if (repeat > 0) least[i] = std::min(least[i], tandem::detail::trace_clock() - start);
    }
  }
  const Tensor times = tensor({least[0], least[1]}, kFloat64).to(group.device());
  group.all_reduce(times, distributed::ReduceOp::MAX, who + ": the link's times")->synchronize();
  const Tensor slowest = times.cpu();
  const double small = slowest[0].item<double>(), large = slowest[1].item<double>();
  LinkEstimate link;
  link.bandwidth = static_cast<double>(kSizes[1] - kSizes[0]) / std::max(large - small, 1e-9);
  link.latency = std::max(small - static_cast<double>(kSizes[0]) / link.bandwidth, 1e-9);
  return link;
}

int64_t detail::bucket_bytes_for(const LinkEstimate& link, int64_t bytes) {
  constexpr int64_t kLeast = 64 << 10;
  const double best = std::sqrt(static_cast<double>(bytes) * link.bandwidth * link.latency);
  return std::max(kLeast, static_cast<int64_t>(std::min(best, static_cast<double>(bytes))));
}

}  // namespace tandem::nn::parallel
