// Tests `tandem launch`: restarts, several launchers of one job, threads and CPUs per rank, and the destination of the
// ranks' output.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"
#include "tandem/tests/temporary.h"
#include "tandem/tools/launch/process.h"

using namespace tandem::distributed;
using namespace tandem::test;

namespace {

std::vector<std::string> launch_with(std::vector<std::string> options, const std::string& script) {
  for (const char* word : {"--", "sh", "-c"}) options.emplace_back(word);
  options.push_back(script);
  return launch(options);
}
/// Starts one of two launchers of a job, which find each other at the port.
Child launch_node(int port, int ranks, std::vector<std::string> options, const std::vector<std::string>& command,
                  const std::string& token = "secret") {
  for (const std::string& word :
       {std::string("--nodes"), std::string("2"), std::string("--rdzv"), "127.0.0.1:" + std::to_string(port),
        std::string("-n"), std::to_string(ranks), std::string("--")})
    options.push_back(word);
  options.insert(options.end(), command.begin(), command.end());
  return Child(launch(options), {"TANDEM_JOB_TOKEN=" + token});
}

}  // namespace

TEST_CASE("launch: after a failure all ranks are started again, as often as asked", "[launch][restart]") {
  const std::string script =
      "echo rank $RANK try $TANDEM_RESTART_COUNT; [ $RANK = 1 ] || exit 0; "
      "[ $TANDEM_RESTART_COUNT = 0 ] && kill -KILL $$; [ $TANDEM_RESTART_COUNT = 1 ] && exit 7; echo boom >&2; exit 8";
  const ChildResult r = Child(launch_with({"-n", "2", "--max-restarts", "2"}, script)).finish();
  INFO(r.out << r.error);
  CHECK(r.status == 8);
  for (const char* line : {"[0] rank 0 try 0\n", "[1] rank 1 try 1\n", "[0] rank 0 try 2\n"})
    CHECK(Child::count(r.out, line) == 1);
  CHECK_THAT(r.error, Contains("rank 1 was ended by signal 9 (Killed); ") && Contains("MiB)") &&
                          Contains("; restarting all ranks (1 of 2)\n") &&
                          Contains("rank 1 exited with status 7; restarting all ranks (2 of 2)\n") &&
                          Contains("tandem launch: rank 1 exited with status 8: boom\n"));
  CHECK(has_no_leftovers());
  const ChildResult well =
      Child(launch_with({"-n", "2", "--max-restarts", "5"}, "test $RANK$TANDEM_RESTART_COUNT != 00")).finish();
  CHECK(well.status == 0);
  CHECK(Child::count(well.error, "restarting all ranks") == 1);
}

TEST_CASE("launch: neither a signal nor the timeout is a reason to start again", "[launch][restart]") {
  const ChildResult late =
      Child(launch({"-n", "2", "--max-restarts", "9", "--timeout", "1", "--", "sleep", "100"})).finish();
  CHECK(late.status == 124);
  CHECK(Child::count(late.error, "restarting all ranks") == 0);
  Child child(launch_with({"-n", "2", "--max-restarts", "9"}, "echo ready; exec sleep 100"));
  child.read_until("ready", 2);
  child.signal(SIGTERM);
  const ChildResult r = child.finish();
  CHECK(r.status == 128 + SIGTERM);
  CHECK(Child::count(r.error, "restarting all ranks") == 0);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: SIGUSR1 and SIGUSR2 reach the ranks, and end nothing", "[launch]") {
  Child child(launch_shell(2,
                           "trap 'echo first' USR1; trap 'echo second; exit 0' USR2; echo ready; "
                           "while :; do sleep 0.01; done"));
  child.read_until("ready", 2);
  child.signal(SIGUSR1);
  child.read_until("first", 2);
  child.signal(SIGUSR2);
  const ChildResult r = child.finish();
  CHECK(r.status == 0);
  CHECK(Child::count(r.out, "second") == 2);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: each rank's output goes to files of its own, over all restarts", "[launch][restart]") {
  const TemporaryFolder folder;
  const std::string script = "echo try $TANDEM_RESTART_COUNT; echo oops >&2; [ $RANK$TANDEM_RESTART_COUNT != 10 ]";
  const ChildResult r =
      Child(launch_with({"-n", "2", "--max-restarts", "1", "--output", folder / "logs"}, script)).finish();
  INFO(r.error);
  CHECK(r.status == 0);
  CHECK(r.out.empty());
  CHECK_THAT(r.error, Contains("rank 1 exited with status 1: oops; restarting all ranks"));
  CHECK(Child::count(r.error, "oops") == 1);
  CHECK(read_file(folder / "logs/rank_1.out") == "try 0\ntry 1\n");
  CHECK(read_file(folder / "logs/rank_1.err") == "oops\noops\n");
  CHECK(Child::count(read_file(folder / "logs/rank_0.out"), "try 1\n") == 1);
  const ChildResult none = Child(launch_with({"--output", "/dev/null/logs"}, "true")).finish();
  CHECK(none.status == 2);
  CHECK_THAT(none.error, Contains("--output /dev/null/logs cannot be created") && !Contains(".cpp:"));
}

