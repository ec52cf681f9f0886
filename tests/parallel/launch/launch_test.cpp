// Tests `tandem launch`: what it passes on, its exit status, and that no process is left.
#include <csignal>
#include <filesystem>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"
#include "tandem/tests/parallel/collectives/fake_torch_store.h"
#include "tandem/tests/temporary.h"

using namespace tandem::distributed;
using namespace tandem::test;

TEST_CASE("launch: output comes by rank and line, each to its stream", "[launch]") {
  const ChildResult r = Child(launch_shell(2, "echo one; echo two >&2; printf 'no end'")).finish();
  INFO(r.out << r.error);
  CHECK(r.status == 0);
  for (const char* line : {"[0] one\n", "[0] no end\n", "[1] one\n", "[1] no end\n"})
    CHECK(Child::count(r.out, line) == 1);
  for (const char* line : {"[0] two\n", "[1] two\n"}) CHECK(Child::count(r.error, line) == 1);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: a disk that is full takes none of the output, and the ranks go on", "[launch]") {
  if (!std::filesystem::exists("/dev/full")) {
    WARN("SKIPPED: there is no /dev/full");
    return;
  }
  const TemporaryFolder folder;
  std::filesystem::create_symlink("/dev/full", folder / "rank_0.out");
  const ChildResult r = Child(launch({"-n", "2", "--output", folder.path(), "--", "sh", "-c",
                                      "echo one; sleep 0.2; echo two; echo done > " + folder.path() + "/result_$RANK"}))
                            .finish();
  INFO(r.out << r.error);
  CHECK(r.status == 0);
  CHECK(read_file(folder / "rank_1.out") == "one\ntwo\n");
  for (const char* rank : {"0", "1"}) CHECK(read_file(folder / ("result_" + std::string(rank))) == "done\n");
  CHECK(Child::count(r.error, "cannot write " + (folder / "rank_0.out") + ": No space left on device") == 1);
  CHECK(Child::count(r.error, (folder / "rank_0.out") + " lacks 8 bytes") == 1);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: the program's arguments are its own affair", "[launch]") {
  const ChildResult r = Child(launch({"-n", "1", "--", "sh", "-c", "printf '<%s>' \"$@\"", "sh", "[a,b]", "--",
                                      "--timeout", "-n", "", "x y"}))
                            .finish();
  CHECK(r.out == "[0] <[a,b]><--><--timeout><-n><><x y>\n");
}

TEST_CASE("launch: lines of several ranks are never mixed, none is lost", "[launch]") {
  // Each line is written in parts, so it seldom arrives in one read.
  const ChildResult r =
      Child(launch_shell(3, "i=0; while [ $i -lt 500 ]; do printf 'line %s' $i; echo \" of $RANK\"; i=$((i+1)); done"))
          .finish();
  CHECK(r.status == 0);
  CHECK(std::count(r.out.begin(), r.out.end(), '\n') == 1500);
  for (const char* rank : {"0", "1", "2"})
    for (const int i : {0, 250, 499})
      CHECK(Child::count(r.out, "[" + std::string(rank) + "] line " + std::to_string(i) + " of " + rank + "\n") == 1);
}

TEST_CASE("launch: a rank's environment says who it is", "[launch]") {
  const std::string script =
      "echo $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR ${#TANDEM_JOB_TOKEN} "
      "$TANDEM_NUM_THREADS; test $MASTER_PORT -gt 0";
  const ChildResult r = Child(launch_shell(2, script), {"TANDEM_NUM_THREADS=7"}).finish();
  CHECK(r.status == 0);
  CHECK_THAT(r.out, Contains("[0] 0 0 2 2 127.0.0.1 32 7\n") && Contains("[1] 1 1 2 2 127.0.0.1 32 7\n"));
  const ChildResult many = Child(launch_shell(100, "echo $TANDEM_NUM_THREADS"), {}).finish();
  CHECK(Child::count(many.out, "] 1\n") == 100);
}

