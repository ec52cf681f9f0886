// A job under `tandem launch --max-restarts` is killed at random, rank by rank, and must end as one that never was:
//
//   - the launcher ends well, and names each rank that was struck and no other
//   - rank 0 goes on from the last checkpoint: no step is trained anew that was saved before
//   - the parameters at the end are those of a job without faults, bit for bit
//   - nothing that was started is left
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem::test {

struct RestartTrial {
  int ranks = 2;
  /// Who is killed in each attempt, and how long after its ranks were all there.
  std::vector<std::pair<int, std::chrono::milliseconds>> kills{};
  static RestartTrial from_seed(uint64_t seed, int64_t number, int max_restarts);
  std::string str() const;
};
struct RestartResult {
  std::vector<std::string> violations{};
  int kills = 0, restarts = 0, resumed = 0;  // resumed: went on from a checkpoint, not from the beginning
};
RestartResult run_restarts(const RestartTrial& trial, int max_restarts);

}  // namespace tandem::test
