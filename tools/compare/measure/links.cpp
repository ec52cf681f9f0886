// Implements probe_copies and probe_all_reduce: time transfers of 4 KiB to 16 MiB, and fit a line to the times.
#include "tandem/tools/compare/measure/links.h"

#include <algorithm>

#include "tandem/core/trace/tracer.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

/// Returns message sizes from 4 KiB to 16 MiB, each four times the previous one.
std::vector<int64_t> message_sizes() {
  std::vector<int64_t> out;
  for (int64_t bytes = 4096; bytes <= int64_t{16} << 20; bytes *= 4) out.push_back(bytes);
  return out;
}
void synchronize_device(Device device) {
  if (device.is_cuda()) cuda::synchronize(device);
}

ProbedLink fit_probe(const std::string& name, const std::vector<std::vector<double>>& seconds, int ranks) {
  ProbedLink out;
  out.probe.name = name;
  out.probe.bytes = message_sizes();
  std::vector<simulate::LinkPoint> points;
  for (size_t i = 0; i < seconds.size(); ++i) {
    out.probe.seconds.push_back(compute_confidence_interval(seconds[i]));
    points.push_back({static_cast<double>(out.probe.bytes[i]), out.probe.seconds.back().median, std::max(ranks, 2)});
  }
  const simulate::LinkFit fit = ranks > 0 ? simulate::fit_ring(points) : simulate::fit_link(points);
  out.link = fit.link;
  // The page draws the time of an all-reduce of S bytes as a line, a + S / B. So converts the latency and bandwidth of
  // the ring's links to the latency a and bandwidth B of the whole all-reduce.
  const double n = ranks, a = fit.link.latency, b = fit.link.bandwidth;
  out.probe.latency = ranks > 0 ? 2 * (n - 1) * a : a;
  out.probe.bandwidth = ranks > 0 ? b * n / (2 * (n - 1)) : b;
  out.probe.error = fit.median_error;
  return out;
}

}  // namespace

ProbedLink probe_copies(const Job& job) {
  const DeviceType type = Device(job.device).type();
  const Device from(type, 0), to(type, 1);
  std::vector<std::vector<double>> seconds;
  for (const int64_t bytes : message_sizes()) {
    const Tensor x = zeros({bytes}, TensorOptions(kUInt8).device(from));
    const Tensor y = zeros({bytes}, TensorOptions(kUInt8).device(to));
    std::vector<double> times;
    for (int i = 0; i <= kLinkRepeats; ++i) {
      const double start = trace_clock_seconds();
      Tensor(y).copy_(x);
      synchronize_device(from);
      synchronize_device(to);
      if (i > 0) times.push_back(trace_clock_seconds() - start);
    }
    seconds.push_back(std::move(times));
  }
  return fit_probe(from.str() + " -> " + to.str() + ", copy", seconds, 0);
}

std::vector<std::vector<double>> time_all_reduces() {
  const distributed::ProcessGroupPtr group = distributed::default_group();
  std::vector<std::vector<double>> seconds;
  for (const int64_t bytes : message_sizes()) {
    const Tensor x = zeros({bytes / 4}, TensorOptions(kFloat32).device(group->device()));
    std::vector<double> times;
    for (int i = 0; i <= kLinkRepeats; ++i) {
      group->barrier()->wait();
      const double start = trace_clock_seconds();
      group->all_reduce(x)->synchronize();
      if (i > 0) times.push_back(trace_clock_seconds() - start);
    }
    seconds.push_back(std::move(times));
  }
  return seconds;
}

ProbedLink probe_all_reduce(const Mode& mode, const Job& job) {
  Job probe = job;
  probe.probe = true;
  const Sample sample = run_sample(mode, probe);
  return fit_probe("all-reduce, " + mode.backend + ", " + std::to_string(job.devices) + " ranks",
                   sample.ranks.at(0).all_reduce_seconds, job.devices);
}

}  // namespace tandem::tools::compare
