#include "tandem/tests/parallel/faults/misc_faults.h"

#include <algorithm>
#include <memory>

#include "tandem/tests/parallel/faults/job.h"
#include "tandem/tests/parallel/launch/relay.h"

namespace tandem::test {
namespace {

constexpr milliseconds kNodeTimeout(1000);
constexpr milliseconds kLaunchersEnd(2500);  // for tandem launch to end; it gives its ranks two seconds

/// Collects violations, and the times that processes take to end.
struct Watch {
  FaultResult result = {};
  Clock::time_point struck = Clock::now();
  void wrong(const std::string& what) { result.violations.push_back(what); }
  /// Waits until the process has ended. Taking longer than `most` is a violation.
  void wait_for_end(FaultJob& job, pid_t pid, const std::string& name, milliseconds most) {
    const Deadline hopeless = struck + most + milliseconds(10000);
    while (!job.ended(pid) && Clock::now() < hopeless) std::this_thread::sleep_for(milliseconds(1));
    const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - struck);
    if (took > most) wrong(name + " ends after " + std::to_string(took.count()) + " ms, or not at all");
    result.latencies.push_back(took);
  }
};
bool ended_well(FaultJob& job, pid_t pid) {
  return job.ended(pid) && WIFEXITED(job.status(pid)) && WEXITSTATUS(job.status(pid)) == 0;
}

FaultResult leave_group(const MiscFaultTrial& t) {
  Watch watch;
  std::string exit_plans = "ends=";
  for (const std::string& end : t.exit_plans) exit_plans += end + ",";
  FaultJob job(t.ranks, t.launcher, milliseconds(60000), /*steps=*/10, exit_plans);
  job.start_all();
  const auto check = [&](pid_t pid, const std::string& name, const std::string& output) {
    watch.wait_for_end(job, pid, name, kStartTime);
    if (!ended_well(job, pid)) watch.wrong(name + " does not end with status 0: " + output);
  };
  if (t.launcher) check(job.launcher(), "tandem launch", job.launcher_stderr());
  for (int r = 0; r < t.ranks; ++r) {
    if (!t.launcher) check(job.pid(r), rank_name(r), job.output(r, "error"));
    if (job.output(r, "out").find("done") == std::string::npos)
      watch.wrong(rank_name(r) + " does not come to its end: " + job.output(r, "error"));
    if (!parse_blamed_ranks(job.output(r, "error")).empty())
      watch.wrong(rank_name(r) + " blames a rank: " + job.output(r, "error"));
  }
  watch.result.latencies.clear();  // the trial has no fault to measure from
  return watch.result;
}

FaultResult leave_while_needed(const MiscFaultTrial& t) {
  Watch watch;
  std::string exit_plans = "ends=";
  for (int r = 0; r < t.ranks; ++r) exit_plans += r == t.victim ? t.exit_plans[static_cast<size_t>(r)] + "," : "train,";
  FaultJob job(t.ranks, t.launcher, milliseconds(60000), /*steps=*/1000000, exit_plans);
  job.start_all();
  if (!job.wait_for_output(t.victim, "leaves", deadline_after(kStartTime)))
    return watch.wrong(rank_name(t.victim) + " does not leave: " + job.output(t.victim, "error")), watch.result;
  watch.struck = Clock::now();
  job.find_rank_pids();
  for (int r = 0; r < t.ranks; ++r) {
    if (r == t.victim) continue;
    if (job.pid(r) > 0) watch.wait_for_end(job, job.pid(r), rank_name(r), t.bound);
  }
  if (t.launcher) watch.wait_for_end(job, job.launcher(), "tandem launch", t.bound + kLaunchersEnd);
  for (int r = 0; r < t.ranks; ++r) {
    const std::string output = job.output(r, "error");
    if (r == t.victim) continue;
    if (output.find(rank_name(t.victim) + " has left the group (it ended normally)") == std::string::npos)
      watch.wrong(rank_name(r) + " does not say that " + rank_name(t.victim) + " has left: '" + output + "'");
    for (const int blamed : parse_blamed_ranks(output))
      if (blamed != t.victim) watch.wrong(rank_name(r) + " blames an innocent: " + output);
    if (!t.launcher && ended_well(job, job.pid(r))) watch.wrong(rank_name(r) + " ends with status 0: " + output);
  }
  if (!t.launcher) watch.wait_for_end(job, job.pid(t.victim), rank_name(t.victim), t.bound + milliseconds(1000));
  return watch.result;
}

/// Returns the final parameters of a job in which rank `who` runs bare backwards, or "" if the job fails.
std::string end_beside_bare_backwards(const MiscFaultTrial& t, int who, Watch& watch) {
  FaultJob job(t.ranks, t.launcher, milliseconds(5000), /*steps=*/20, "bare=" + std::to_string(who));
  job.start_all();
  watch.struck = Clock::now();
  for (int r = 0; r < t.ranks; ++r) {
    if (!job.wait_for_output(r, "done", deadline_after(milliseconds(15000))))
      watch.wrong(rank_name(r) + " does not come to its end: " + job.output(r, "error"));
    if (r == 0 && t.launcher) watch.wait_for_end(job, job.launcher(), "tandem launch", kStartTime);
    if (!t.launcher) watch.wait_for_end(job, job.pid(r), rank_name(r), kStartTime);
  }
  return contents(job.folder() + "/end.pt");
}
FaultResult bare_backwards(const MiscFaultTrial& t) {
  Watch watch;
  const std::string expected = end_beside_bare_backwards(t, -1, watch);
  if (end_beside_bare_backwards(t, t.victim, watch) != expected || expected.empty())
    watch.wrong("the parameters are not those of a job without bare backwards");
  watch.result.latencies.clear();  // the trial has no fault to measure from
  return watch.result;
}

/// A job with two launchers of one rank each. Node 1 connects through the relay, unless it is nullptr.
class TwoLaunchers {
 public:
  explicit TwoLaunchers(const Relay* relay) : job_(2, true, milliseconds(60000), 1000000, "-1") {
    const distributed::StoreServer free_now("");
    const std::string port = std::to_string(free_now.port());
    for (const int node : {0, 1}) {
      std::vector<std::string> environment = {"TANDEM_JOB_TOKEN=faults"};
      if (node == 1 && relay) {
        for (const std::string& entry : relay->environment()) environment.push_back(entry);
        environment.push_back("LD_PRELOAD=" + std::string(kRelayPreload));
      }
      port_ = port;
      environments_.push_back(environment);
    }
  }
  /// Returns false if the ranks do not start training.
  bool start_all() {
    for (const size_t node : {0, 1}) {
      pids_[node] = start({kCommand, "launch", "-n", "1", "--threads", "1", "--nodes", "2", "--rdzv",
                           "127.0.0.1:" + port_, "--node-timeout", std::to_string(kNodeTimeout.count() / 1000), "--",
                           kFaultsProgram, job_.folder(), "60000", "1000000", "-1"},
                          environments_[node], path("out", node), path("error", node));
      if (node == 0) distributed::connect_to("127.0.0.1", std::atoi(port_.c_str()), deadline_after(kStartTime));
    }
    for (const Deadline deadline = deadline_after(kStartTime); Clock::now() < deadline;
         std::this_thread::sleep_for(milliseconds(2)))
      if (output(0, "out").find("trains") != std::string::npos && output(1, "out").find("trains") != std::string::npos)
        return true;
    return false;
  }
  pid_t pid(int node) const { return pids_[static_cast<size_t>(node)]; }
  std::string output(int node, const char* stream) const { return contents(path(stream, static_cast<size_t>(node))); }
  FaultJob& job() { return job_; }
  /// Checks that the launcher of `node` ends in time with status 1, and names the other node.
  void check(int node, Watch& watch, milliseconds most) {
    const std::string name = "the launcher of node " + std::to_string(node);
    watch.wait_for_end(job_, pid(node), name, most);
    const std::string output = this->output(node, "error");
    if (!job_.ended(pid(node)) || !WIFEXITED(job_.status(pid(node))) || WEXITSTATUS(job_.status(pid(node))) != 1)
      watch.wrong(name + " does not end with status 1: " + output);
    if (output.find("the launcher of node " + std::to_string(1 - node) + " of 2 (") == std::string::npos)
      watch.wrong(name + " does not name node " + std::to_string(1 - node) + ": '" + output + "'");
  }

