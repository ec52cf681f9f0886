// Trials that kill or stop one rank of a job. Each trial checks the following.
//
//   - Every survivor ends: within the bound after a kill, or within the group's timeout plus the bound after a stop.
//     Without a launcher, no rank knows of a rank that has not yet connected to the store. A kill then takes as long
//     to detect as a stop, with the timeout of the start-up.
//   - The error of every survivor names the rank that was killed or stopped, and blames no other rank.
//   - No process that was started is left, and a stopped rank that is continued ends as well.
//   - The checkpoint that rank 0 writes during the trial can be read.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::test {

enum class Phase { start_up, training, computing };

struct FaultTrial {
  int ranks = 2, victim = 0;
  bool launcher = false, stop = false;
  Phase phase = Phase::training;
  std::chrono::milliseconds delay{0};                     // from the start of the phase to the fault
  std::vector<std::chrono::milliseconds> start_delays{};  // delay of each rank's start, in a job without launcher
  std::chrono::milliseconds timeout{2000};                // timeout of the process group
  std::chrono::milliseconds bound{1000};

  /// Derives all other members from the seed and the trial's number.
  static FaultTrial from_seed(uint64_t seed, int64_t number, std::chrono::milliseconds timeout,
                              std::chrono::milliseconds bound);
  std::string kind() const;  // for example "kill in training, tandem launch"
  std::string str() const;
};
struct FaultResult {
  std::vector<std::string> violations{};
  // Time from the fault to the end of each survivor that could detect it.
  std::vector<std::chrono::milliseconds> latencies{};
  int at_timeout = 0;  // number of survivors that could only run into the timeout
};
FaultResult run_trial(const FaultTrial& trial);

struct GarbageResult {
  std::vector<std::string> violations{};
  int64_t rss_growth_kib = 0;  // resident memory of the process that hosts the store
};
/// Opens `connections` connections to the store of a job in training. They send nothing, or random bytes without end.
GarbageResult run_garbage(int connections, bool launcher);

}  // namespace tandem::test
