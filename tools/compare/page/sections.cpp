// Implements helpers that the page's sections share: the colours of modes, phases and causes of memory, and the choice
// of jobs that are shown in detail.
#include "tandem/tools/compare/page/sections.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "tandem/tools/page/scale.h"

namespace tandem::tools::compare {

namespace {

// Colours of lines and points.
constexpr int kDpStyle = kLineStyle + 1, kDdpLocalStyle = kLineStyle + 2, kDdpGlooStyle = kLineStyle + 3,
              kDdpNcclStyle = kLineStyle + 4;
// Colours of areas, by the data that a phase computes, memory holds, or a transfer moves.
constexpr int kInputStyle = 0, kParametersStyle = 1, kForwardStyle = 2, kOutputsStyle = 3, kLossStyle = 4,
              kGradientsStyle = 5, kOptimizerStyle = 6, kAllReduceStyle = 7;

}  // namespace

int backend_style(const std::string& backend) {
  return backend == "nccl" ? kDdpNcclStyle : backend == "gloo" ? kDdpGlooStyle : kDdpLocalStyle;
}
int mode_style(const std::string& mode) {
  if (mode.starts_with("dp")) return kDpStyle;
  if (!mode.starts_with("ddp")) return kTextColourStyle;
  return backend_style(mode.find("nccl") != std::string::npos   ? "nccl"
                       : mode.find("gloo") != std::string::npos ? "gloo"
                                                                : "local");
}

ModeStyles::ModeStyles(const Report& report) {
  std::map<int, int> modes;  // number of modes so far with each colour
  for (const Run& run : report.runs)
    if (styles_.count(run.mode) == 0) {
      const int style = mode_style(run.mode);
      styles_[run.mode] = style == kTextColourStyle ? kTextColourStyle : style + 10 * (modes[style]++ % 4);
    }
}
int ModeStyles::operator[](const Run& run) const { return styles_.at(run.mode); }

int phase_style(const std::string& phase) {
  static const std::map<std::string, int> styles = {{"input", kInputStyle},
                                                    {"scatter", kInputStyle + kStripedStyle},
                                                    {"replicate", kParametersStyle + kStripedStyle},
                                                    {"forward", kForwardStyle},
                                                    {"gather", kOutputsStyle + kStripedStyle},
                                                    {"loss", kLossStyle},
                                                    {"backward", kGradientsStyle},
                                                    {"reduce", kGradientsStyle + kStripedStyle},
                                                    {"optimizer", kOptimizerStyle},
                                                    {"exposed communication", kAllReduceStyle + kStripedStyle},
                                                    {"communication", kAllReduceStyle},
                                                    {"hidden communication", kFadedStyle},
                                                    {"wait", kWaitingStyle},
                                                    {"waiting", kWaitingStyle},
                                                    {"kernel", kTextColourStyle}};
  const auto found = styles.find(phase);
  return found == styles.end() ? kOtherStyle : found->second;
}

int cause_style(const std::string& cause) {
  static const std::map<std::string, int> styles = {
      {"parameters", kParametersStyle}, {"replicas", kParametersStyle + kStripedStyle},
      {"optimizer", kOptimizerStyle},   {"gradients", kGradientsStyle},
      {"buckets", kAllReduceStyle},     {"input", kInputStyle},
      {"activations", kForwardStyle},   {"outputs", kOutputsStyle}};
  const auto found = styles.find(cause);
  return found == styles.end() ? kOtherStyle : found->second;
}

std::string colour_legend(const Report& report) {
  std::string out;
  for (const auto& [name, style] : {std::pair{"one device", kTextColourStyle},
                                    {"DP", kDpStyle},
                                    {"DDP over local (threads)", kDdpLocalStyle},
                                    {"DDP over gloo (processes)", kDdpGlooStyle},
                                    {"DDP over nccl (processes)", kDdpNcclStyle}})
    if (std::any_of(report.runs.begin(), report.runs.end(),
                    [s = style](const Run& run) { return mode_style(run.mode) == s; }))
      out += legend_entry(name, style, 'm');
  for (const auto& [name, style] : {std::pair{"input", kInputStyle},
                                    {"parameters", kParametersStyle},
                                    {"forward and its activations", kForwardStyle},
                                    {"outputs", kOutputsStyle},
                                    {"loss", kLossStyle},
                                    {"backward and its gradients", kGradientsStyle},
                                    {"optimizer", kOptimizerStyle},
                                    {"communication of DDP: buckets and all-reduce", kAllReduceStyle},
                                    {"waiting", kWaitingStyle},
                                    {"everything else", kOtherStyle}})
    out += legend_entry(name, style, 'b');
  return collapsible(
      "What the colours mean",
      "<ul class=\"legend\">" + out + "</ul>\n" +
          paragraph("Stripes: moved between devices, or a copy. Dashed lines: predictions, fits and references. "
                    "Grey marks: published by others. Marks of different shape: variants of a mode."));
}

std::vector<const Run*> successful_runs(const Report& report) {
  std::vector<const Run*> runs;
  for (const Run& run : report.runs)
    if (run.failed.empty()) runs.push_back(&run);
  return runs;
}
std::string describe_num_repeats(const std::vector<const Run*>& runs) {
  size_t least = SIZE_MAX, most = 0;
  for (const Run* run : runs) {
    least = std::min(least, run->repeats.size());
    most = std::max(most, run->repeats.size());
  }
  if (most == 0) return "";
  return least == most ? "n = " + pluralize(static_cast<int64_t>(most), "repeat")
                       : str_cat("n = ", least, " to ", most, " repeats");
}

std::string median_note(const std::vector<const Run*>& runs, const std::string& what) {
  size_t least = SIZE_MAX;
  for (const Run* run : runs) least = std::min(least, run->repeats.size());
  const std::string n = describe_num_repeats(runs);
  if (n.empty()) return what + ".";
  return str_cat(what, " of ", n, least < 6 ? ": too few for an interval." : "; whisker: 95 % interval.");
}

const std::vector<std::string>& memory_causes() {
  static const std::vector<std::string> causes = {"parameters", "replicas",  "optimizer",   "gradients", "buckets",
                                                  "input",      "workspace", "activations", "outputs"};
  return causes;
}

std::string JobRuns::name() const {
  return str_cat(model, ", ", pluralize(devices, "device"), ", batch ", format_integer(batch));
}
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
std::vector<const Run*> JobRuns::example_runs() const {
  std::vector<const Run*> out;
  for (const Run* run : {dp(), dp_loss(), ddp()})
    if (run && std::find(out.begin(), out.end(), run) == out.end()) out.push_back(run);
  return out;
}

std::vector<std::string> list_models(const Report& report) {
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
  for (const std::string& model : list_models(report)) {
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
  // Puts charts with equally many rows side by side.
  std::stable_sort(jobs.begin(), jobs.end(), [](const JobRuns& a, const JobRuns& b) { return a.devices < b.devices; });
  return jobs;
}

double step_seconds(const Run& run) {
  return run.examples_per_second.median > 0 ? static_cast<double>(run.batch) / run.examples_per_second.median : run.p50;
}

}  // namespace tandem::tools::compare
