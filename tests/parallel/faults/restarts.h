// Trials that kill random ranks of a job under `tandem launch --max-restarts`. The job must end like a job without
// faults:
//
//   - the launcher exits with status 0, and names each rank that was killed and no other
//   - rank 0 resumes from the last checkpoint: no step before that checkpoint is trained again
//   - the final parameters equal those of a job without faults, bit for bit
//   - no process that was started is left
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem::test {

struct RestartTrial {
  int ranks = 2;
  bool trainer = false;  // whether the job trains with the Trainer, not with a loop of its own
  /// For each attempt, the rank to kill and the delay after all ranks of the attempt have started
  std::vector<std::pair<int, std::chrono::milliseconds>> kills{};
  static RestartTrial from_seed(uint64_t seed, int64_t number, int max_restarts, bool trainer);
  std::string str() const;
};
struct RestartResult {
  std::vector<std::string> violations{};
  // resumed: attempts that resumed from a checkpoint instead of starting from the beginning
  int kills = 0, restarts = 0, resumed = 0;
};
RestartResult run_restarts(const RestartTrial& trial, int max_restarts);

}  // namespace tandem::test
