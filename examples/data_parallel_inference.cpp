// Measures the overhead of DataParallel: times the forward pass of FashionCNN for several batch sizes and device
// counts. If batches are small, copies and the start of threads take longer than the computation. The devices are
// virtual and share the cores of this machine, so the times say nothing about GPUs. usage: data_parallel_inference
// [REPEATS]
#include <tandem/models/models.h>
#include <tandem/tandem.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace tandem;

/// Returns the median milliseconds of `repeats` calls, after one call that is not timed.
template <class F> double median_ms(int repeats, const F& f) {
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = std::chrono::steady_clock::now();
    f();
    const std::chrono::duration<double, std::milli> passed = std::chrono::steady_clock::now() - start;
    if (i > 0) times.push_back(passed.count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

int main(int argc, char** argv) {
  const int repeats = std::max(1, argc > 1 ? std::atoi(argv[1]) : 10);
  const std::vector<int> counts = {1, 2, 4};
  set_cpu_device_count(counts.back());
  manual_seed(1);
  models::FashionCnn net;
  net->eval();
  const NoGradGuard no_grad;

  std::printf(
      "forward of FashionCNN on %d cores, milliseconds (persistent: parameters copied once, not in each call)\n",
      get_num_threads());
  std::printf("%8s %10s", "batch", "plain");
  for (const int k : counts) std::printf(" %9s%d %11s", "DP over ", k, "persistent");
  std::printf("\n");
  for (const int64_t batch : {1, 8, 64, 512}) {
    const Tensor x = randn({batch, 1, 28, 28});
    std::printf("%8d %10.3f", static_cast<int>(batch), median_ms(repeats, [&] { net(x); }));
    for (const int k : counts) {
      std::vector<Device> devices;
      devices.reserve(static_cast<size_t>(k));
      for (int i = 0; i < k; ++i) devices.emplace_back(kCPU, i);
      for (const bool persistent : {false, true}) {
        nn::DataParallel dp(net, devices, {}, nn::DataParallelOptions().persistent_replicas(persistent));
        std::printf(persistent ? " %11.3f" : " %10.3f", median_ms(repeats, [&] { dp(x); }));
      }
    }
    std::printf("\n");
  }
}
