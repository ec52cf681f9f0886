// Starts the library's threads. Internal.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::detail {

/// While this object lives, the signals that a program may handle are blocked in this thread and in every thread
/// started from it. Started threads keep them blocked until they end. Signal handlers then run on the program's own
/// threads. Not blocked: fault signals, which only the faulting thread receives, and SIGPROF, so that a profiler can
/// sample every thread.
class BlockSignalsGuard {
 public:
  BlockSignalsGuard() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      ::sigdelset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &saved_signal_mask_);
  }
  ~BlockSignalsGuard() { ::pthread_sigmask(SIG_SETMASK, &saved_signal_mask_, nullptr); }
  BlockSignalsGuard(const BlockSignalsGuard&) = delete;

 private:
  sigset_t saved_signal_mask_;
};

/// Starts a thread that runs f. @throws Error that names `what` and the possible limits, if the system cannot start a
/// thread
template <class F> std::thread start_thread(const char* what, F&& f) try {
  const BlockSignalsGuard blocked;
  return std::thread(std::forward<F>(f));
} catch (const std::system_error& error) {
  TANDEM_FAIL("cannot start a thread for ", what, ": ", error.what(),
              "; the limits are `ulimit -u` and the control group's pids.max");
}

}  // namespace tandem::detail
