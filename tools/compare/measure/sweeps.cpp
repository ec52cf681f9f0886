// Implements sweep_buckets, measure_overhead and sweep_inference, which repeat measurements and compute medians with
// intervals.
#include "tandem/tools/compare/measure/sweeps.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/trace/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/measure/batches.h"
#include "tandem/tools/compare/statistics.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {

using namespace page;

namespace {

constexpr double kMinBucketBytes = 64 << 10;  // least bucket size in bytes

}  // namespace

double optimal_bucket_bytes(const simulate::Link& link, double bytes) {
  return std::clamp(std::sqrt(bytes * link.bandwidth * link.latency), std::min(kMinBucketBytes, bytes), bytes);
}

BucketSweep sweep_buckets(const Mode& mode, const Job& job, int repeats, const simulate::StepProfile& profile,
                          const simulate::Link& link) {
  const double all = gradient_bytes(profile);
  BucketSweep sweep;
  sweep.model = job.model;
  sweep.backend = mode.backend;
  sweep.devices = job.devices;
  sweep.batch = job.batch;
  for (double bytes = kMinBucketBytes; bytes < all; bytes *= 4) sweep.bytes.push_back(static_cast<int64_t>(bytes));
  sweep.bytes.push_back(static_cast<int64_t>(all));
  sweep.predicted_best = static_cast<int64_t>(optimal_bucket_bytes(link, all));
  std::vector<std::vector<double>> seconds(sweep.bytes.size());
  Mode swept = mode;
  for (int repeat = 0; repeat < repeats; ++repeat)
    for (size_t i = 0; i < sweep.bytes.size(); ++i) {
      swept.bucket_mib = static_cast<double>(sweep.bytes[i]) / (1 << 20);
      seconds[i].push_back(mean(run_sample(swept, job).seconds()));
    }
  for (size_t i = 0; i < sweep.bytes.size(); ++i) {
    sweep.seconds.push_back(compute_confidence_interval(seconds[i]));
    swept.bucket_mib = static_cast<double>(sweep.bytes[i]) / (1 << 20);
    sweep.predicted.push_back(predict_seconds(swept, job, profile, link));
  }
  return sweep;
}

Overhead measure_overhead(const Mode& mode, const Job& job, int repeats, const Job& fitted,
                          const simulate::StepProfile& profile, const LinkProbe& probe) {
  Overhead out;
  out.model = job.model;
  out.backend = mode.backend;
  out.devices = job.devices;
  out.fitted_devices = fitted.devices;
  out.batch = job.batch;
  out.fitted_batch = fitted.batch;
  Mode no_communication = mode;
  no_communication.kind = Mode::Kind::single;
  no_communication.independent_ranks = true;
  std::vector<double> differences;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double with = percentile(run_sample(mode, job).seconds(), 0.5);
    differences.push_back(with - percentile(run_sample(no_communication, job).seconds(), 0.5));
  }
  out.measured = compute_confidence_interval(differences);
  // CPU devices are virtual and share the cores, so with twice as many devices, each one computes for twice as long.
  simulate::StepProfile scaled = scale_to_samples(profile, static_cast<double>(job.batch) / job.devices);
  if (Device(job.device).is_cpu())
    for (double* const seconds : {&scaled.forward_seconds, &scaled.backward_seconds})
      *seconds *= static_cast<double>(job.devices) / fitted.devices;
  const auto exposed = [&](double Interval::*which) {
    std::vector<simulate::LinkPoint> points;
    for (size_t i = 0; i < probe.bytes.size(); ++i)
      points.push_back({static_cast<double>(probe.bytes[i]), probe.seconds[i].*which, fitted.devices});
    const double alone_seconds = one_device_seconds(scaled);
    return predict_seconds(mode, job, scaled, simulate::fit_ring(points).link) - alone_seconds;
  };
  out.predicted.median = exposed(&Interval::median);
  const double low = exposed(&Interval::low), high = exposed(&Interval::high);
  out.predicted.low = std::min({low, high, out.predicted.median});
  out.predicted.high = std::max({low, high, out.predicted.median});
  return out;
}

