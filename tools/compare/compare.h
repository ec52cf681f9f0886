// `tandem compare`: runs one device, DataParallel and DistributedDataParallel on the same job, and reports.
#pragma once
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

struct Settings {
  std::vector<std::string> models = {"fashion_cnn", "mlp"}, modes,
                           backends;  // modes, backends: empty: all that can run here
  std::vector<int> devices = {2, 4};
  std::string device, data, out = "compare";  // out: folder of the report
  int64_t batch = 128;
  uint64_t seed = 1;
  int threads = 0;
  int repeats = 6;
  double sample_seconds = 0.5;  // seconds of a sample, which is one mode in one repeat
  bool quick = false;           // 2 devices, shorter samples
  std::string planted = "none";
  std::string profile;  // file of `tandem simulate` with the step to project onto clusters; empty: ResNet-50 on V100s
  std::vector<std::string> command_line;
};

/// Returns whether only DDP over gloo is measured beside one device, on GPUs. Then all ranks' processes use the first
/// GPU. There may be more ranks than GPUs, and their speed says nothing about several GPUs.
bool shares_one_gpu(const Settings& settings);
/// Measures, prints the table, and writes report.json, report.html and trace.json into the folder `out`.
/// @return the exit status: 0, or 130 after Ctrl-C, which leaves a report that says so
int compare(Settings settings);
/// Measures. When `stop` returns true, returns a report of the measurements so far, marked as incomplete.
Report measure(const Settings& settings, const std::function<bool()>& stop, std::vector<TraceEvent>* trace);

/// Runs one rank in this process, which run_sample() has started with hidden options.
void run_rank_process(const std::string& folder, const Mode& mode, const Job& job);

/// Returns the transfers per step, by kind and link, beside their formulas.
std::vector<Transfers> ledger(const Mode& mode, const Job& job, const Sample& sample);
/// Sets report.diagnosis from the anatomy of all runs.
void diagnose(Report& report);
Provenance provenance(const Settings& settings);

}  // namespace tandem::tools::compare
