// Starts the ranks of a job as processes and supervises them, for `tandem launch` and commands that run themselves as
// ranks.
#pragma once
#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace tandem::tools {

struct RankOptions {
  std::string name = "tandem launch";        // name of the command, the prefix of its messages
  std::chrono::seconds timeout{0};           // limit of the whole job; 0: none
  std::chrono::milliseconds patience{2000};  // time from the first failure to SIGTERM for the other ranks
  std::chrono::milliseconds grace{5000};     // time from SIGTERM to SIGKILL
  int max_restarts = 0;                      // how often all ranks may be restarted after a failure
  int threads = 0;                           // threads of each rank; 0: TANDEM_NUM_THREADS, or a share of the cores
  bool pin = false;                          // bind each rank to its share of the CPUs
  std::string output = {};                   // folder of the ranks' output; "": stdout and stderr
  std::string flight = {};                   // folder of the flight records; "": `output`
  int nodes = 1;                             // number of launchers, which meet at `rdzv` ("HOST:PORT")
  std::string rdzv = {};
  std::chrono::seconds rdzv_timeout{300};  // limit until all launchers have connected
  std::chrono::seconds node_timeout{10};   // silence after which a node's launcher is lost
};

/// Runs `count` processes of the command (found in PATH) as ranks of one job, with a store on loopback, and copies
/// their output line by line, with the rank as prefix: "[0] ...". When a rank fails, its error is published in the
/// store and printed, and the other ranks are ended; then all ranks are restarted, up to max_restarts times. No process
/// of the ranks outlives the call or the caller, even if the caller is killed. SIGINT, SIGTERM and SIGHUP are passed on
/// to the ranks and end the job; SIGUSR1 and SIGUSR2 are passed on. Only one call may run at a time.
/// @return the exit status of the first rank that failed, 128 + n for signal n, 124 after the timeout, or 0
/// @throws UsageError if the command cannot be started; Error if a launcher of another node does not come or is lost
int run_processes(int count, const std::vector<std::string>& command, const RankOptions& options = {});

/// Thrown when a signal (SIGINT, SIGTERM or SIGHUP), not a failed rank, ended the command.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  const char* what() const noexcept override { return "interrupted"; }
  int status() const { return 128 + signal_; }

 private:
  int signal_;
};
/// Runs this program as the ranks of a job (see run_processes), each with the given subcommand and arguments.
/// @param command  the subcommand: "demo"
/// @param job      name of the job in the error of a failed rank: "ddp_gloo"
/// @throws Interrupted if a signal ended the job; Error if a rank failed
void run_own_ranks(const std::string& command, const std::string& job, int count, std::vector<std::string> arguments);

}  // namespace tandem::tools
