// Watchdog: reports this rank to the job's store, and acts on the first failure of the job. Internal.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// Reports on a thread of its own (see StoreClient::report). Hands over the first failure once: a failure of the job or
/// of the group, or the loss of the store's host. If the store shuts down, the watch ends.
class Watchdog {
 public:
  struct Options {
    std::string group;
    int rank = 0;
    std::chrono::milliseconds interval{200};          // time between two reports
    std::function<int()> waits_for = {};              // returns the rank that this rank waits for now, -1 if none
    std::function<void(const LeftRanks&)> left = {};  // called after each report with the ranks that have left
    /// Wakes the calls that wait. Returns the error that this rank's calls then throw.
    std::function<std::string(const std::string& cause)> failed = {};
    /// Set when the error was thrown to the rank's program. If that does not happen within kGrace of a failure, because
    /// the program computes or sleeps, the process prints the error and ends. If null, the process is not ended.
    std::shared_ptr<const std::atomic<bool>> told = nullptr;
  };
  static constexpr std::chrono::milliseconds kGrace{500};
  static constexpr char kThreadName[] = "watchdog";  // name of the thread in debuggers

  Watchdog(std::unique_ptr<StoreClient> store, Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

 private:
  void watch();
  /// Tells the constructor, which waits for it, that the first report was answered or has failed.
  void note_report();
  void end_process_unless_told(const std::string& error);
  std::unique_ptr<StoreClient> store_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_, as has_reported_ is
  bool has_reported_ = false;
  std::thread thread_;
};

/// Returns the report interval for a group with this timeout. It is short enough to find the rank that holds the others
/// up by the time they give up.
std::chrono::milliseconds report_interval(std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