TEST_CASE("launch: the first failure ends all, and is what it says", "[launch][errors]") {
  const ChildResult status =
      Child(launch_shell(3, "[ $RANK = 1 ] && { echo boom >&2; exit 7; }; exec sleep 100")).finish();
  CHECK(status.status == 7);
  CHECK_THAT(status.error, Contains("tandem launch: rank 1 exited with status 7: boom\n"));
  CHECK(has_no_leftovers());
  const ChildResult signal = Child(launch_shell(2, "[ $RANK = 0 ] && kill -KILL $$; sleep 100 & wait")).finish();
  CHECK(signal.status == 128 + SIGKILL);
  CHECK_THAT(signal.error, Contains("rank 0 was ended by signal 9 (Killed)"));
  CHECK(has_no_leftovers());
  const ChildResult late = Child(launch({"-n", "2", "--timeout", "1", "--", "sleep", "100"})).finish();
  CHECK(late.status == 124);
  CHECK_THAT(late.error, Contains("did not end within 1 s"));
  CHECK(has_no_leftovers());
  const ChildResult none = Child(launch({"-n", "2", "--", "/no/such/program"})).finish();
  CHECK(none.status == 2);
  CHECK_THAT(none.error, Contains("cannot run '/no/such/program': No such file") && !Contains(".cpp:"));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: signals are passed on; a second one does not wait", "[launch]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(launch_shell(2, "trap 'echo goodbye; exit 0' INT TERM; echo ready; while :; do sleep 0.01; done"));
    child.read_until("ready", 2);
    child.signal(signal);
    const ChildResult r = child.finish();
    CHECK(r.status == 128 + signal);
    CHECK(Child::count(r.out, "goodbye") == 2);
    CHECK(has_no_leftovers());
  }
  Child stubborn(launch_shell(2, "trap '' INT TERM; echo ready; while :; do sleep 0.01; done"));
  stubborn.read_until("ready", 2);
  stubborn.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stubborn.signal(SIGINT);
  CHECK(stubborn.finish().status == 128 + SIGINT);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: a rank that writes without end leaves it its ears", "[launch][errors]") {
  const std::string command = std::string(kCommand) + " launch -n 2 ";
  const std::string flood = " -- sh -c '[ $RANK = 0 ] && exec yes; sleep 0.2; ";
  const auto discarded = [&](const std::string& text) { return Child({"/bin/sh", "-c", text + " > /dev/null"}); };
  const ChildResult exit = discarded(command + flood + "exit 7'").finish();
  CHECK(exit.status == 7);
  CHECK_THAT(exit.error, Contains("rank 1 exited with status 7"));
  CHECK(has_no_leftovers());
  const ChildResult late = discarded(command + "--timeout 1" + flood + "exec sleep 100'").finish();
  CHECK(late.status == 124);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: a reader that does not read holds nothing up", "[launch][errors]") {
  const std::vector<std::pair<int, int>> cases = {{SIGTERM, 128 + SIGTERM}, {0, 124}};
  for (const auto& [signal, status] : cases) {
    Child child(launch({"-n", "2", "--timeout", signal == 0 ? "1" : "0", "--", "yes"}));
    if (signal != 0) child.wait_until_full();
    if (signal != 0) child.signal(signal);
    ChildResult r;
    // One second for the timeout, one second that the reader is given, and the rest for a busy machine. An earlier
    // version hung.
    CHECK(child.finish_without_reading(r, std::chrono::seconds(20)) < std::chrono::seconds(15));
    CHECK(r.status == status);
    CHECK(has_no_leftovers());
  }
}

