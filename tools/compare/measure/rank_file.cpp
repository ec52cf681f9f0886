// Implements write_rank_sample and read_rank_sample: write and read a rank's measurements as a JSON file.
#include "tandem/tools/compare/measure/rank_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/core/threads/thread_pool.h"

namespace tandem {

void to_json(nlohmann::json& json, const Device& device) { json = device.str(); }
void from_json(const nlohmann::json& json, Device& device) { device = Device(json.get<std::string>()); }
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TraceEvent, kind, name, lane, thread, device, to, start, end, queued, bytes,
                                   cpu_start, cpu_end)

}  // namespace tandem

namespace tandem::tools::compare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Memory, device, peak, at_peak, seconds, over_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StepTimes, start, end, cpu_start, cpu_end, without_core, outputs_done)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ActivitySample, time, cpu, waited)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimeSpan, start, end)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Activity, samples, stops)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fingerprint, step, op, hash, inputs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankSample, rank, steps, losses, events, shown_step, memory, activity, machine_cpu,
                                   process_cpu, bytes_moved, planted_seconds, parameter_bytes, buffer_bytes, parameters,
                                   fingerprints, all_reduce_seconds)

namespace {

std::string rank_file_path(const std::string& folder, int rank) {
  return folder + "/rank_" + std::to_string(rank) + ".json";
}

}  // namespace

std::vector<std::string> make_rank_arguments(const Mode& mode, const Job& job) {
  // The backend and the bucket size (--rank-bucket-mib) are enough to identify any DDP mode.
  std::vector<std::string> arguments = {"--mode", "ddp_" + mode.backend, "--model", job.model};
  const auto add = [&](const char* option, const std::string& value) {
    arguments.emplace_back(option);
    arguments.push_back(value);
  };
  add("--rank-data", job.data);
  add("--device", job.device);
  add("--devices", std::to_string(job.devices));
  add("--batch-size", std::to_string(job.batch));
  add("--seed", std::to_string(job.seed));
  const int threads = job.threads > 0 ? job.threads : get_num_threads();
  add("--threads", std::to_string(std::max(1, threads / job.devices)));
  add("--rank-steps", std::to_string(job.warmup) + "," + std::to_string(job.steps));
  add("--plant", str(job.fault));
  if (job.probe) arguments.emplace_back("--rank-probe");
  if (job.for_reference_comparison) arguments.emplace_back("--rank-plain");
  if (job.fingerprints) arguments.emplace_back("--rank-fingerprints");
  if (job.trace) arguments.emplace_back("--rank-trace");
  std::ostringstream mib;
  mib.precision(17);
  mib << mode.bucket_mib;
  add("--rank-bucket-mib", mib.str());
  return arguments;
}

void write_rank_sample(const std::string& folder, const RankSample& sample) {
  std::ofstream out(rank_file_path(folder, sample.rank));
  out << nlohmann::json(sample);
  out.close();
  TANDEM_CHECK(out, "compare: cannot write ", rank_file_path(folder, sample.rank), ": ", std::strerror(errno));
}

RankSample read_rank_sample(const std::string& folder, int rank) {
  std::ifstream in(rank_file_path(folder, rank));
  TANDEM_CHECK(in, "compare: rank ", rank, " wrote no result to ", rank_file_path(folder, rank),
               "; its own messages may say why");
  return nlohmann::json::parse(in).get<RankSample>();
}

}  // namespace tandem::tools::compare
