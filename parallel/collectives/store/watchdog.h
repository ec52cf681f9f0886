// Reports this rank to the job's store, hears there of the first failure of the job, and acts on it. Internal.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "tandem/parallel/collectives/store/rendezvous.h"

namespace tandem::distributed {

/// Reports on a thread of its own (see StoreClient::report), and hands the first failure over, once: that of the job or
/// of the group, or that the store's host is gone. A store that is closed in order ends the watch.
class Watchdog {
 public:
  struct Options {
    std::string group;
    int rank = 0;
    std::chrono::milliseconds interval{200};          // between two reports
    std::function<int()> waits_for = {};              // whom the rank waits for now; -1: nobody
    std::function<void(const LeftRanks&)> left = {};  // called after each report: who has left the group
    /// Wakes what waits. Returns the error that this rank then has.
    std::function<std::string(const std::string& cause)> failed = {};
    /// Set when the error was thrown to the rank's program. If that does not happen within kGrace of a failure, as it
    /// computes or sleeps, the process ends with the error printed; null: it lives on.
    std::shared_ptr<const std::atomic<bool>> told = nullptr;
  };
  static constexpr std::chrono::milliseconds kGrace{500};
  static constexpr char kThreadName[] = "watchdog";  // which debuggers show

  Watchdog(std::unique_ptr<StoreClient> store, Options options);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;

 private:
  void watch();
  /// Says to the constructor, which waits for it, that the first report has been answered or has failed.
  void note_report();
  void end_process_unless_told(const std::string& error);
  std::unique_ptr<StoreClient> store_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_, as is the next
  bool has_reported_ = false;
  std::thread thread_;
};

/// That of a group with such a timeout: often enough to find who holds the others up, by the time that they give up.
std::chrono::milliseconds report_interval(std::chrono::milliseconds timeout);

}  // namespace tandem::distributed
