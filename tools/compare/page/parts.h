// The parts of the page: a function for each section, and what they share.
#pragma once
#include "tandem/tools/compare/report.h"
#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/chart.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::compare {

using namespace page;  // the sections are made of its charts, tables and texts

/// A colour and marker for each mode, the same in all charts: DP's are warm, DDP's cool.
class ModeStyles {
 public:
  explicit ModeStyles(const Report& report);
  int operator[](const Run& run) const;

 private:
  std::map<std::string, int> styles_;
};

int phase_style(const std::string& phase);
/// Of a device's memory.
int cause_style(const std::string& cause);
/// Causes in the order in which charts stack them: what lasts first.
const std::vector<std::string>& memory_causes();

/// The parallel runs on one job (Job of ../measure/sample.h) that have figures.
struct JobRuns {
  std::string model;
  int devices;
  int64_t batch;
  const Run* single;  // one device with all the cores and the same batch; null if it was not measured
  std::vector<const Run*> runs;
  std::string name() const;
  /// The first of DP's modes, the one with the loss inside the replicas, the fastest of DDP's. Null if there is none.
  const Run* dp() const;
  const Run* dp_loss() const;
  const Run* ddp() const;
  /// dp, dp_loss and ddp, without those that are null or the same.
  std::vector<const Run*> examples() const;
};
/// The jobs that are told in detail: for each model and number of devices, that model's main batch.
std::vector<JobRuns> main_jobs(const Report& report);
/// Of a model's strong-scaling runs, the batch that was run on the most counts of devices.
int64_t main_batch(const Report& report, const std::string& model);
std::vector<std::string> models(const Report& report);
double step_seconds(const Run& run);

/// What each section holds, without its heading; empty if the report has nothing for it.
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
