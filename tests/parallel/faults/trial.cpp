#include "tandem/tests/parallel/faults/trial.h"

#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "tandem/parallel/collectives/store/watchdog.h"
#include "tandem/tandem.h"
#include "tandem/tests/parallel/faults/job.h"

namespace tandem::test {
namespace {

/// Returns whether the rank has started the watchdog thread, which reports to the store.
bool is_known(pid_t pid) {
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error))
    if (contents(task.path() / "comm") == std::string(distributed::Watchdog::kThreadName) + "\n") return true;
  return false;
}
}  // namespace

FaultTrial FaultTrial::from_seed(uint64_t seed, int64_t number, milliseconds timeout, milliseconds bound) {
  TrialDraws draws(seed, number);
  FaultTrial t;
  t.timeout = timeout, t.bound = bound;
  t.launcher = number % 2 == 1;
  t.stop = number % 8 >= 6;
  t.phase = t.stop ? (draws.below(2) == 0 ? Phase::start_up : Phase::training) : static_cast<Phase>(number / 2 % 3);
  t.ranks = 2 + draws.below(3);
  t.victim = draws.below(t.ranks);
  t.start_delays.resize(static_cast<size_t>(t.ranks));
  for (milliseconds& start : t.start_delays) start = milliseconds(draws.below(100));
  t.delay = milliseconds(draws.below(t.phase == Phase::start_up ? 250 : 150));
  return t;
}
std::string FaultTrial::kind() const {
  const char* const phases[] = {"start-up", "training", "computing"};
  return std::string(stop ? "stop" : "kill") + " in " + phases[static_cast<int>(phase)] + ", " +
         (launcher ? "tandem launch" : "no launcher");
}
std::string FaultTrial::str() const {
  return kind() + ", rank " + std::to_string(victim) + " of " + std::to_string(ranks) + " after " +
         std::to_string(delay.count()) + " ms";
}

