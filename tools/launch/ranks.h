// Starts the ranks of a job as processes and looks after them: `tandem launch`, and whatever starts ranks of itself.
#pragma once
#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace tandem::tools {

struct RankOptions {
  std::string name = "tandem launch";        // of the command, in front of what it says
  std::chrono::seconds timeout{0};           // of the whole job; 0: none
  std::chrono::milliseconds patience{2000};  // after the first failure, until the others are told to end
  std::chrono::milliseconds grace{5000};     // from then on, until they are killed
  int max_restarts = 0;                      // how often all ranks are started again after a failure
  int threads = 0;                           // of each rank; 0: what TANDEM_NUM_THREADS says, or a share of the cores
  bool pin = false;                          // each rank to its part of the processors
  std::string output = {};                   // a folder for the ranks' output; "": here
  std::string flight = {};                   // a folder for their records of failures; "": `output`
  int nodes = 1;                             // launchers of the job, which meet at `rdzv`, HOST:PORT
  std::string rdzv = {};
  std::chrono::seconds rdzv_timeout{300};  // until all have come
  std::chrono::seconds node_timeout{10};   // without a word from a node's launcher, until that is lost
};

/// Runs `count` processes of the command (looked for in PATH) as ranks of one job, with a store on loopback, and copies
/// their output line by line, each with its rank in front: "[0] ...". When a rank fails, its cause is published in the
/// store and printed, and the other ranks are ended; then all are started again, up to max_restarts times. None of the
/// ranks' processes outlives the call, or the caller, even if the caller is killed. SIGINT, SIGTERM and SIGHUP are
/// passed on to the ranks and end the job; SIGUSR1 and SIGUSR2 are passed on. One call at a time.
/// @return the exit status of the first rank that failed, 128 + n for signal n, 124 after the timeout, or 0
/// @throws Error when the command cannot be started, or the launchers of other nodes do not come or are lost meanwhile
int run_processes(int count, const std::vector<std::string>& command, const RankOptions& options = {});

/// A signal ended the command: Ctrl-C, SIGTERM or SIGHUP. No rank is to blame.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  const char* what() const noexcept override { return "interrupted"; }
  int status() const { return 128 + signal_; }

 private:
  int signal_;
};
/// run_processes for a command whose ranks are this program again, with these arguments.
/// @param command  "demo", in messages
/// @param job      what fails when a rank fails: "ddp_gloo"
/// @throws Interrupted when a signal ended the job; Error when a rank failed
void run_own_ranks(const std::string& command, const std::string& job, int count, std::vector<std::string> arguments);

}  // namespace tandem::tools
