// Watches a process while it trains: CPU time, time without a core, and times at which it was stopped from outside.
// Together with a trace, this tells a slow link or rank from a machine that other programs use.
#pragma once
#include <atomic>
#include <thread>
#include <vector>

#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::tools::compare {

/// Counters of a process at one time. All are in seconds; `time` is of the clock of TraceEvent::start.
struct ActivitySample {
  double time = 0;
  double cpu = 0;     // CPU time of all threads
  double waited = 0;  // time in which threads were runnable but had no core, summed over the threads
};
struct TimeSpan {
  double start = 0, end = 0;
};
/// Record of one process.
struct Activity {
  std::vector<ActivitySample> samples;  // about one sample per millisecond
  std::vector<TimeSpan> stops;  // times in which no thread of the process could run although cores were free for it

  /// Returns the seconds between `from` and `to` in which threads of the process used a core or waited for one, summed
  /// over the threads; interpolates between samples. Returns 0 if there are no samples.
  double busy_seconds(double from, double to) const;
  /// Returns the part of busy_seconds() in which the threads waited for a core.
  double waited_seconds(double from, double to) const;
};

/// Number of seconds that one thread has been runnable without having a core.
class CoreWait {
 public:
  /// @param path  file of the thread in /proc; the default is the calling thread
  explicit CoreWait(const char* path = "/proc/thread-self/schedstat");
  /// Returns the seconds so far; 0 if the kernel does not count them.
  double seconds() const;

 private:
  distributed::Descriptor file_;
};

/// Returns the seconds of CPU time that all programs of this machine have used so far on the cores that this process
/// may use, or -1 if they are unknown. The kernel counts them in steps of about 10 ms.
double machine_cpu_seconds();
/// Returns the CPU time of this process in seconds.
double process_cpu_seconds();

/// Records the activity of this process from construction until take().
class ActivityRecorder {
 public:
  ActivityRecorder() : thread_([this] { record(); }) {}
  ~ActivityRecorder() { stop(); }
  ActivityRecorder(const ActivityRecorder&) = delete;
  Activity take() {
    stop();
    return std::move(activity_);
  }

 private:
  void record();
  void stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::atomic<bool> stopping_{false};
  Activity activity_;
  std::thread thread_;
};

}  // namespace tandem::tools::compare
