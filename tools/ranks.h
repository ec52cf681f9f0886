// Starts the ranks of a job as processes and looks after them: `tandem launch`, and whatever starts ranks of itself.
#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace tandem::tools {

struct RankOptions {
  std::chrono::seconds timeout{0};           // of the whole job; 0: none
  std::chrono::milliseconds patience{2000};  // after the first failure, until the others are told to end
  std::chrono::milliseconds grace{5000};     // from then on, until they are killed
};

/// Runs `count` processes of the command (looked for in PATH) as ranks of one job, with a store on loopback, and copies
/// their output line by line, each with its rank in front: "[0] ...". When one fails, its cause is published in the
/// store and printed, and the others are ended. No process of theirs outlives the call or, whatever ends it, the
/// caller. SIGINT, SIGTERM and SIGHUP are passed on meanwhile; one call at a time.
/// @return the exit status of the first rank that failed, 128 + n for signal n, 124 after the timeout, or 0
/// @throws Error when the command cannot be started
int run_processes(int count, const std::vector<std::string>& command, const RankOptions& options = {});

}  // namespace tandem::tools
