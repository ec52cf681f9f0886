// A thread, or an error that says what it was for. Internal.
#pragma once
#include <system_error>
#include <thread>
#include <utility>

#include "tandem/core/error.h"

namespace tandem::detail {

/// @throws Error naming `what` and the limits that may be reached when the system has no thread to give
template <class F> std::thread start_thread(const char* what, F&& f) try {
  return std::thread(std::forward<F>(f));
} catch (const std::system_error& error) {
  TANDEM_FAIL("cannot start a thread for ", what, ": ", error.what(),
              "; the limits are `ulimit -u` and the control group's pids.max");
}

}  // namespace tandem::detail
