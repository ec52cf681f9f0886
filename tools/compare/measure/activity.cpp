// Implements ActivityRecorder, which reads the kernel's counters of this process about once a millisecond.
#include "tandem/tools/compare/measure/activity.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tandem/core/trace/tracer.h"

namespace tandem::tools::compare {
namespace {

constexpr double kPeriod = 1e-3;          // seconds between two samples
constexpr double kMinStopSeconds = 4e-3;  // shorter pauses also come from the kernel, for example from page faults

/// Time without a core of all threads of this process but the calling one.
class OtherThreadsCoreWait {
 public:
  double seconds() {
    // Threads start rarely, so the list is renewed only now and then.
    constexpr int kRenewal = 50;
    if (calls_++ % kRenewal == 0) renew();
    double sum = 0;
    for (const auto& [id, thread] : threads_) sum += thread.seconds();
    return sum;
  }

 private:
  void renew() {
    const std::string own = std::to_string(gettid());
    std::error_code error;
    for (std::filesystem::directory_iterator at("/proc/self/task", error), end; !error && at != end;
         at.increment(error)) {
      const std::string id = at->path().filename().string();
      if (id != own && threads_.count(id) == 0) threads_.emplace(id, CoreWait((at->path() / "schedstat").c_str()));
    }
  }
  std::map<std::string, CoreWait> threads_;
  int calls_ = 0;
};

double read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Returns by how much a counter increased between two times; interpolates between samples.
template <class Counter>
double counter_increase(const std::vector<ActivitySample>& samples, double from, double to, const Counter& counter) {
  const auto at = [&](double time) {
    const auto after = std::lower_bound(samples.begin(), samples.end(), time,
                                        [](const ActivitySample& b, double t) { return b.time < t; });
    if (after == samples.end()) return counter(samples.back());
    if (after == samples.begin()) return counter(*after);
    const ActivitySample& before = *std::prev(after);
    const double part = (time - before.time) / (after->time - before.time);
    return counter(before) + (counter(*after) - counter(before)) * part;
  };
  return samples.empty() ? 0 : std::max(0.0, at(to) - at(from));
}

}  // namespace

double Activity::busy_seconds(double from, double to) const {
  return counter_increase(samples, from, to, [](const ActivitySample& sample) { return sample.cpu + sample.waited; });
}
double Activity::waited_seconds(double from, double to) const {
  return counter_increase(samples, from, to, [](const ActivitySample& sample) { return sample.waited; });
}

CoreWait::CoreWait(const char* path) : file_(::open(path, O_RDONLY | O_CLOEXEC)) {}
double CoreWait::seconds() const {
  // The file has three numbers: nanoseconds on a core, nanoseconds without one, and the number of time slices.
  char text[96] = {};
  if (file_.get() < 0 || ::pread(file_.get(), text, sizeof text - 1, 0) <= 0) return 0;
  char* end = nullptr;
  std::strtoull(text, &end, 10);
  return 1e-9 * static_cast<double>(std::strtoull(end, nullptr, 10));
}

double machine_cpu_seconds() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) return -1;
  std::ifstream in("/proc/stat");
  double ticks = 0;
  bool found = false;
  for (std::string line; std::getline(in, line);) {
    int core = 0;
    if (std::sscanf(line.c_str(), "cpu%d ", &core) != 1 || core < 0 || core >= CPU_SETSIZE || !CPU_ISSET(core, &usable))
      continue;
    std::istringstream fields(line);
    std::string name;
    double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, softirq = 0, steal = 0;
    fields >> name >> user >> nice >> system >> idle >> io >> irq >> softirq >> steal;
    ticks += user + nice + system + irq + softirq + steal;
    found = true;
  }
  return found ? ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : -1;
}
double process_cpu_seconds() { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

void ActivityRecorder::record() {
  OtherThreadsCoreWait others;
  const CoreWait own;
  while (!stopping_) {
    activity_.samples.push_back(
        {detail::trace_clock_seconds(), process_cpu_seconds() - read_clock(CLOCK_THREAD_CPUTIME_ID), others.seconds()});
    const double due = detail::trace_clock_seconds() + kPeriod, waited = own.seconds();
    std::this_thread::sleep_for(std::chrono::duration<double>(kPeriod));
    // A thread that sleeps wakes up late if it finds no core, which the kernel counts, or if its process is stopped.
    const double start_of_wait = detail::trace_clock_seconds() - (own.seconds() - waited);
    if (start_of_wait - due > kMinStopSeconds) activity_.stops.push_back({due, start_of_wait});
  }
}

}  // namespace tandem::tools::compare
