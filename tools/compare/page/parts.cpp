// Implements helpers that the page's sections share: the colours of modes, phases and causes of memory, and the choice
// of jobs that are shown in detail.
#include "tandem/tools/compare/page/parts.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace tandem::tools::compare {

ModeStyles::ModeStyles(const Report& report) {
  constexpr std::array<int, 4> kWarm = {1, 3, 5, 7};
  constexpr std::array<int, 6> kCool = {0, 4, 2, 8, 6, 9};
  size_t dp = 0, ddp = 0;
  for (const Run& run : report.runs) {
    if (styles_.count(run.mode) != 0) continue;
    int style = kInk;
    if (is_dp(run)) {
      style = kWarm[dp % kWarm.size()] + 10 * static_cast<int>(dp / kWarm.size());
      ++dp;
    } else if (is_ddp(run)) {
      style = kCool[ddp % kCool.size()] + 10 * static_cast<int>(ddp / kCool.size());
      ++ddp;
    }
    styles_[run.mode] = style;
  }
}
int ModeStyles::operator[](const Run& run) const { return styles_.at(run.mode); }

int phase_style(const std::string& phase) {
  static const std::map<std::string, int> styles = {
      {"input", 6}, {"scatter", 1},  {"replicate", 3}, {"forward", 4},   {"gather", 5},
      {"loss", 2},  {"backward", 0}, {"reduce", 7},    {"optimizer", 8}, {"exposed communication", 9}};
  if (phase == "communication") return kHidden;
  if (phase == "wait" || phase == "waiting") return kWaiting;
  const auto found = styles.find(phase);
  return found == styles.end() ? kInk : found->second;
}

int cause_style(const std::string& cause) {
  static const std::map<std::string, int> styles = {{"parameters", 0}, {"replicas", 1},    {"optimizer", 8},
                                                    {"gradients", 4},  {"buckets", 9},     {"input", 6},
                                                    {"workspace", 5},  {"activations", 2}, {"outputs", 3}};
  const auto found = styles.find(cause);
  return found == styles.end() ? 7 : found->second;
}

const std::vector<std::string>& memory_causes() {
  static const std::vector<std::string> causes = {"parameters", "replicas",  "optimizer",   "gradients", "buckets",
                                                  "input",      "workspace", "activations", "outputs"};
  return causes;
}

std::string JobRuns::name() const { return cat(model, ", ", plural(devices, "device"), ", batch ", count(batch)); }
const Run* JobRuns::dp() const {
  for (const Run* run : runs)
    if (is_dp(*run)) return run;
  return nullptr;
}
const Run* JobRuns::dp_loss() const {
  for (const Run* run : runs)
    if (computes_loss_in_replicas(*run)) return run;
  return nullptr;
}
const Run* JobRuns::ddp() const {
  const Run* best = nullptr;
  for (const Run* run : runs)
    if (is_ddp(*run) && (!best || step_seconds(*run) < step_seconds(*best))) best = run;
  return best;
}
std::vector<const Run*> JobRuns::examples() const {
  std::vector<const Run*> out;
  for (const Run* run : {dp(), dp_loss(), ddp()})
    if (run && std::find(out.begin(), out.end(), run) == out.end()) out.push_back(run);
  return out;
}

std::vector<std::string> models(const Report& report) {
  std::vector<std::string> names;
  for (const Run& run : report.runs)
    if (std::find(names.begin(), names.end(), run.model) == names.end()) names.push_back(run.model);
  return names;
}

int64_t main_batch(const Report& report, const std::string& model) {
  std::vector<std::pair<int64_t, std::set<int>>> devices_by_batch;
  for (const Run& run : report.runs) {
    if (run.model != model || run.scaling == "weak" || !run.failed.empty() || is_single(run)) continue;
    auto found = std::find_if(devices_by_batch.begin(), devices_by_batch.end(),
                              [&](const auto& entry) { return entry.first == run.batch; });
    if (found == devices_by_batch.end()) found = devices_by_batch.insert(found, {run.batch, {}});
    found->second.insert(run.devices);
  }
  int64_t batch = 0;
  size_t most = 0;
  for (const auto& [size, devices] : devices_by_batch)
    if (devices.size() > most) {
      batch = size;
      most = devices.size();
    }
  for (const Run& run : report.runs)  // only reached if all parallel runs failed
    if (most == 0 && run.model == model && run.scaling != "weak") return run.batch;
  return batch;
}

std::vector<JobRuns> main_jobs(const Report& report) {
  std::vector<JobRuns> jobs;
  for (const std::string& model : models(report)) {
    const int64_t batch = main_batch(report, model);
    const Run* single = nullptr;
    for (const Run& run : report.runs)
      if (run.model == model && is_single(run) && run.batch == batch && run.failed.empty()) single = &run;
    const size_t first = jobs.size();
    for (const Run& run : report.runs) {
      if (run.model != model || is_single(run) || run.batch != batch || run.scaling == "weak" || !run.failed.empty())
        continue;
      auto found = std::find_if(jobs.begin() + static_cast<std::ptrdiff_t>(first), jobs.end(),
                                [&](const JobRuns& job) { return job.devices == run.devices; });
      if (found == jobs.end()) found = jobs.insert(found, {model, run.devices, batch, single, {}});
      found->runs.push_back(&run);
    }
  }
  return jobs;
}

double step_seconds(const Run& run) {
  return run.examples_per_second.median > 0 ? static_cast<double>(run.batch) / run.examples_per_second.median : run.p50;
}

}  // namespace tandem::tools::compare
