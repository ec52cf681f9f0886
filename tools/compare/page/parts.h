// The parts of the page: a function for each section, and what they share.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tandem/tools/compare/report.h"
#include "tandem/tools/page/chart.h"
#include "tandem/tools/page/format.h"

namespace tandem::tools::compare {

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

/// The parallel runs on one job (sample.h's Job) that have figures.
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

/// Charts beside each other where there is room, under one legend unless the same mark means different things in them.
/// Empty if there are none.
std::string charts(const std::string& figures);
/// Escaped. Empty for an empty text.
std::string paragraph(const std::string& text);
std::string bullets(const std::vector<std::string>& texts);

/// A table inside <details>.
class Table {
 public:
  /// @param text_columns  so many columns at the left are words; the others are numbers, which stand at the right
  Table(std::string caption, std::vector<std::string> head, size_t text_columns = 1);
  void add(const std::vector<std::string>& cells, bool marked = false);
  /// A row whose figures are missing, with the reason in their place.
  void add_failed(const std::vector<std::string>& cells, const std::string& reason);
  bool empty() const { return rows_.empty(); }
  std::string html() const;

 private:
  std::string caption_, rows_;
  std::vector<std::string> head_;
  size_t text_columns_;
};

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

/// The page's CSS, all of it.
std::string page_style();

}  // namespace tandem::tools::compare
