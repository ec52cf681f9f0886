// Implements a job of several rank processes for fault trials, and reads the output of its ranks.
#pragma once
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tests/parallel/faults/processes.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/temporary.h"

namespace tandem::test {

constexpr milliseconds kStartTime(60000);  // time limit for a job to reach the phase in which the fault happens

/// The rank processes of one job, started by `tandem launch` or one by one
class FaultJob {
 public:
  /// @param what  last command-line argument of faults_program
  FaultJob(int ranks, bool launcher, milliseconds timeout, int64_t steps, const std::string& what)
      : ranks_(ranks), launched_(launcher), pids_(static_cast<size_t>(ranks), -1) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans are adopted by this process
    command_ = {kFaultsProgram, folder_.path(), std::to_string(timeout.count()), std::to_string(steps), what};
    const distributed::StoreServer free_now("");
    port_ = free_now.port();
  }
  ~FaultJob() { end_children(milliseconds(1000)); }
  void start_launcher() {
    std::vector<std::string> words = {kCommand, "launch", "-n", std::to_string(ranks_), "--"};
    words.insert(words.end(), command_.begin(), command_.end());
    launcher_ = start(words, {}, folder_ / "out", folder_ / "error");
  }
  void start_rank(int rank, std::vector<std::string> environment = {}) {
    const std::string r = std::to_string(rank);
    for (const std::string& entry :
         {"RANK=" + r, "WORLD_SIZE=" + std::to_string(ranks_), std::string("MASTER_ADDR=127.0.0.1"),
          "MASTER_PORT=" + std::to_string(port_), std::string("TANDEM_NUM_THREADS=1")})
      environment.push_back(entry);
    pids_[static_cast<size_t>(rank)] = start(command_, environment, folder_ / ("out" + r), folder_ / ("error" + r));
  }
  /// Starts all ranks, through the launcher or one by one.
  void start_all() {
    if (launched_) return start_launcher();
    for (int rank = 0; rank < ranks_; ++rank) start_rank(rank);
  }
  void find_rank_pids() {
    if (launcher_ > 0)
      for (const auto& [rank, pid] : child_rank_pids(launcher_)) pids_[static_cast<size_t>(rank)] = pid;
  }
  pid_t pid(int rank) const { return pids_[static_cast<size_t>(rank)]; }
  pid_t launcher() const { return launcher_; }
  pid_t host() const { return launched_ ? launcher_ : pids_[0]; }
  /// Port of the launcher's store, or of rank 0's store in a job without launcher
  int port() {
    if (!launched_) return port_;
    return std::atoi(read_process_variable(pid(0), "MASTER_PORT").c_str());
  }
  bool ended(pid_t pid) {
    int status = 0;
    if (statuses_.count(pid) > 0) return true;
    const pid_t got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid) statuses_[pid] = status;
    if (got >= 0) return got == pid;
    const char state = process_state(pid);  // pid is a child of the launcher, not of this process
    return state == '\0' || state == 'Z';
  }
  int status(pid_t pid) const { return statuses_.at(pid); }
  std::string output(int rank, const char* stream) const {
    if (!launched_) return contents(folder_ / (stream + std::to_string(rank)));
    std::istringstream all(contents(folder_ / stream));
    const std::string prefix = "[" + std::to_string(rank) + "] ";
    std::string text;
    for (std::string line; std::getline(all, line);)
      if (line.rfind(prefix, 0) == 0) text += line.substr(prefix.size()) + "\n";
    return text;
  }
  std::string launcher_stderr() const { return contents(folder_ / "error"); }
  /// Waits until the rank has printed `word`. Returns false if the deadline passes first.
  bool wait_for_output(int rank, const std::string& word, Deadline deadline) const {
    for (; Clock::now() < deadline; std::this_thread::sleep_for(milliseconds(2)))
      if (output(rank, "out").find(word) != std::string::npos) return true;
    return false;
  }
  std::string folder() const { return folder_.path(); }
  std::string checkpoint() const { return folder_ / "checkpoint.safetensors"; }

 private:
  TemporaryFolder folder_;
  int ranks_;
  bool launched_;
  int port_ = 0;
  std::vector<std::string> command_;
  pid_t launcher_ = -1;
  std::vector<pid_t> pids_;
  std::map<pid_t, int> statuses_;
};

/// Returns the ranks that an error message names as the cause.
inline std::set<int> parse_blamed_ranks(const std::string& text) {
  static const std::regex kFindFailedRank(
      "rank ([0-9]+)( of [0-9]+)? (is gone|did not arrive|was ended by|does not answer|is stopped by|has left|cannot)");
  std::set<int> ranks;
  for (std::sregex_iterator at(text.begin(), text.end(), kFindFailedRank), end; at != end; ++at)
    ranks.insert(std::stoi((*at)[1]));
  return ranks;
}

}  // namespace tandem::test