FaultResult run_trial(const FaultTrial& t) {
  FaultResult result;
  const auto wrong = [&](const std::string& what) { result.violations.push_back(what); };
  const int computes = t.phase == Phase::computing ? (t.victim + 1) % t.ranks : -1;
  FaultJob job(t.ranks, t.launcher, t.timeout, /*steps=*/1000000, std::to_string(computes));
  std::vector<Clock::time_point> started(static_cast<size_t>(t.ranks), Clock::now());
  std::vector<bool> is_started(static_cast<size_t>(t.ranks), t.launcher);
  const auto begin = Clock::now();
  const auto start_those_due = [&] {
    for (int r = 0; r < t.ranks; ++r) {
      const auto at = static_cast<size_t>(r);
      if (is_started[at] || Clock::now() - begin < t.start_delays[at]) continue;
      job.start_rank(r);
      is_started[at] = true, started[at] = Clock::now();
    }
    job.find_rank_pids();
  };
  if (t.launcher) job.start_launcher();

  // Run until the fault.
  const Deadline hopeless = deadline_after(kStartTime);
  bool in_phase = t.phase == Phase::start_up;
  auto due = begin + t.delay;
  for (; job.pid(t.victim) < 0 || !in_phase || Clock::now() < due; std::this_thread::sleep_for(milliseconds(1))) {
    start_those_due();
    if (Clock::now() >= hopeless) return wrong("the job does not start: " + job.launcher_stderr()), result;
    if (in_phase || !std::all_of(is_started.begin(), is_started.end(), [](bool b) { return b; })) continue;
    for (int r = 0; r < t.ranks; ++r)
      if (!job.wait_for_output(r, "trains", hopeless))
        wrong(rank_name(r) + " does not train: " + job.output(r, "error"));
    if (computes >= 0) job.wait_for_output(computes, "computes", hopeless);
    in_phase = true, due = Clock::now() + t.delay;
  }
  const pid_t victim = job.pid(t.victim);
  std::vector<bool> known(static_cast<size_t>(t.ranks), true);
  if (!t.launcher) {
    for (int r = 0; r < t.ranks; ++r)
      known[static_cast<size_t>(r)] = r != t.victim && job.pid(r) > 0 && is_known(job.pid(r));
    ::kill(victim, SIGSTOP);  // stopped before a kill too, to see whether it has reached the store
    for (char state = 'R'; state != 'T' && state != 'Z' && state != '\0'; state = process_state(victim)) {}
    known[static_cast<size_t>(t.victim)] = is_known(victim);
  }
  ::kill(victim, t.stop ? SIGSTOP : SIGKILL);
  const auto struck = Clock::now();

  // Wait until the survivors end.
  const auto longest = t.timeout + t.bound + milliseconds(8000);
  std::map<int, Clock::time_point> ends;
  while (static_cast<int>(ends.size()) < t.ranks - 1 && Clock::now() < struck + longest) {
    start_those_due();
    // If the launcher has ended, ranks that it had not started count as ended too.
    const bool over = job.launcher() > 0 && job.ended(job.launcher());
    for (int r = 0; r < t.ranks; ++r) {
      const bool there = job.pid(r) > 0;
      if (r != t.victim && ends.count(r) == 0 && (there ? job.ended(job.pid(r)) : over)) ends[r] = Clock::now();
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
  auto last = struck + (t.stop ? t.timeout + t.bound : t.bound) + milliseconds(100);
  if (job.launcher() > 0) {  // wait for the launcher, which forwards the ranks' errors
    while (!job.ended(job.launcher()) && Clock::now() < struck + longest) std::this_thread::sleep_for(milliseconds(1));
    if (Clock::now() > last) wrong("tandem launch ends late, or not at all");
  }
  for (int r = 0; r < t.ranks; ++r) {
    if (r == t.victim) continue;
    const auto at = static_cast<size_t>(r);
    const std::string output = job.output(r, "error");
    const auto from = std::max(struck, started[at]);
    if (ends.count(r) == 0) {
      wrong(rank_name(r) + " does not end");
      continue;
    }
    // The loss of a rank that has not reached the store goes unnoticed. If rank 0, which hosts the store, is lost, only
    // ranks that are connected to the store notice.
    const bool can_know = known[static_cast<size_t>(t.victim)] && (t.victim != 0 || known[at]);
    const auto took = std::chrono::duration_cast<milliseconds>(ends[r] - from);
    const auto most = t.stop || !can_know ? t.timeout + t.bound : t.bound;
    if (took > most && (known[at] || took > t.timeout + t.bound))
      wrong(rank_name(r) + " ends after " + std::to_string(took.count()) + " ms: " + output);
    can_know ? result.latencies.push_back(took) : void(++result.at_timeout);
    if (output.find(rank_name(t.victim)) == std::string::npos && (known[at] || t.victim == 0))
      wrong(rank_name(r) + " does not name " + rank_name(t.victim) + ": '" + output + "'");
    for (const int blamed : parse_blamed_ranks(output))
      if (blamed != t.victim && (known[at] || blamed != 0)) wrong(rank_name(r) + " blames an innocent: " + output);
    if (!t.launcher && (!WIFEXITED(job.status(job.pid(r))) || WEXITSTATUS(job.status(job.pid(r))) == 0))
      wrong(rank_name(r) + " ends with status " + std::to_string(job.status(job.pid(r))) + ": " + output);
  }

  // Check the launcher, the stopped rank, leftover processes and the checkpoint.
  if (job.launcher() > 0) {
    if (job.launcher_stderr().find("tandem launch: ") == std::string::npos ||
        job.launcher_stderr().find(rank_name(t.victim)) == std::string::npos)
      wrong("tandem launch does not name " + rank_name(t.victim) + ": " + job.launcher_stderr());
  } else if (t.stop) {
    ::kill(victim, SIGCONT);
    last = Clock::now() + t.timeout + t.bound;
    while (!job.ended(victim) && Clock::now() < last) std::this_thread::sleep_for(milliseconds(1));
    if (!job.ended(victim)) wrong("the stopped rank goes on for ever: " + job.output(t.victim, "error"));
  }
  if (const int left = end_children(milliseconds(1000))) wrong(std::to_string(left) + " processes are left");
  try {
    NamedTensors tensors;
    if (std::filesystem::exists(job.checkpoint())) tensors = load_safetensors(job.checkpoint());
    if (!tensors.empty() && tensors.size() != 4) wrong("the checkpoint has other tensors");
    if (tensors.empty() && t.phase != Phase::start_up) wrong("there is no checkpoint");
  } catch (const Error& error) {
    wrong(std::string("the checkpoint is broken: ") + error.what());
  }
  return result;
}

GarbageResult run_garbage(int connections, bool launcher) {
  GarbageResult result;
  FaultJob job(2, launcher, milliseconds(60000), /*steps=*/1000000, "-1");
  if (launcher) {
    job.start_launcher();
  } else {
    for (const int rank : {0, 1}) job.start_rank(rank);
  }
  for (const int rank : {0, 1})
    if (!job.wait_for_output(rank, "trains", deadline_after(kStartTime)))
      return result.violations.push_back("the job does not start: " + job.output(rank, "error")), result;
  job.find_rank_pids();
  const auto memory = [&] {
    const std::string status = contents("/proc/" + std::to_string(job.host()) + "/status");
    const size_t at = status.find("VmRSS:");
    return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + 6);
  };
  const int64_t before = memory();
  std::string large(1 << 16, 'x');
  large.replace(0, 4, std::string("\0\0\x0f\0", 4));  // the first part of a message of 983040 bytes
  const std::vector<std::string> texts = {"", "GET / HTTP/1.0\r\n\r\n", large, std::string(1 << 16, '\xff')};
  std::vector<distributed::Descriptor> strangers;
  for (int i = 0; i < connections; ++i) {
    strangers.push_back(distributed::connect_to("127.0.0.1", job.port(), deadline_after(milliseconds(20000))));
    const std::string& text = texts[static_cast<size_t>(i) % texts.size()];
    (void)::send(strangers.back().get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  std::this_thread::sleep_for(milliseconds(200));
  result.rss_growth_kib = memory() - before;
  constexpr int64_t kMostKib = TANDEM_TEST_SANITIZED ? 64 * 1024 : 5 * 1024;  // sanitizers keep freed memory
  if (result.rss_growth_kib > kMostKib)
    result.violations.push_back(std::to_string(result.rss_growth_kib) + " KiB more memory");
  for (const int rank : {0, 1})
    if (job.ended(job.pid(rank))) result.violations.push_back(rank_name(rank) + " ended: " + job.output(rank, "error"));
  ::kill(launcher ? job.launcher() : job.pid(0), SIGKILL);  // ends the job by killing the store's host
  for (const int rank : {0, 1})
    for (const Deadline deadline = deadline_after(milliseconds(20000));
         !job.ended(job.pid(rank)) && Clock::now() < deadline;)
      std::this_thread::sleep_for(milliseconds(2));
  if (!launcher && parse_blamed_ranks(job.output(1, "error")) != std::set<int>{0})
    result.violations.push_back("rank 1 does not name rank 0: " + job.output(1, "error"));
  return result;
}

}  // namespace tandem::test
