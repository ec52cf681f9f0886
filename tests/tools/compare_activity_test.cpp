// What compare records of a process: time without a core, and stops from outside.
#include "tandem/tools/compare/measure/activity.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tandem/core/trace/tracer.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::tools::compare;
using detail::trace_clock_seconds;

TEST_CASE("two threads that spin on one core wait for it half of the time each", "[compare]") {
  constexpr double kSeconds = 0.2;
  std::atomic<int> ready{0};
  double waited[2] = {}, wall[2] = {};
  const auto spin = [&](int i) {
    cpu_set_t usable, one;
    CPU_ZERO(&usable);
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof usable, &usable);
    int core = 0;
    while (!CPU_ISSET(core, &usable)) ++core;
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    ++ready;
    while (ready < 2) sched_yield();
    const CoreWait wait;
    const double start = trace_clock_seconds(), before = wait.seconds();
    while (trace_clock_seconds() - start < kSeconds) {}
    waited[i] = wait.seconds() - before;
    wall[i] = trace_clock_seconds() - start;
  };
  std::thread other(spin, 1);
  std::thread(spin, 0).join();
  other.join();
  if (waited[0] == 0 && waited[1] == 0) {
    WARN("SKIPPED: this kernel does not count the time without a core");
    return;
  }
  // Together they had at most one core. A time slice at the ends of the measurement may be missing.
  constexpr double kSlice = 0.02;
  CHECK(waited[0] + waited[1] > kSeconds - 2 * kSlice);
  for (const int i : {0, 1}) CHECK(waited[i] < wall[i]);
}

TEST_CASE("a stop from outside is recorded with its length, and no CPU time passes in it", "[compare]") {
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: sanitizers do not allow threads after fork()");
    return;
  }
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ActivityRecorder recorder;
    const double start = trace_clock_seconds();
    while (trace_clock_seconds() - start < 0.4) {}
    const Activity activity = recorder.take();
    double values[4] = {};  // start and end of the longest stop, CPU time within it, and in all
    for (const TimeSpan& stop : activity.stops)
      if (stop.end - stop.start > values[1] - values[0]) values[0] = stop.start, values[1] = stop.end;
    values[2] = activity.busy_seconds(values[0] + 0.01, values[1] - 0.01);
    values[3] = activity.samples.back().cpu;
    ::_exit(::write(ends[1], values, sizeof values) == sizeof values ? 0 : 1);
  }
  ::usleep(100'000);
  const double begin = trace_clock_seconds();
  ::kill(child, SIGSTOP);
  ::usleep(100'000);
  ::kill(child, SIGCONT);
  const double end = trace_clock_seconds();
  double values[4] = {};
  CHECK(::read(ends[0], values, sizeof values) == sizeof values);
  int status = -1;
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  REQUIRE(status == 0);
  constexpr double kBeat = 5e-3;  // a beat takes about 1 ms, or more on a busy machine
  CHECK(values[0] > begin - kBeat);
  CHECK(values[1] < end + kBeat);
  // If the thread was waiting for a core when the stop began, the stop is recorded as shorter by that time.
  CHECK(values[1] - values[0] > 0.5 * (end - begin));
  CHECK(values[2] < 0.02);  // the child spins whenever it runs
  CHECK(values[3] > 1e-3);
}
