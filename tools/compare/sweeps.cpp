#include "tandem/tools/compare/sweeps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tandem/core/internal.h"
#include "tandem/core/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

constexpr double kLeastBucket = 64 << 10;  // bytes

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(std::max<size_t>(values.size(), 1));
}

}  // namespace

double bucket_for(const simulate::Link& link, double bytes) {
  return std::clamp(std::sqrt(bytes * link.bandwidth * link.latency), std::min(kLeastBucket, bytes), bytes);
}

BucketSweep sweep_buckets(const Mode& mode, const Job& job, int repeats, const simulate::StepProfile& profile,
                          const simulate::Link& link) {
  const double all = gradient_bytes(profile);
  BucketSweep sweep;
  sweep.model = job.model, sweep.backend = mode.backend, sweep.devices = job.devices, sweep.batch = job.batch;
  for (double bytes = kLeastBucket; bytes < all; bytes *= 4) sweep.bytes.push_back(static_cast<int64_t>(bytes));
  sweep.bytes.push_back(static_cast<int64_t>(all));
  sweep.predicted_best = static_cast<int64_t>(bucket_for(link, all));
  std::vector<std::vector<double>> seconds(sweep.bytes.size());
  Mode swept = mode;
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (size_t i = 0; i < sweep.bytes.size(); ++i) {
      swept.bucket_mib = static_cast<double>(sweep.bytes[i]) / (1 << 20);
      seconds[i].push_back(mean(run_sample(swept, job).seconds()));
    }
  for (size_t i = 0; i < sweep.bytes.size(); ++i) {
    sweep.seconds.push_back(interval_of(seconds[i]));
    swept.bucket_mib = static_cast<double>(sweep.bytes[i]) / (1 << 20);
    sweep.predicted.push_back(predicted_seconds(swept, job, profile, link));
  }
  return sweep;
}

Inference sweep_inference(const Job& job, int repeats) {
  const NoGradGuard no_grad;
  Inference out;
  out.model = job.model, out.devices = job.devices;
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(job.devices));
  for (int i = 0; i < job.devices; ++i) devices.emplace_back(Device(job.device).type(), i);
  manual_seed(job.seed);
  Net net(job.model);
  net->to(devices[0]);
  net->eval();
  std::vector<Worker> workers;
  for (const char* const key : {"single", "dp", "dp_persistent"})
    workers.push_back(make_worker(mode_of(key), net, devices));
  for (const int64_t batch : {1, 8, 64, 512}) {
    const Tensor x = randn({batch, 1, 28, 28}, TensorOptions().device(devices[0]));
    std::vector<std::vector<double>> seconds(workers.size());
    for (int repeat = 0; repeat <= repeats; ++repeat)
      for (size_t w = 0; w < workers.size(); ++w) {
        const double start = trace_clock();
        workers[w].forward(x);
        if (devices[0].is_cuda()) cuda::synchronize(devices[0]);
        if (repeat > 0) seconds[w].push_back(trace_clock() - start);
      }
    out.batch.push_back(batch);
    out.single.push_back(interval_of(seconds[0]));
    out.dp.push_back(interval_of(seconds[1])), out.dp_persistent.push_back(interval_of(seconds[2]));
  }
  return out;
}

}  // namespace tandem::tools::compare
