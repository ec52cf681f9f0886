// Runs cases on programs, interleaved, and keeps every sample.
#pragma once
#include <functional>
#include <memory>

#include "tandem/benchmarks/program.h"

namespace tandem::benchmarks {

struct Settings {
  std::string filter;                 // a part of the names wanted; names parted by commas: any of them
  int repeats = 9;                    // samples of each case and program
  double seconds = 0.05;              // aimed at for a sample
  int threads = 0;                    // of every program; 0: as many as Tandem takes
  std::vector<std::string> peers;     // names, see peer_names()
  std::string baseline;               // another build of Tandem, the only peer then, or empty
  std::string device = "cpu";         // "cuda": all programs run on the first GPU
  std::string precision = "highest";  // of float32 products on a GPU: see set_float32_matmul_precision
  std::vector<std::string> cases;     // "name shapes": these, in place of what the filter selects
  std::string json;                   // where to write what came of it, or empty
};

/// What one program did with one case.
struct Samples {
  std::string program;
  int64_t iterations = 0;       // calls in a sample
  std::vector<double> seconds;  // per call, one for each sample
};
/// The value below which a part of the samples lies (0.5: the median), interpolated between neighbours.
double percentile(std::vector<double> samples, double part);

struct Row {
  Case c;
  std::vector<Samples> programs;  // Tandem first, then the peers that have this case
};

/// The cases whose name contains one of the filter's parts, in the tables' order. @throws Error when there are none
std::vector<Case> select(const std::vector<Benchmark>& table, const std::string& filter);

/// The cases of these keys ("clone/forward 134217728"), of any shapes. @throws Error on a name that does not exist, or
/// shapes that cannot be read
std::vector<Case> select(const std::vector<Benchmark>& table, const std::vector<std::string>& keys);

/// Prepares each case on each program, then takes a sample of every case on every program, again and again: what
/// disturbs the machine for a while disturbs all alike. Every second round asks the programs in reverse. `progress` is
/// told what is done, between 0 and 1.
std::vector<Row> run(const std::vector<Case>& cases, const std::vector<std::unique_ptr<Program>>& programs,
                     const Settings& settings, const std::function<void(double)>& progress);

}  // namespace tandem::benchmarks
