// Processes of a job: starts ranks, explains how they ended, kills what a launcher leaves behind (Keeper), and receives
// the launcher's signals. Internal to ranks.cpp.
#pragma once
#include <sys/types.h>

#include <cerrno>
#include <csignal>
#include <iterator>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/parallel/collectives/store/watchdog.h"

namespace tandem::tools {

struct Pipe {
  distributed::Descriptor read, write;
};
/// Makes a pipe with both ends non-blocking and close-on-exec.
Pipe make_pipe();
/// Returns 128 random bits in hexadecimal.
std::string random_token();

/// A process that leads the ranks' process group and waits for the launcher's end. However the launcher ends, this
/// process then kills the group, itself included. While it lives, the kernel cannot reuse the group's ID.
class Keeper {
 public:
  Keeper();
  ~Keeper() { end_group(); }
  Keeper(const Keeper&) = delete;
  pid_t group() const { return pid_; }
  /// Kills all processes left in the group.
  void end_group();

 private:
  distributed::Descriptor alive_;  // pipe end that closes when the launcher ends
  pid_t pid_ = -1;
};

struct RankProcess {
  pid_t pid = -1;
  distributed::Descriptor out = {}, error = {};  // read ends of its stdout and stderr
};
/// A rank's place in its job, and settings; passed on in environment variables.
struct RankPlace {
  int rank = 0, world_size = 1, local_rank = 0, local_world_size = 1, node = 0, restarts = 0;
  std::string store_address = "127.0.0.1";
  int store_port = 0;
  std::string token = {};
  int threads = 0;             // compute threads; 0: TANDEM_NUM_THREADS, or an equal share of the cores
  std::string flight = {};     // folder of its flight record; "": TANDEM_FLIGHT_DIR
  std::vector<int> cpus = {};  // CPUs that it may run on; empty: as the launcher
};
/// Starts a rank's process in the process group. @throws UsageError if the command cannot be run
RankProcess start_rank(const RankPlace& place, const std::vector<std::string>& command, pid_t group);

/// Returns share number `part` of `parts` equal shares of the CPUs that the launcher may use, each of consecutive CPUs.
/// With fewer CPUs than parts, a share is one CPU, and several parts get the same one.
std::vector<int> cpus_of_part(int part, int parts);

/// Number of processes killed so far by the kernel's OOM killer; nullopt if the kernel does not report it.
struct MemoryKills {
  std::optional<int64_t> of_group;    // kills in this process's cgroup (a container, for example)
  std::optional<int64_t> of_machine;  // kills on the whole machine
  static MemoryKills now();
};

/// Returns "signal 9 (Killed)".
std::string name_of_signal(int signal);
/// Returns text to put after "rank 1 was ended by signal 9 (Killed)": the likely sender of a SIGKILL, judged by the OOM
/// kills between `before` and `now`, and the peak memory of the process. Empty for other signals.
std::string likely_cause(int signal, const MemoryKills& before, const MemoryKills& now, int64_t peak_kib);

/// Catches the launcher's signals while it lives: the handler writes each signal as a byte to a pipe. At most one
/// instance may exist.
class Signals {
 public:
  Signals() : pipe_(make_pipe()) {
    end_ = pipe_.write.get();
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const int error = errno;
      const char byte = static_cast<char>(signal);
      while (::write(end_, &byte, 1) < 0 && errno == EINTR) {}
      errno = error;
    };
    action.sa_flags = SA_RESTART;
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
  }
  ~Signals() {
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  Signals(const Signals&) = delete;
  int fd() const { return pipe_.read.get(); }
  /// Returns the next signal; 0 if there is none.
  int next() const {
    char byte = 0;
    return ::read(fd(), &byte, 1) == 1 ? byte : 0;
  }
  /// Returns whether the signal asks for the end of the job. SIGUSR1 and SIGUSR2 do not: they are only passed on to the
  /// ranks.
  static bool ends(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2};
  static inline volatile int end_ = -1;
  Pipe pipe_;
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace tandem::tools