 private:
  std::string path(const char* stream, size_t node) const {
    return job_.folder() + "/" + stream + std::to_string(node);
  }
  FaultJob job_;
  std::string port_;
  std::vector<std::vector<std::string>> environments_;
  pid_t pids_[2] = {-1, -1};
};

FaultResult launcher_lost(const MiscFaultTrial& t) {
  Watch watch;
  TwoLaunchers two(nullptr);
  if (!two.start_all()) return watch.wrong("the job does not start: " + two.output(0, "error")), watch.result;
  std::this_thread::sleep_for(t.delay);
  ::kill(two.pid(t.victim), t.pause_launcher ? SIGSTOP : SIGKILL);
  watch.struck = Clock::now();
  const milliseconds most = t.bound + kLaunchersEnd + (t.pause_launcher ? 2 * kNodeTimeout : milliseconds(0));
  two.check(1 - t.victim, watch, most);
  ::kill(two.pid(t.victim), SIGCONT);
  watch.wait_for_end(two.job(), two.pid(t.victim), "the lost launcher", 2 * most);
  watch.result.latencies.pop_back();
  return watch.result;
}

FaultResult link_cut_between_launchers(const MiscFaultTrial& t) {
  Watch watch;
  Relay relay({});
  TwoLaunchers two(&relay);
  if (!two.start_all()) return watch.wrong("the job does not start: " + two.output(1, "error")), watch.result;
  std::this_thread::sleep_for(t.delay);
  relay.cut();
  watch.struck = Clock::now();
  // A launcher may send one more request to the other node before it notices the cut, and then waits for the answer
  // until --node-timeout.
  for (const int node : {0, 1}) two.check(node, watch, t.bound + kLaunchersEnd + 3 * kNodeTimeout);
  return watch.result;
}

FaultResult link_cut_between_ranks(const MiscFaultTrial& t) {
  Watch watch;
  Relay relay({});
  FaultJob job(t.ranks, false, t.timeout, 1000000, "-1");
  for (int r = 0; r < t.ranks; ++r) {
    std::vector<std::string> environment = relay.environment();
    environment.push_back("LD_PRELOAD=" + std::string(kRelayPreload));
    // Rank 0 hosts the store, so its connection to the store does not cross the link.
    if (r == 0) environment.push_back("TANDEM_TEST_RELAY_EXCEPT=" + std::to_string(job.port()));
    job.start_rank(r, environment);
  }
  for (int r = 0; r < t.ranks; ++r)
    if (!job.wait_for_output(r, "trains", deadline_after(kStartTime)))
      return watch.wrong(rank_name(r) + " does not train: " + job.output(r, "error")), watch.result;
  std::this_thread::sleep_for(t.delay);
  relay.cut();
  watch.struck = Clock::now();
  for (int r = 0; r < t.ranks; ++r) {
    watch.wait_for_end(job, job.pid(r), rank_name(r), t.timeout + t.bound);
    const std::string output = job.output(r, "error");
    std::set<int> blamed = parse_blamed_ranks(output);
    if (blamed.empty() || blamed.count(r) > 0)
      watch.wrong(rank_name(r) + " does not name another rank: '" + output + "'");
    if (ended_well(job, job.pid(r))) watch.wrong(rank_name(r) + " ends with status 0: " + output);
  }
  return watch.result;
}

}  // namespace

