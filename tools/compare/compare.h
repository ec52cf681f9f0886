// `tandem compare`: trains the same job on one device, under DataParallel and under DistributedDataParallel, and writes
// a report.
#pragma once
#include "tandem/tools/compare/measure/sample.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

struct Settings {
  /// Names of the networks, training modes and DDP backends to compare. If `modes` is empty, uses all modes of the
  /// backends. If `backends` is empty, uses local and, if they are available, gloo (on the CPU) and nccl (on GPUs).
  std::vector<std::string> models = {"fashion_cnn", "mlp"}, modes, backends;
  std::vector<int> devices = {2, 4};
  std::string device, data, out = "compare";  // out: output folder of the report
  int64_t batch = 128;
  uint64_t seed = 1;
  int threads = 0;
  /// Number of samples of each mode. 0: as many as the verdict needs, within time_limit.
  int repeats = 0;
  double sample_seconds = 0.15;  // seconds that each mode runs per repeat
  /// Seconds after which no repeat begins if `repeats` is 0, summed over all models. 0: 300, or 40 if `quick`.
  double time_limit = 0;
  bool quick = false;  // measure only 2 devices, with shorter runs
  std::string fault = "none";
  /// File for `tandem simulate` that contains the step to project onto clusters. If empty, projects ResNet-50 on V100
  /// GPUs.
  std::string profile;
  std::vector<std::string> command_line;
};

/// Returns whether the settings ask for GPUs, and for no other modes than one device and DDP over gloo. Then the
/// processes of all ranks use the first GPU. There may be more ranks than GPUs, and their speed says nothing about
/// training on several GPUs.
bool ranks_share_gpu(const Settings& settings);
/// Measures, prints the table, and writes report.json, report.html and trace.json into settings.out.
/// @return the exit status: 0, or 130 after Ctrl-C. After Ctrl-C the report is marked as incomplete.
int compare(Settings settings);
/// Runs all measurements and returns the report. Once `stop` returns true, ends early and returns a report marked as
/// incomplete.
Report measure(const Settings& settings, const std::function<bool()>& stop, std::vector<TraceEvent>* trace);

/// Runs one DDP rank in this process. run_sample() starts such processes by calling this program with hidden options.
void run_rank_process(const std::string& folder, const Mode& mode, const Job& job);

/// Returns the measured transfers per step, by kind and link, with the bytes that the formulas of docs/course.md
/// predict.
std::vector<TransferTotals> list_transfers(const Mode& mode, const Job& job, const Sample& sample);
/// Fills report.diagnosis from the traced steps (Run::steps) of all runs.
void diagnose(Report& report);
Provenance collect_provenance(const Settings& settings);

}  // namespace tandem::tools::compare
