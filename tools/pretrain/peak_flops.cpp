// Measures the peak rate that `tandem pretrain` compares the model's rate with.
#include <algorithm>

#include "tandem/core/durations.h"
#include "tandem/ops/ops.h"
#include "tandem/tools/pretrain/pretrain.h"

namespace tandem::tools::pretrain {

double measure_peak_flops(Device device) {
  using Clock = std::chrono::steady_clock;
  const NoGradGuard no_grad;
  const int64_t n = device.is_cpu() ? 1024 : 8192;
  const Tensor a = ones({n, n}, TensorOptions(kFloat32).device(device)), b = a.clone();
  const double flops = 2 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  const auto time_one = [&] {
    const Clock::time_point start = Clock::now();
    matmul(a, b)[0][0].item<float>();  // waits for the device
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double best = time_one(), all = best;
  while (all < 0.5) {
    const double seconds = time_one();
    best = std::min(best, seconds);
    all += seconds;
  }
  return flops / best;
}

}  // namespace tandem::tools::pretrain