MiscFaultTrial MiscFaultTrial::from_seed(uint64_t seed, int64_t number, milliseconds timeout, milliseconds bound) {
  struct Case {
    Kind kind;
    bool launcher;
  };
  // A launcher can be lost only in a job that has one.
  static constexpr Case kCases[] = {
      {Kind::leave_group, false},       {Kind::leave_group, true},     {Kind::leave_while_needed, false},
      {Kind::leave_while_needed, true}, {Kind::bare_backwards, false}, {Kind::bare_backwards, true},
      {Kind::launcher_lost, true},      {Kind::link_cut, false},       {Kind::link_cut, true}};
  const Case chosen = kCases[static_cast<size_t>(number) % std::size(kCases)];
  TrialDraws draws(seed + 77, number);
  MiscFaultTrial t;
  t.kind = chosen.kind, t.launcher = chosen.launcher;
  t.timeout = timeout, t.bound = bound;
  const bool has_nodes = t.launcher && (t.kind == Kind::launcher_lost || t.kind == Kind::link_cut);
  t.ranks = has_nodes ? 2 : 2 + draws.below(3);
  t.victim = draws.below(t.ranks);
  t.pause_launcher = draws.below(2) == 1;
  t.delay = milliseconds(draws.below(150));
  for (int r = 0; r < t.ranks; ++r) {
    const char* const ways[] = {"exit", "return", "destroy", "destroy+exit"};
    t.exit_plans.push_back(std::string(ways[draws.below(4)]) + ":" + std::to_string(draws.below(600)));
  }
  return t;
}
std::string MiscFaultTrial::name() const {
  const char* const kinds[] = {"leave in order", "leave while needed", "bare backwards", "launcher lost", "link cut"};
  const std::string how = kind != Kind::launcher_lost ? "" : pause_launcher ? " (stopped)" : " (killed)";
  return kinds[static_cast<int>(kind)] + how + ", " + (launcher ? "tandem launch" : "no launcher");
}
std::string MiscFaultTrial::str() const {
  std::string text = name() + ", " + std::to_string(ranks) + " ranks, number " + std::to_string(victim) + " after " +
                     std::to_string(delay.count()) + " ms, ends";
  for (const std::string& end : exit_plans) text += " " + end;
  return text;
}

FaultResult run_misc_fault(const MiscFaultTrial& t) {
  FaultResult result;
  switch (t.kind) {
    case MiscFaultTrial::Kind::leave_group: result = leave_group(t); break;
    case MiscFaultTrial::Kind::leave_while_needed: result = leave_while_needed(t); break;
    case MiscFaultTrial::Kind::bare_backwards: result = bare_backwards(t); break;
    case MiscFaultTrial::Kind::launcher_lost: result = launcher_lost(t); break;
    case MiscFaultTrial::Kind::link_cut:
      if (!kRelayPreload) return {};
      result = t.launcher ? link_cut_between_launchers(t) : link_cut_between_ranks(t);
  }
  if (const int left = end_children(milliseconds(1000)))
    result.violations.push_back(std::to_string(left) + " processes are left");
  return result;
}

}  // namespace tandem::test