TEST_CASE("launch: a stopped rank is said to be one, and does not outlive the job", "[launch][gloo][errors]") {
  if (skipped()) return;
  const auto start = Clock::now();
  const ChildResult r = Child(launch_program(3, "stop")).finish();
  INFO(r.out << r.error);
  CHECK(r.status == 3);
  CHECK_THAT(r.error, Contains("rank 1 did not arrive within 1500 ms") && Contains("has sent no heartbeat for") &&
                          Contains("; rank 1 is stopped by signal 19"));
  // 1.5 s for the timeout, and the rest for start and end on a busy machine. An earlier version waited 7 s longer for
  // the stopped rank.
  CHECK(Clock::now() - start < std::chrono::seconds(6));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: what ranks have started ends with them, also when the launcher is killed", "[launch]") {
  const ChildResult done = Child(launch_shell(2, "sleep 1000 & echo ready")).finish();
  CHECK(done.status == 0);
  CHECK(has_no_leftovers());
  Child child(launch_shell(2, "sleep 1000 & echo ready; wait"));
  child.read_until("ready", 2);
  child.signal(SIGKILL);
  CHECK(child.finish().status == -SIGKILL);
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: ranks over Gloo find each other, and say why they failed", "[launch][gloo]") {
  if (skipped()) return;
  const ChildResult sum = Child(launch_program(3, "sum")).finish();
  INFO(sum.out << sum.error);
  CHECK(sum.status == 0);
  for (const char* line : {"[0] the sum is 6\n", "[1] the sum is 6\n", "[2] the sum is 6\n"})
    CHECK(Child::count(sum.out, line) == 1);
  CHECK(Child::count(sum.out, "] 3 segments are shared\n") == 3);
  const ChildResult tcp =  // if one rank disables shared memory, no rank uses it
      Child(launch({"-n", "3", "--", "sh", "-c",
                    "TANDEM_SHARED_MEMORY=$RANK exec " + std::string(kLaunchProgram) + " sum"}))
          .finish();
  CHECK(tcp.status == 0);
  CHECK(Child::count(tcp.out, "] 0 segments are shared\n") == 3);
  CHECK(Child::count(tcp.out, "the sum is 6\n") == 3);
  struct Case {
    const char* what;
    int status;
    const char *cause, *others;
  };
  const std::vector<Case> cases = {
      {"throw", 3, "tandem launch: rank 1 exited with status 3: error: no data here", "[0] error: all_reduce #3"},
      {"die", 128 + SIGKILL, "tandem launch: rank 1 was ended by signal 9", "rank 1 was ended by signal 9 (Killed)"},
      {"die in a group", 128 + SIGKILL, "tandem launch: rank 1 was ended by signal 9",
       "[2] error: all_reduce #2 of float32, 3 elements, SUM, in group of ranks 1, 2: rank 1 was ended by signal 9"},
      {"die in a Join", 128 + SIGKILL, "(DDP 1: which ranks continue in a Join)",
       "rank 1 was ended by signal 9 (Killed)"},
      {"die in pieces", 128 + SIGKILL, "tandem launch: rank 1 was ended by signal 9",
       "of float32, 4194304 elements, SUM: rank 1 was ended by signal 9 (Killed)"},
      {"stop in pieces", 3, "rank 1 did not arrive within 1500 ms",
       "of float32, 4194304 elements, SUM: rank 1 did not"},
      {"uncaught", 128 + SIGABRT, "tandem launch: rank 1 was ended by signal 6", "[0] error: all_reduce #3"},
      {"hang", 3, "rank 1 did not arrive within 1500 ms", "[0] error: all_reduce #3"},
      {"wrong token", 3, "all processes of a job need the same TANDEM_JOB_TOKEN", "[0] error: "},
  };
  for (const Case& c : cases) {
    const auto start = Clock::now();
    const ChildResult r = Child(launch_program(3, c.what)).finish();
    INFO(c.what << ":\n" << r.out << r.error);
    CHECK(Clock::now() - start < std::chrono::seconds(30));  // half the timeout of the group
    CHECK(r.status == c.status);
    CHECK_THAT(r.error, Contains(c.cause) && Contains(c.others));
    CHECK(has_no_leftovers());
  }
}

