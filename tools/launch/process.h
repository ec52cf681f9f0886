// Handles the processes of a job: starts ranks, explains how they ended, kills the processes that a launcher leaves
// behind (ProcessGroupGuard), and receives the launcher's signals. Internal to ranks.cpp.
#pragma once
#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/parallel/collectives/store/watchdog.h"

namespace tandem::tools {

struct Pipe {
  distributed::Descriptor read_end, write_end;
};
/// Makes a pipe with both ends non-blocking and close-on-exec.
Pipe make_pipe();
/// Returns 128 random bits in hexadecimal.
std::string random_token();

/// A helper process that leads the ranks' process group and waits for the end of the launcher. When the launcher ends,
/// for any reason, the helper kills the process group, including itself. As long as the helper exists, the kernel
/// cannot reuse the ID of the process group.
class ProcessGroupGuard {
 public:
  ProcessGroupGuard();
  ~ProcessGroupGuard() { end_group(); }
  ProcessGroupGuard(const ProcessGroupGuard&) = delete;
  pid_t group_id() const { return pid_; }
  /// Kills all processes that are left in the group.
  void end_group();

 private:
  /// Write end of a pipe; it closes when the launcher ends, which the helper process notices.
  distributed::Descriptor launcher_pipe_;
  pid_t pid_ = -1;
};

struct RankProcess {
  pid_t pid = -1;
  distributed::Descriptor out = {}, error = {};  // read ends of the pipes for the process's stdout and stderr
};
/// A rank's numbers within its job, and its settings. They are passed to the rank in environment variables.
struct RankEnvironment {
  int rank = 0, world_size = 1, local_rank = 0, local_world_size = 1, node = 0, restarts = 0;
  std::string store_address = "127.0.0.1";
  int store_port = 0;
  std::string token = {};
  /// Number of compute threads. 0 means TANDEM_NUM_THREADS or, if that is not set, an equal share of the cores.
  int threads = 0;
  /// Folder for the rank's flight record, a log of its last calls. If "", TANDEM_FLIGHT_DIR applies.
  std::string flight = {};
  std::vector<int> cpus = {};  // CPUs on which the rank may run; empty: the same as the launcher
};
/// Starts a rank's process in the given process group. @throws UsageError if the command cannot be run
RankProcess start_rank(const RankEnvironment& rank_env, const std::vector<std::string>& command, pid_t group);

/// Divides the CPUs that the launcher may use into `parts` shares of consecutive CPUs, and returns share number `part`.
/// With fewer CPUs than parts, each share is one CPU, and several shares are the same CPU.
std::vector<int> cpu_share(int part, int parts);

/// Numbers of processes that the kernel's out-of-memory (OOM) killer has killed so far; nullopt if the kernel does not
/// report them.
struct OomKillCounts {
  std::optional<int64_t> in_cgroup;   // number of kills in this process's cgroup, for example in its container
  std::optional<int64_t> on_machine;  // number of kills on the whole machine
  static OomKillCounts now();
};

/// Returns "signal 9 (Killed)".
std::string signal_name(int signal);
/// Returns a phrase to append to "rank 1 was ended by signal 9 (Killed)". It says who probably sent a SIGKILL, judged
/// by the OOM kills between `before` and `now` and by the peak memory of the process. Returns "" for other signals.
std::string describe_likely_cause(int signal, const OomKillCounts& before, const OomKillCounts& now, int64_t peak_kib);

/// Catches the signals that the launcher receives while an instance exists. The signal handler writes each signal's
/// number as a byte to a pipe. Only one instance may exist at a time.
class Signals {
 public:
  Signals() : signal_pipe_(make_pipe()) {
    write_fd_ = signal_pipe_.write_end.get();
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const int error = errno;
      const char byte = static_cast<char>(signal);
      while (::write(write_fd_, &byte, 1) < 0 && errno == EINTR) {}
      errno = error;
    };
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(kCaughtSignals); ++i) ::sigaction(kCaughtSignals[i], &action, &old_actions_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(kCaughtSignals); ++i) ::sigaction(kCaughtSignals[i], &old_actions_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  int fd() const { return signal_pipe_.read_end.get(); }
  /// Returns the next received signal; 0 if there is none.
  int next_signal() const {
    char byte = 0;
    return ::read(fd(), &byte, 1) == 1 ? byte : 0;
  }
  /// Returns whether the signal asks to end the job. SIGUSR1 and SIGUSR2 do not; they are only forwarded to the ranks.
  static bool ends_job(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

 private:
  static constexpr int kCaughtSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2};
  static inline volatile int write_fd_ = -1;
  Pipe signal_pipe_;
  struct sigaction old_actions_[std::size(kCaughtSignals)];
};

}  // namespace tandem::tools
