// The parts of the page: a function for each section, and helpers that they share.
#pragma once
#include "tandem/tools/compare/report.h"
#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/chart.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::compare {

using namespace page;  // sections use its charts, tables and texts

/// Assigns one colour and marker to each mode for all charts: warm colours for DP, cool ones for DDP.
class ModeStyles {
 public:
  explicit ModeStyles(const Report& report);
  int operator[](const Run& run) const;

 private:
  std::map<std::string, int> styles_;
};

int phase_style(const std::string& phase);
/// Returns the style of a cause of memory.
int cause_style(const std::string& cause);
/// Returns the causes in the order in which charts stack them, the most long-lived first.
const std::vector<std::string>& memory_causes();

/// The parallel runs with figures that share a model, a number of devices and a batch.
struct JobRuns {
  std::string model;
  int devices;
  int64_t batch;
  const Run* single;  // one device with all the cores and the same batch; null if it was not measured
  std::vector<const Run*> runs;
  std::string name() const;
  /// Return the first run of DP, the first run of DP with the loss inside the replicas, and the fastest run of DDP.
  /// Null if there is none.
  const Run* dp() const;
  const Run* dp_loss() const;
  const Run* ddp() const;
  /// Returns dp(), dp_loss() and ddp(), without nulls and duplicates.
  std::vector<const Run*> examples() const;
};
/// Returns the jobs that the page shows in detail: each model and number of devices, at the model's main batch.
std::vector<JobRuns> main_jobs(const Report& report);
/// Returns the batch of a model's strong-scaling runs that ran on the most different numbers of devices.
int64_t main_batch(const Report& report, const std::string& model);
std::vector<std::string> models(const Report& report);
double step_seconds(const Run& run);

/// Return the content of each section, without its heading; empty if the report has nothing for it.
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