TEST_CASE("launch: threads and processors are shared out", "[launch]") {
  const ChildResult threads =
      Child(launch_with({"-n", "2", "--threads", "3"}, "echo $TANDEM_NUM_THREADS"), {"TANDEM_NUM_THREADS=7"}).finish();
  CHECK(threads.out.find("[0] 3\n") != std::string::npos);
  const std::string allowed = "grep Cpus_allowed_list /proc/self/status";
  const ChildResult pinned = Child(launch_with({"-n", "2", "--pin"}, allowed)).finish();
  CHECK(pinned.status == 0);
  const auto list_of = [&](const std::string& rank) {
    const std::string begin = "[" + rank + "] Cpus_allowed_list:\t";
    const size_t at = pinned.out.find(begin);
    REQUIRE(at != std::string::npos);
    return pinned.out.substr(at + begin.size(), pinned.out.find('\n', at) - at - begin.size());
  };
  const std::vector<int> all = tandem::tools::cpu_share(0, 1);
  if (all.size() >= 2) CHECK(list_of("0") != list_of("1"));
  // Every CPU belongs to one share. If there are more shares than CPUs, each share has one CPU.
  for (const int parts : {2, 3, 1000}) {
    std::vector<int> covered;
    for (int part = 0; part < parts; ++part) {
      const std::vector<int> mine = tandem::tools::cpu_share(part, parts);
      CHECK(!mine.empty());
      covered.insert(covered.end(), mine.begin(), mine.end());
    }
    if (parts <= static_cast<int>(all.size())) CHECK(covered == all);
  }
}

TEST_CASE("launch: a kill is said to be the kernel's where memory has run out", "[launch]") {
  using tandem::tools::describe_likely_cause;
  constexpr int64_t kPeak = 300 * 1024;
  CHECK(describe_likely_cause(SIGTERM, {}, {}, kPeak).empty());
  CHECK_THAT(describe_likely_cause(SIGKILL, {1, 5}, {2, 6}, kPeak),
             Contains("its cgroup ran out of memory") && Contains("(peak memory: 300 MiB)"));
  CHECK_THAT(describe_likely_cause(SIGKILL, {1, 5}, {1, 6}, kPeak), Contains("this machine ran out of memory"));
  CHECK_THAT(describe_likely_cause(SIGKILL, {{}, 5}, {{}, 6}, kPeak), Contains("this machine ran out of memory"));
  CHECK_THAT(describe_likely_cause(SIGKILL, {1, 5}, {1, 5}, kPeak),
             Contains("the kernel reports no out-of-memory kill"));
  CHECK_THAT(describe_likely_cause(SIGKILL, {}, {}, kPeak), Contains("perhaps out of memory"));
}

TEST_CASE("launch: a rank that runs out of memory is a named cause", "[launch][gloo][errors]") {
  if (skipped()) return;
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: a sanitizer takes more address space than this leaves");
    return;
  }
  const std::string limited = "[ $RANK = 0 ] || ulimit -v 3000000; exec " + std::string(kLaunchProgram) + " memory";
  const ChildResult r = Child(launch_shell(2, limited)).finish();
  INFO(r.error);
  CHECK(r.status == 3);
  CHECK_THAT(r.error, Contains("tandem launch: rank 1 exited with status 3: error: allocate: out of memory on cpu:0") &&
                          Contains("[0] error: all_reduce #3"));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: the launchers of two nodes meet, and their ranks are of one job", "[launch][nodes]") {
  const int port = free_port();
  const std::vector<std::string> say = {"sh", "-c", "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK"};
  Child first = launch_node(port, 2, {}, say), second = launch_node(port, 1, {}, say);
  const ChildResult one = first.finish(), two = second.finish();
  INFO(one.error << two.error);
  CHECK((one.status == 0 && two.status == 0));
  // The launcher that connects first is node 0.
  const bool in_order = Child::count(one.out, "0 0 3 2 0\n") == 1;
  for (const char* line : in_order ? std::vector{"[0] 0 0 3 2 0\n", "[1] 1 1 3 2 0\n", "[2] 2 0 3 1 1\n"}
                                   : std::vector{"[0] 0 0 3 1 0\n", "[1] 1 0 3 2 1\n", "[2] 2 1 3 2 1\n"})
    CHECK(Child::count(one.out + two.out, line) == 1);
  CHECK(has_no_leftovers());
  if (skipped()) return;
  Child third = launch_node(port, 1, {}, {kLaunchProgram, "sum"}),
        fourth = launch_node(port, 2, {}, {kLaunchProgram, "sum"});
  const ChildResult three = third.finish(), four = fourth.finish();
  INFO(three.error << four.error);
  CHECK((three.status == 0 && four.status == 0));
  CHECK(Child::count(three.out + four.out, "the sum is 6\n") == 3);
}

