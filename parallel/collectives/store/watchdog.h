// Watchdog: reports this rank to the job's store, and reacts to the first failure of the job. Internal.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// Sends reports from a thread of its own (see StoreClient::send_heartbeat). Calls Options::on_failure for the first
/// failure: a failure of the job or of the group, or the loss of the store's host. If the store shuts down, the thread
/// ends.
class Watchdog {
 public:
  struct Options {
    std::string group;
    int rank = 0;
    std::chrono::milliseconds heartbeat_interval{200};  // time from one report to the next
    std::function<int()> waits_for = {};  // returns the rank that this rank currently waits for, -1 if none
    std::function<void(const LeftRanks&)> on_ranks_left = {};  // called after each report with the ranks that have left
    /// Called with the first failure. Wakes the waiting calls, and returns the error that the calls of this rank then
    /// throw.
    std::function<std::string(const std::string& cause)> on_failure = {};
    /// Flag that is set once the error has been thrown to the rank's program. If it is not set within kExitGracePeriod
    /// of a failure, because the program computes or sleeps, the process prints the error and ends. If null, the
    /// process does not end.
    std::shared_ptr<const std::atomic<bool>> failure_reported = nullptr;
  };
  static constexpr std::chrono::milliseconds kExitGracePeriod{500};
  static constexpr char kThreadName[] = "watchdog";  // name of the thread in debuggers

  Watchdog(std::unique_ptr<StoreClient> store, Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

 private:
  void send_heartbeats();
  /// Tells the waiting constructor that the first report was answered or has failed.
  void notify_first_report();
  void end_process_unless_reported(const std::string& error);
  std::unique_ptr<StoreClient> store_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // mutex_ guards stop_ and has_reported_
  bool has_reported_ = false;
  std::thread thread_;
};

/// Returns the interval between reports for a group with this timeout. It is short enough that, when waiting ranks
/// reach the timeout, the store knows which rank holds them up.
std::chrono::milliseconds report_interval(std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