Interval tracing_cost(const Job& job, int pairs) {
  const TracedSteps steps = alternate_tracing(job, pairs);
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(steps.traced.size(), steps.untraced.size()); ++i)
    ratios.push_back(steps.traced[i] / steps.untraced[i] - 1);
  return compute_confidence_interval(ratios);
}

std::vector<std::string> describe_skill(const std::vector<Overhead>& overheads) {
  std::vector<double> model_errors, zero_overhead_errors, constant_overhead_errors;
  int num_intervals = 0, num_covered = 0, overlap = 0;
  const auto fitted_overhead = [&](const Overhead& o) {
    const auto at = std::find_if(overheads.begin(), overheads.end(), [&](const Overhead& f) {
      return f.model == o.model && f.backend == o.backend && f.devices == o.fitted_devices && f.batch == o.fitted_batch;
    });
    return at == overheads.end() ? 0.0 : at->measured.median;
  };
  for (const Overhead& o : overheads) {
    if (o.devices == o.fitted_devices && o.batch == o.fitted_batch) continue;
    const double measured = o.measured.median;
    model_errors.push_back(std::abs(o.predicted.median - measured));
    zero_overhead_errors.push_back(std::abs(measured));
    constant_overhead_errors.push_back(std::abs(fitted_overhead(o) - measured));
    num_intervals += o.measured.is_valid() ? 1 : 0;
    num_covered += o.predicted.median >= o.measured.low && o.predicted.median <= o.measured.high ? 1 : 0;
    overlap += o.predicted.high >= o.measured.low && o.predicted.low <= o.measured.high ? 1 : 0;
  }
  if (model_errors.empty()) return {};
  const double model = mean(model_errors), none = mean(zero_overhead_errors), same = mean(constant_overhead_errors);
  std::string text = str_cat("What communication adds to a step of DDP here, for ", model_errors.size(),
                             " numbers of ranks and batch sizes that the model was not fitted to: it is off by ",
                             format_duration(model), " in the mean; \"nothing\" is off by ", format_duration(none),
                             ", \"the same as where it was fitted\" by ", format_duration(same), ". ");
  text += num_intervals > 0
              ? str_cat(num_covered, " of the ", num_intervals, " measured intervals contain the prediction, ", overlap,
                        " overlap with its interval. ")
              : str_cat("The measured figures have no intervals, which need ", min_num_values(), " repeats. ");
  text += model < std::min(none, same) ? "So it has skill here." : "So it has no skill here: do not rely on it.";
  return {text};
}

Inference sweep_inference(const Job& job, int repeats) {
  const NoGradGuard no_grad;
  Inference out;
  out.model = job.model;
  out.devices = job.devices;
  std::vector<Device> devices;
  devices.reserve(static_cast<size_t>(job.devices));
  for (int i = 0; i < job.devices; ++i) devices.emplace_back(Device(job.device).type(), i);
  manual_seed(job.seed);
  Net net(job.model);
  net->to(devices[0]);
  net->eval();
  std::vector<Worker> workers;
  for (const char* const key : {"single", "dp", "dp_persistent"})
    workers.push_back(make_worker(find_mode(key), net, devices));
  // A text costs about as much as ten images.
  const bool texts = example_sizes(job.model).tokens;
  for (const int64_t batch : texts ? std::vector<int64_t>{1, 4, 16, 64} : std::vector<int64_t>{1, 8, 64, 512}) {
    Job one_batch = job;
    one_batch.batch = batch;
    const Tensor x = Batches(one_batch, 0, 1).get(0).data.to(devices[0]);
    std::vector<std::vector<double>> seconds(workers.size());
    for (int repeat = 0; repeat <= repeats; ++repeat)
      for (size_t w = 0; w < workers.size(); ++w) {
        const double start = trace_clock_seconds();
        workers[w].forward(x);
        if (devices[0].is_cuda()) cuda::synchronize(devices[0]);
        if (repeat > 0) seconds[w].push_back(trace_clock_seconds() - start);
      }
    out.batch.push_back(batch);
    out.single.push_back(compute_confidence_interval(seconds[0]));
    out.dp.push_back(compute_confidence_interval(seconds[1]));
    out.dp_persistent.push_back(compute_confidence_interval(seconds[2]));
  }
  return out;
}

}  // namespace tandem::tools::compare
