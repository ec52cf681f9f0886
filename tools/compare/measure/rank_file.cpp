// write_rank and read_rank: a rank's sample as a JSON file.
#include "tandem/tools/compare/measure/rank_file.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/core/threads/thread_pool.h"

namespace tandem::tools::compare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Memory, device, peak, at_peak, seconds, over_time)

namespace {

using nlohmann::json;

std::string path_of(const std::string& folder, int rank) { return folder + "/rank_" + std::to_string(rank) + ".json"; }
json event_json(const TraceEvent& e) {
  return {static_cast<int>(e.kind),
          e.name,
          e.lane,
          e.thread,
          e.device.str(),
          e.to.str(),
          e.start,
          e.end,
          e.queued,
          e.bytes,
          e.cpu_start,
          e.cpu_end};
}
TraceEvent event_of(const json& j) {
  TraceEvent e{.kind = static_cast<TraceEvent::Kind>(j[0].get<int>()), .name = j[1]};
  e.lane = j[2];
  e.thread = j[3];
  e.device = Device(j[4].get<std::string>());
  e.to = Device(j[5].get<std::string>());
  e.start = j[6];
  e.end = j[7];
  e.queued = j[8];
  e.bytes = j[9];
  e.cpu_start = j[10];
  e.cpu_end = j[11];
  return e;
}
json fingerprint_json(const Fingerprint& f) { return {f.step, f.op, f.hash, f.inputs}; }

}  // namespace

std::vector<std::string> arguments_of(const Mode& mode, const Job& job) {
  // Of DDP a rank needs the backend, and the size of the buckets below.
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
  add("--plant", str(job.planted));
  if (job.probe) arguments.emplace_back("--rank-probe");
  if (job.plain) arguments.emplace_back("--rank-plain");
  if (job.fingerprints) arguments.emplace_back("--rank-fingerprints");
  if (job.trace) arguments.emplace_back("--rank-trace");
  std::ostringstream mib;
  mib.precision(17);
  mib << mode.bucket_mib;
  add("--rank-bucket-mib", mib.str());
  return arguments;
}

void write_rank(const std::string& folder, const RankSample& sample) {
  json events = json::array();
  for (const TraceEvent& e : sample.events) events.push_back(event_json(e));
  json fingerprints = json::array();
  for (const Fingerprint& f : sample.fingerprints) fingerprints.push_back(fingerprint_json(f));
  json steps = json::array();
  for (const StepTimes& step : sample.steps) steps.push_back({step.start, step.end, step.cpu_start, step.cpu_end});
  const json j = {{"rank", sample.rank},
                  {"steps", steps},
                  {"losses", sample.losses},
                  {"events", events},
                  {"memory", sample.memory},
                  {"bytes_moved", sample.bytes_moved},
                  {"planted_seconds", sample.planted_seconds},
                  {"parameter_bytes", sample.parameter_bytes},
                  {"buffer_bytes", sample.buffer_bytes},
                  {"parameters", sample.parameters},
                  {"fingerprints", fingerprints},
                  {"all_reduce_seconds", sample.all_reduce_seconds}};
  std::ofstream out(path_of(folder, sample.rank));
  out << j;
  out.close();
  TANDEM_CHECK(out, "compare: cannot write ", path_of(folder, sample.rank));
}

RankSample read_rank(const std::string& folder, int rank) {
  std::ifstream in(path_of(folder, rank));
  TANDEM_CHECK(in, "compare: rank ", rank, " left no result at ", path_of(folder, rank));
  const json j = json::parse(in);
  RankSample sample;
  sample.rank = j["rank"];
  for (const json& step : j["steps"]) sample.steps.push_back({step[0], step[1], step[2], step[3]});
  sample.losses = j["losses"].get<std::vector<double>>();
  for (const json& e : j["events"]) sample.events.push_back(event_of(e));
  sample.memory = j["memory"].get<std::vector<Memory>>();
  for (const json& f : j["fingerprints"]) sample.fingerprints.push_back({f[0], f[1], f[2], f[3]});
  sample.bytes_moved = j["bytes_moved"];
  sample.planted_seconds = j["planted_seconds"];
  sample.parameter_bytes = j["parameter_bytes"].get<std::vector<int64_t>>();
  sample.buffer_bytes = j["buffer_bytes"].get<std::vector<int64_t>>();
  sample.parameters = j["parameters"].get<std::vector<float>>();
  sample.all_reduce_seconds = j["all_reduce_seconds"].get<std::vector<std::vector<double>>>();
  return sample;
}

}  // namespace tandem::tools::compare
