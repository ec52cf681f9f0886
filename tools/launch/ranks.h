// Starts and supervises the processes of a job's ranks. Used by `tandem launch` and by subcommands that run themselves
// as ranks.
#pragma once
#include <chrono>
#include <exception>
#include <string>
#include <vector>

namespace tandem::tools {

struct RankOptions {
  std::string name = "tandem launch";        // name of the command, printed before its messages
  std::chrono::seconds timeout{0};           // time limit of the whole job; 0: no limit
  std::chrono::milliseconds patience{2000};  // time between the first failure and SIGTERM for the other ranks
  std::chrono::milliseconds grace{5000};     // time between SIGTERM and SIGKILL
  int max_restarts = 0;                      // how many times all ranks may be restarted after a failure
  /// Number of threads of each rank. 0 means TANDEM_NUM_THREADS or, if that is not set, an equal share of the cores.
  int threads = 0;
  bool pin = false;  // whether each rank is bound to its share of the CPUs
  /// Folder for files with the ranks' output; if "", output goes to stdout and stderr.
  std::string output = {};
  std::string flight = {};  // folder for the flight records; if "", `output` is used
  /// Number of nodes with a launcher each; launchers meet at `rdzv`, a "HOST:PORT".
  int nodes = 1;
  std::string rdzv = {};
  std::chrono::seconds rdzv_timeout{300};  // time limit until all launchers have connected
  std::chrono::seconds node_timeout{10};   // a node whose launcher is silent for this long is lost
};

/// Runs `num_ranks` processes of the command (found in PATH) as ranks of one job, with a store on the loopback
/// interface or, if there are several nodes, on the host of options.rdzv. Copies their output line by line, with the
/// rank as prefix: "[0] ...". When a rank fails, publishes its error in the store, prints it, and ends the other ranks.
/// Then restarts all ranks, up to max_restarts times. No process of the ranks outlives the call or the caller, even if
/// the caller is killed. SIGINT, SIGTERM and SIGHUP are forwarded to the ranks and end the job; SIGUSR1 and SIGUSR2 are
/// only forwarded. Only one call may run at a time.
/// @return how the last attempt ended: the exit status of the first rank that failed, 128 + n if signal n ended that
/// rank or the job, 124 after the timeout, 1 if another node's launcher was lost while the ranks ran, or 0
/// @throws UsageError if the command cannot be started; Error if a launcher of another node does not come, or is lost
/// before the ranks start; Interrupted if a signal arrives during that wait
int run_processes(int num_ranks, const std::vector<std::string>& command, const RankOptions& options = {});

/// Thrown if a signal (SIGINT, SIGTERM or SIGHUP) ended the command, and not a failed rank.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}
  const char* what() const noexcept override { return "interrupted"; }
  int status() const { return 128 + signal_; }

 private:
  int signal_;
};
/// Runs this program, with a subcommand and arguments, as the ranks of a job (see run_processes).
/// @param command  name of the subcommand, such as "demo"
/// @param job      name of the job, such as "ddp_gloo", for the error message if a rank fails
/// @throws Interrupted if a signal ended the job; Error if a rank failed
void run_own_ranks(const std::string& command, const std::string& job, int num_ranks,
                   std::vector<std::string> arguments);

}  // namespace tandem::tools
