// Small jobs for the tests of `tandem compare`, and helpers to run them and read their steps.
#pragma once
#include <string>
#include <vector>

#include "tandem/core/device.h"
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/compare/measure/time_breakdown.h"

namespace tandem::test {

using tools::compare::Job;
using tools::compare::Lane;
using tools::compare::Mode;
using tools::compare::RankSample;
using tools::compare::Sample;

/// A few short steps of a small network on virtual CPU devices, with random images
inline Job small_job(int devices, const std::string& model = "mlp") {
  if (cpu_device_count() < 4) set_cpu_device_count(4);
  Job job;
  // Two warm-up steps are not timed, because DistributedDataParallel's ranks agree on the bucket order in the second.
  job.model = model, job.devices = devices, job.batch = 12, job.warmup = 2, job.steps = 2, job.trace = true;
  return job;
}
inline std::vector<std::vector<Lane>> lanes_by_step(const Mode& mode, const Job& job, const Sample& sample) {
  std::vector<std::vector<tools::compare::StepTimes>> steps;
  for (const RankSample& rank : sample.ranks) steps.push_back(rank.steps);
  std::vector<std::string> names;
  for (int i = 0; i < (mode.kind == Mode::Kind::single ? 1 : job.devices); ++i)
    names.push_back((mode.kind == Mode::Kind::distributed ? "rank " : "cpu:") + std::to_string(i));
  return break_down_steps(sample.events(), steps, names, sample.activities());
}
inline std::vector<Lane> lanes_of(const Mode& mode, const Job& job, const Sample& sample) {
  return mean_lanes(lanes_by_step(mode, job, sample));
}

}  // namespace tandem::test