TEST_CASE("launch: launchers of one machine meet at a port that is free a moment later", "[launch][nodes]") {
  const int port = free_port(), taken = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET, address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::bind(taken, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  Child first = launch_node(port, 1, {}, {"true"}), second = launch_node(port, 1, {}, {"true"});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // so that both launchers have found the port taken
  ::close(taken);
  for (Child* each : {&first, &second}) {
    const ChildResult r = each->finish();
    INFO(r.error);
    CHECK(r.status == 0);
  }
}

TEST_CASE("launch: what ends a rank of one node is said on all, and all start again", "[launch][nodes][restart]") {
  const int port = free_port();
  const std::vector<std::string> command = {"sh", "-c",
                                            "echo try $TANDEM_RESTART_COUNT; [ $RANK = 1 ] || exit 0; exit 7"};
  Child first = launch_node(port, 1, {"--max-restarts", "1"}, command),
        second = launch_node(port, 1, {"--max-restarts", "1"}, command);
  for (Child* each : {&first, &second}) {
    const ChildResult r = each->finish();
    INFO(r.out << r.error);
    CHECK(r.status == 7);
    CHECK(Child::count(r.out, "try 0") + Child::count(r.out, "try 1") == 2);
    CHECK_THAT(r.error, Contains("rank 1 exited with status 7; restarting all ranks (1 of 1)"));
  }
  CHECK(has_no_leftovers());
  for (const int signal : {SIGTERM, SIGKILL}) {  // a signal to one launcher must also end the other one's ranks
    const std::vector<std::string> sleep = {"sh", "-c", "echo ready; exec sleep 100"};
    Child one = launch_node(port, 1, {}, sleep), other = launch_node(port, 1, {}, sleep);
    one.read_until("ready", 1);
    other.read_until("ready", 1);
    one.signal(signal);
    // Ranks that only sleep do not notice that the other ranks are gone.
    if (signal == SIGKILL) other.signal(SIGTERM);
    CHECK(one.finish().status == (signal == SIGKILL ? -SIGKILL : 128 + signal));
    CHECK(other.finish().status > 0);
    CHECK(has_no_leftovers());
  }
}

TEST_CASE("launch: a node that does not come, or does not agree, is named", "[launch][nodes][errors]") {
  const int port = free_port();
  const ChildResult alone = launch_node(port, 1, {"--rdzv-timeout", "1"}, {"true"}).finish();
  CHECK(alone.status == 1);
  CHECK_THAT(alone.error, Contains("node 1 of 2 did not connect to 127.0.0.1:") && Contains("within 1 s"));
  {
    Child first = launch_node(port, 1, {"--max-restarts", "1"}, {"true"}), second = launch_node(port, 1, {}, {"true"});
    const ChildResult one = first.finish(), two = second.finish();
    CHECK((one.status == 1 || two.status == 1));
    CHECK_THAT(one.error + two.error, Contains("they must be the same"));
  }
  Child waiting = launch_node(port, 1, {}, {"true"});
  connect_to("127.0.0.1", port, deadline_after(std::chrono::seconds(60)));  // waits until the launcher listens
  waiting.signal(SIGTERM);
  CHECK(waiting.finish().status == 128 + SIGTERM);
  const ChildResult none = launch_node(port, 1, {}, {"true"}, "").finish();
  CHECK(none.status == 2);
  CHECK_THAT(none.error, Contains("set TANDEM_JOB_TOKEN to the same value on all nodes"));
  for (const std::string place : {"here", "here:", ":29400", "here:2940O", "here:0", "here:65536"}) {
    const ChildResult nowhere =
        Child(launch({"--nodes", "2", "--rdzv", place, "--", "true"}), {"TANDEM_JOB_TOKEN=secret"}).finish();
    CHECK(nowhere.status == 2);
    CHECK_THAT(nowhere.error, Contains("--rdzv is '" + place + "'; accepted: HOST:PORT"));
  }
  CHECK(has_no_leftovers());
}
