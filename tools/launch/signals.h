// Signals that come to a launcher, as bytes to be read. Internal to ranks.cpp.
#pragma once
#include <cerrno>
#include <csignal>
#include <iterator>

#include "tandem/tools/launch/process.h"

namespace tandem::tools {

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
