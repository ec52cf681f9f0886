// Starts the processes of fault trials, and reads their state and environment from /proc.
#pragma once
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::test {

using distributed::Clock;
using distributed::Deadline;
using distributed::deadline_after;
using std::chrono::milliseconds;

inline std::string contents(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}
inline std::string rank_name(int rank) { return "rank " + std::to_string(rank); }

/// Starts a child process whose output goes to two files.
inline pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
                   const std::string& out, const std::string& error) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  TANDEM_CHECK(pid >= 0, "faults: no process can be had");
  if (pid != 0) return pid;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
  for (const auto& [path, fd] : {std::pair(&out, STDOUT_FILENO), std::pair(&error, STDERR_FILENO)}) {
    const int file = ::open(path->c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(file, fd);
    ::close(file);
  }
  ::execv(argv[0], argv.data());
  ::_exit(127);
}
/// State of a process as in /proc/PID/stat ('R', 'S', 'T', 'Z', ...), or 0 if there is no such process.
inline char process_state(pid_t pid) {
  const std::string stat = contents("/proc/" + std::to_string(pid) + "/stat");
  const size_t at = stat.rfind(") ");
  return at == std::string::npos ? '\0' : stat[at + 2];
}
/// Value of an environment variable of a process, or "" if it is not set.
inline std::string read_process_variable(pid_t pid, const std::string& name) {
  const std::string environment = '\0' + contents("/proc/" + std::to_string(pid) + "/environ");
  const std::string begin = '\0' + name + "=";
  const size_t at = environment.find(begin);
  if (at == std::string::npos) return "";
  return environment.substr(at + begin.size(), environment.find('\0', at + 1) - at - begin.size());
}
/// Process IDs by rank of the children that `tandem launch` has started for this restart.
inline std::map<int, pid_t> child_rank_pids(pid_t launcher, int restarts = 0) {
  const std::string id = std::to_string(launcher);
  std::istringstream children(contents("/proc/" + id + "/task/" + id + "/children"));
  std::map<int, pid_t> ranks;
  for (pid_t pid = 0; children >> pid;) {
    const std::string rank = read_process_variable(pid, "RANK");
    if (!rank.empty() && read_process_variable(pid, "TANDEM_RESTART_COUNT") == std::to_string(restarts))
      ranks[std::atoi(rank.c_str())] = pid;
  }
  return ranks;
}

/// Waits up to `patience` for this process's children to end, then kills the rest. Returns the number killed.
inline int end_children(milliseconds patience) {
  for (const Deadline deadline = deadline_after(patience); Clock::now() < deadline;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) return 0;
    if (pid == 0) std::this_thread::sleep_for(milliseconds(2));
  }
  const std::string me = std::to_string(::getpid());
  std::istringstream children(contents("/proc/" + me + "/task/" + me + "/children"));
  int left = 0;
  for (pid_t pid = 0; children >> pid; ++left) ::kill(pid, SIGKILL);
  while (::waitpid(-1, nullptr, 0) > 0) {}
  return left;
}

/// Random numbers of one trial, determined by the seed and the trial's number.
class TrialDraws {
 public:
  TrialDraws(uint64_t seed, int64_t number) : random_(seed * 1000003 + static_cast<uint64_t>(number)) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

 private:
  std::mt19937_64 random_;
};

}  // namespace tandem::test
