// One rank of a job is killed or stopped; what must hold then.
//
//   - every survivor ends: within the bound after a kill; within the group's timeout and the bound after a stop.
//   Without
//     a launcher nobody knows of a rank that has not yet reached the store: then as after a stop, whose timeout is also
//     that of the start-up.
//   - its error names the rank that was struck, and blames no other
//   - nothing that was started is left, and a stopped rank that goes on ends as well
//   - the checkpoint that rank 0 writes meanwhile can be read
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
  std::chrono::milliseconds delay{0};                     // within the phase
  std::vector<std::chrono::milliseconds> start_delays{};  // of each rank, without a launcher
  std::chrono::milliseconds timeout{2000};                // of the group
  std::chrono::milliseconds bound{1000};

  /// The other members follow from the seed and the number.
  static FaultTrial from_seed(uint64_t seed, int64_t number, std::chrono::milliseconds timeout,
                              std::chrono::milliseconds bound);
  std::string kind() const;  // "kill in training, tandem launch"
  std::string str() const;
};
struct FaultResult {
  std::vector<std::string> violations{};
  std::vector<std::chrono::milliseconds> latencies{};  // of survivors that knew, from the fault to their end
  int at_timeout = 0;                                  // survivors that could not know
};
FaultResult run_trial(const FaultTrial& trial);

struct GarbageResult {
  std::vector<std::string> violations{};
  int64_t rss_growth_kib = 0;  // of the process that hosts the store
};
/// Opens so many connections to the store of a job in training, which say nothing, or nonsense, without end.
GarbageResult run_garbage(int connections, bool launcher);

}  // namespace tandem::test