TEST_CASE("launch: without it the environment is enough, and rank 0 hosts the store", "[launch][gloo]") {
  if (skipped()) return;
  int port = free_port();
  const auto start = [&](int rank, const char* what) {
    return Child({kLaunchProgram, what}, {"RANK=" + std::to_string(rank), "WORLD_SIZE=2", "MASTER_ADDR=localhost",
                                          "MASTER_PORT=" + std::to_string(port)});
  };
  for (const char* what : {"sum", "throw", "die", "die in a Join"}) {
    Child first = start(1, what), second = start(0, what);
    const ChildResult one = first.finish(), two = second.finish();
    INFO(what << ":\n" << one.error << two.error);
    CHECK(Child::count(one.out + two.out, "the sum is 3\n") == 2);
    CHECK((one.status == 0) == (std::string(what) == "sum"));
    const char* const call =
        what == std::string("die in a Join") ? "(DDP 1: which ranks continue in a Join)" : "all_reduce #3";
    if (std::string(what) != "sum") CHECK_THAT(two.error, Contains(call) && Contains("rank 1 is gone"));
  }
  // A rank that waits for no other rank is ended by its watchdog.
  for (const int victim : {0, 1}) {
    Child ranks[] = {start(0, "compute"), start(1, "compute")};
    for (Child& rank : ranks) rank.read_until("computes", 1);
    ranks[victim].signal(SIGKILL);
    const ChildResult r = ranks[1 - victim].finish();
    INFO(r.error);
    CHECK(r.status == 1);
    CHECK_THAT(r.error, Contains("rank " + std::to_string(1 - victim) + " ends because its job has failed") &&
                            Contains("rank " + std::to_string(victim) + " is gone"));
    CHECK(ranks[victim].finish().status == -SIGKILL);
  }
  const StoreServer other("", "localhost");  // on many machines, localhost has two addresses
  port = other.port();
  const ChildResult taken = start(0, "sum").finish();
  CHECK(taken.status == 3);
  CHECK_THAT(taken.error, Contains("port " + std::to_string(port)) && Contains("in use"));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: tasks of a step of Slurm find each other, and a batch script is told that it is alone",
          "[launch][gloo]") {
  if (skipped()) return;
  const std::vector<std::string> job = {"SLURM_JOB_ID=" + std::to_string(::getpid()), "SLURM_NTASKS=2",
                                        "SLURM_JOB_NUM_NODES=1", "SLURM_JOB_NODELIST=n[07]"};
  const auto start = [&](std::vector<std::string> environment) {
    environment.insert(environment.end(), job.begin(), job.end());
    return Child({kLaunchProgram, "sum"}, environment);
  };
  const auto task = [&](const char* rank) {
    return start({"SLURM_STEP_ID=3", "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NODELIST=n[07]",
                  std::string("SLURM_PROCID=") + rank, std::string("SLURM_LOCALID=") + rank});
  };
  Child first = task("1"), second = task("0");
  const ChildResult one = first.finish(), two = second.finish();
  INFO(one.error << two.error);
  CHECK((one.status == 0 && two.status == 0));
  CHECK(Child::count(one.out + two.out, "the sum is 3\n") == 2);
  CHECK_THAT(two.error, Contains("tandem: 2 ranks, found by Slurm (SLURM_PROCID and SLURM_STEP_NUM_TASKS; address: "
                                 "SLURM_STEP_NODELIST, one machine; port: from SLURM_JOB_ID and SLURM_STEP_ID)"));
  const ChildResult batch = start({"SLURM_PROCID=0", "SLURM_LOCALID=0"}).finish();  // sbatch runs the script once
  CHECK(batch.status == 3);
  CHECK_THAT(batch.error,
             Contains("of 2 tasks, but is not a task of a step") && Contains("start the ranks by `srun PROGRAM`"));
}

TEST_CASE("launch: ranks that torchrun started meet at its agent's store, whose port is taken", "[launch][gloo]") {
  if (skipped()) return;
  tandem::test::FakeTorchStore agent;
  const auto start = [&](int rank, const std::string& restart) {
    return Child({kLaunchProgram, "sum"},
                 {"RANK=" + std::to_string(rank), "WORLD_SIZE=2", "MASTER_ADDR=localhost",
                  "MASTER_PORT=" + std::to_string(agent.port()), "TORCHELASTIC_USE_AGENT_STORE=True",
                  "TORCHELASTIC_RUN_ID=some-run", "TORCHELASTIC_RESTART_COUNT=" + restart});
  };
  for (const char* restart : {"0", "1"}) {  // keys that the first attempt left in the store must not mislead the second
    Child one = start(1, restart), zero = start(0, restart);
    const ChildResult r1 = one.finish(), r0 = zero.finish();
    INFO(r0.error << r1.error);
    CHECK(r0.status == 0);
    CHECK(r1.status == 0);
    CHECK(Child::count(r0.out + r1.out, "the sum is 3\n") == 2);
  }
  for (const char* key : {"tandem/some-run/0/group 0", "tandem/some-run/1/group 1"})
    CHECK_THAT(agent.find(key), Contains("127.0.0.1 "));
}
