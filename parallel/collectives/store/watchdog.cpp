// Implements Watchdog: a thread that reports this rank to the store, and ends the process after another rank's failure.
#include "tandem/parallel/collectives/store/watchdog.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "tandem/core/threads/start_thread.h"

namespace tandem::distributed {
namespace {

/// Flushes the program's buffered standard output before the process ends, unless that would block.
void flush_standard_output() {
  pollfd out{STDOUT_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) != 1 || ::ftrylockfile(stdout) != 0) return;
  ::fflush_unlocked(stdout);
  ::funlockfile(stdout);
}

}  // namespace

std::chrono::milliseconds report_interval(std::chrono::milliseconds timeout) {
  return std::clamp<std::chrono::milliseconds>(timeout / 10, std::chrono::milliseconds(20),
                                               std::chrono::milliseconds(200));
}

Watchdog::Watchdog(std::unique_ptr<StoreClient> store, Options options)
    : store_(std::move(store)), options_(std::move(options)) {
  thread_ = detail::start_thread("the watchdog of a process group", [this] { send_heartbeats(); });
  // Wait until the store knows this rank, because it would not notice that the rank is killed before that. The wait
  // ends after a second: if the store does not answer, ranks that wait for its host find out.
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::seconds(1), [this] { return has_reported_; });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  store_->interrupt();
  thread_.join();
}

void Watchdog::send_heartbeats() {
  const auto stopped = [this] {
    const std::lock_guard lock(mutex_);
    return stop_;
  };
  std::optional<std::string> cause;
  try {
    for (auto time = std::chrono::milliseconds(0); !cause && !stopped(); time = options_.heartbeat_interval) {
      LeftRanks left;
      cause = store_->send_heartbeat(options_.group, options_.rank, options_.waits_for ? options_.waits_for() : -1,
                                     time, &left);
      if (time.count() == 0) notify_first_report();
      if (!cause && options_.on_ranks_left) options_.on_ranks_left(left);
    }
  } catch (const StoreClosed&) {
    notify_first_report();
    return store_->interrupt();  // close the connection: the store's host waits for that
  } catch (const std::exception& error) {
    cause = error.what();
    notify_first_report();
  }
  if (stopped()) return;
  const std::string error = options_.on_failure(*cause);
  if (options_.failure_reported) end_process_unless_reported(error);
}

void Watchdog::notify_first_report() {
  // set here, so that debuggers show this name only after the first report
  ::pthread_setname_np(::pthread_self(), kThreadName);
  const std::lock_guard lock(mutex_);
  has_reported_ = true;
  wake_.notify_all();
}

void Watchdog::end_process_unless_reported(const std::string& error) {
  {
    std::unique_lock lock(mutex_);
    for (const Deadline deadline = deadline_after(kExitGracePeriod);
         Clock::now() < deadline && !stop_ && !*options_.failure_reported;)
      wake_.wait_for(lock, std::chrono::milliseconds(10));
    if (stop_ || *options_.failure_reported) return;
  }
  flush_standard_output();
  const std::string text = "tandem: rank " + std::to_string(options_.rank) +
                           " ends because its job has failed: " + error.substr(0, 3000) + "\n";
  if (wait_until_ready(
          STDERR_FILENO, POLLOUT,
          deadline_after(std::chrono::milliseconds(100))))  // short, because whoever reads stderr may be blocked
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  std::_Exit(1);
}

}  // namespace tandem::distributed
