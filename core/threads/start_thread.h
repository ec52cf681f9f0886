// Starts the threads of the library. Internal.
#pragma once
#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <thread>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::detail {

/// Blocks the signals that a program may handle, in this thread while the object lives, and in every thread started
/// meanwhile until that thread ends: a handler then runs on a thread of the program. Signals of faults, which only the
/// faulting thread can get, and SIGPROF, which lets a profiler sample every thread, stay as they are.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t blocked;
    ::sigfillset(&blocked);
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
      ::sigdelset(&blocked, signal);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

/// @throws Error naming `what` and the limits that may be reached when the system has no thread to give
template <class F> std::thread start_thread(const char* what, F&& f) try {
  const SignalsBlocked blocked;
  return std::thread(std::forward<F>(f));
} catch (const std::system_error& error) {
  TANDEM_FAIL("cannot start a thread for ", what, ": ", error.what(),
              "; the limits are `ulimit -u` and the control group's pids.max");
}

}  // namespace tandem::detail
