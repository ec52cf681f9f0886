// Declares the functions that build the page's sections, and helpers that they share.
#pragma once
#include "tandem/tools/compare/report.h"
#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/chart.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::compare {

using namespace page;  // the sections use its charts, tables and formatting functions

/// Returns the style of a training mode with this key: its colour stands for one device, DP, or DDP over a backend.
int mode_style(const std::string& mode);
/// Returns the style of DDP over a backend: "local", "gloo" or "nccl".
int backend_style(const std::string& backend);
/// Assigns a style to each mode, the same in all charts. Modes with the same colour have different markers.
class ModeStyles {
 public:
  explicit ModeStyles(const Report& report);
  int operator[](const Run& run) const;

 private:
  std::map<std::string, int> styles_;
};

/// Returns the style of a phase. Its colour stands for the data that the phase computes or moves; stripes mark moving.
int phase_style(const std::string& phase);
/// Returns the style of a cause of memory.
int cause_style(const std::string& cause);
/// Returns the causes in the order in which charts stack them, the most long-lived first.
const std::vector<std::string>& memory_causes();

/// The successful parallel runs with the same model, number of devices and batch.
struct JobRuns {
  std::string model;
  int devices;
  int64_t batch;
  const Run* single;  // run on one device with all cores and the same batch; null if it was not measured
  std::vector<const Run*> runs;
  std::string name() const;
  /// Return the first DP run, the first DP run with the loss in the replicas, and the fastest DDP run. Return null if
  /// there is no such run.
  const Run* dp() const;
  const Run* dp_loss() const;
  const Run* ddp() const;
  /// Returns dp(), dp_loss() and ddp(), without nulls and duplicates.
  std::vector<const Run*> example_runs() const;
};
/// Returns the jobs that the page shows in detail: one for each pair of a model and a number of devices, at the model's
/// main_batch().
std::vector<JobRuns> main_jobs(const Report& report);
/// Returns the batch size at which strong scaling was measured for the most numbers of devices.
int64_t main_batch(const Report& report, const std::string& model);
std::vector<std::string> list_models(const Report& report);
double step_seconds(const Run& run);
/// Returns sentences on how much more memory the first device needs than the others under DP, from which causes, and
/// how much less that is if the replicas compute the loss. Empty if DP's memory was not recorded.
std::string describe_first_device_excess(const JobRuns& job);

/// Returns the legend of all colours of the page.
std::string colour_legend(const Report& report);
/// Returns the runs that did not fail. Sweeps take as many repeats as the runs do.
std::vector<const Run*> successful_runs(const Report& report);
/// Returns "n = 6 repeats" or "n = 6 to 9 repeats" for the repeats of these runs.
std::string describe_num_repeats(const std::vector<const Run*>& runs);
/// Returns the note of a chart of medians of these runs' repeats: the number of repeats, and the meaning of a whisker.
/// @param what  the meaning of a mark, such as "Median"
std::string median_note(const std::vector<const Run*>& runs, const std::string& what);

/// Return the HTML content of each section, without its heading; "" if the report has no data for it.
std::string verdict_body(const Report& report, const ModeStyles& styles);
std::string throughput_body(const Report& report, const ModeStyles& styles);
std::string anatomy_body(const Report& report, const ModeStyles& styles);
std::string timeline_body(const Report& report, const ModeStyles& styles);
std::string memory_body(const Report& report, const ModeStyles& styles);
std::string transfers_body(const Report& report, const ModeStyles& styles);
std::string links_body(const Report& report, const ModeStyles& styles);
std::string buckets_body(const Report& report, const ModeStyles& styles);
std::string model_body(const Report& report, const ModeStyles& styles);
std::string agreement_body(const Report& report, const ModeStyles& styles);
std::string diagnosis_body(const Report& report, const ModeStyles& styles);
std::string inference_body(const Report& report, const ModeStyles& styles);
std::string provenance_body(const Report& report, const ModeStyles& styles);

}  // namespace tandem::tools::compare
