// The runner: takes interleaved samples of benchmark cases on several programs, and keeps every sample.
#pragma once
#include <functional>
#include <memory>

#include "tandem/benchmarks/program.h"

namespace tandem::benchmarks {

/// Options of a run of `tandem bench`.
struct Settings {
  std::string filter;              // substrings, separated by commas; benchmarks run whose name contains any of them
  int repeats = 9;                 // number of samples per case and program
  double seconds = 0.05;           // target duration of a sample, in seconds
  int threads = 0;                 // number of threads of each program; 0 means Tandem's default
  std::vector<std::string> peers;  // names from peer_names()
  // another build of Tandem to compare with; it is then the only peer. Empty if there is none
  std::string baseline;
  std::string device = "cpu";         // "cpu", or "cuda": Tandem and its peers run on the first GPU
  std::string precision = "highest";  // precision of float32 products on a GPU (set_float32_matmul_precision)
  std::vector<std::string> cases;     // cases to run, each as "name shapes"; if not empty, `filter` is ignored
  std::string json;                   // JSON file for the results; empty if none is to be written
};

/// All samples of one program on one case.
struct Samples {
  std::string program;
  int64_t iterations = 0;       // number of calls in each sample
  std::vector<double> seconds;  // mean seconds per call of each sample
};
/// Returns the value below which the fraction `fraction` of the samples lies (0.5: the median), interpolated linearly.
/// @throws Error if there are no samples
double percentile(std::vector<double> samples, double fraction);

/// One case with the samples of all programs.
struct CaseResult {
  Case c;
  std::vector<Samples> samples_by_program;  // samples of Tandem first, then of the peers that have this case
};

/// Returns all cases of the benchmarks whose name contains one of the comma-separated substrings in `filter`, in the
/// order of the table. An empty filter selects everything. @throws Error if no benchmark matches
std::vector<Case> find_cases(const std::vector<Benchmark>& table, const std::string& filter);

/// Returns the cases with these keys ("clone/forward 134217728"). The shapes need not be among the benchmark's own.
/// @throws Error if no benchmark has the name, or if the shapes cannot be read or have the wrong number of inputs
std::vector<Case> find_cases(const std::vector<Benchmark>& table, const std::vector<std::string>& keys);

/// Prepares each case on each program. Then each round takes one sample of every case on every program, so that a
/// temporary disturbance of the machine affects all programs alike. Every second round takes its samples in reverse
/// order of the programs. `progress` receives the completed fraction, from 0 to 1.
std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const std::vector<std::unique_ptr<Program>>& programs,
                                  const Settings& settings, const std::function<void(double)>& progress);

}  // namespace tandem::benchmarks
