// Processes of a job: the start of a rank's and the likely cause of its end, the keeper that ends all that a launcher
// leaves behind, and the signals that come to a launcher. Internal to ranks.cpp.
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
/// Both ends non-blocking and closed in programs that are started.
Pipe make_pipe();
/// 128 random bits in hexadecimal.
std::string random_token();

/// A process that leads the ranks' process group and does nothing but wait for the launcher's end: then, however that
/// came, it kills the group and so itself. It also keeps the group's number from being used anew.
class Keeper {
 public:
  Keeper();
  ~Keeper() { end_group(); }
  Keeper(const Keeper&) = delete;
  pid_t group() const { return pid_; }
  /// Kills whatever is left of the group.
  void end_group();

 private:
  distributed::Descriptor alive_;  // open as long as the launcher lives
  pid_t pid_ = -1;
};

struct RankProcess {
  pid_t pid = -1;
  distributed::Descriptor out = {}, error = {};  // what it writes
};
/// What a rank is told of itself and its job.
struct RankPlace {
  int rank = 0, world_size = 1, local_rank = 0, local_world_size = 1, node = 0, restarts = 0;
  std::string store_address = "127.0.0.1";
  int store_port = 0;
  std::string token = {};
  int threads = 0;             // to compute with; 0: what the environment says, or an equal share of the cores
  std::string flight = {};     // where its record of a failure goes; "": what the environment says
  std::vector<int> cpus = {};  // where it may run; empty: wherever the launcher may
};
/// @throws UsageError when the command cannot be run
RankProcess start_rank(const RankPlace& place, const std::vector<std::string>& command, pid_t group);

/// An equal part of the processors that the launcher may use, side by side; with fewer of them than parts, one each,
/// and several parts the same.
std::vector<int> cpus_of_part(int part, int parts);

/// How many processes the kernel has killed so far for lack of memory; nothing where it does not say.
struct MemoryKills {
  std::optional<int64_t> of_group;    // of this process's control group, which a container is
  std::optional<int64_t> of_machine;  // of all
  static MemoryKills now();
};

/// "signal 9 (Killed)"
std::string name_of_signal(int signal);
/// What follows "rank 1 was ended by signal 9 (Killed)": the likely sender of a SIGKILL, by what the kernel has counted
/// meanwhile, and how much memory the process had. Empty for other signals.
std::string likely_cause(int signal, const MemoryKills& before, const MemoryKills& now, int64_t peak_kib);

/// One at a time: it lives as long as the launcher has ranks to look after.
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
  /// 0 when there is none.
  int next() const {
    char byte = 0;
    return ::read(fd(), &byte, 1) == 1 ? byte : 0;
  }
  /// Whether the signal asks for the end of the job. SIGUSR1 and SIGUSR2 are the ranks' own affair.
  static bool ends(int signal) { return signal == SIGINT || signal == SIGTERM || signal == SIGHUP; }

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2};
  static inline volatile int end_ = -1;
  Pipe pipe_;
  struct sigaction before_[std::size(kSignals)];
};

}  // namespace tandem::tools
