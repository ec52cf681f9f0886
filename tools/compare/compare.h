// `tandem compare`: runs one device, DataParallel and DistributedDataParallel on the same job, and reports.
#pragma once
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

struct Settings {
  std::vector<std::string> models = {"fashion_cnn", "mlp"}, modes, backends;  // empty: all that are possible here
  std::vector<int> devices = {2, 4};
  std::string device, data, out = "compare";  // out: the folder of the report
  int64_t batch = 128;
  uint64_t seed = 1;
  int threads = 0;
  int repeats = 6;
  double sample_seconds = 0.5;  // of a mode in a repeat
  bool quick = false;           // 2 devices, shorter samples
  std::string planted = "none";
  std::string profile;  // a file of `tandem simulate`: the step that is projected onto clusters; empty: a known one
  std::vector<std::string> command_line;
};

/// Whether only DDP over gloo is measured beside one device, on GPUs: its ranks are processes, and all of them take the
/// first GPU. There may be more of them than GPUs, and their speed says nothing.
bool shares_one_gpu(const Settings& settings);
/// Measures, prints the table, and writes report.json, report.html and trace.json into the folder `out`.
/// @return the exit status: 0, or 130 after Ctrl-C, which leaves a report that says so
int compare(Settings settings);
/// Measures. When `stop` turns true, what there is by then is the report, marked as incomplete.
Report measure(const Settings& settings, const std::function<bool()>& stop, std::vector<TraceEvent>* trace);

/// A rank that is a process: run by compare() through hidden options.
void run_rank_process(const std::string& folder, const Mode& mode, const Job& job);

/// Transfers of the counted steps, by kind and link, beside their formulas; per step.
std::vector<Transfers> ledger(const Mode& mode, const Job& job, const Sample& sample);
/// Sets the diagnosis of all runs.
void diagnose(Report& report);
Provenance provenance(const Settings& settings);

}  // namespace tandem::tools::compare
