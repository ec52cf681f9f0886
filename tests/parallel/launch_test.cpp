// `tandem launch`: what it passes on, how it ends, and that nothing is left behind.
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <functional>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/fake_torch_store.h"
#include "tandem/tests/paths.h"

using namespace tandem::distributed;
using namespace tandem::test;

namespace {

struct Result {
  int status = 0;  // -signal when a signal ended it
  std::string out, error;
};
/// A child process whose output is collected. Orphans of its own come to this process, which so sees what is left.
class Child {
 public:
  explicit Child(std::vector<std::string> command, const std::vector<std::string>& environment = {}) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    int out[2], error[2];
    REQUIRE(::pipe(out) == 0);
    REQUIRE(::pipe(error) == 0);
    std::vector<char*> argv;
    for (std::string& word : command) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], STDOUT_FILENO);
      ::dup2(error[1], STDERR_FILENO);
      for (const int fd : {out[0], out[1], error[0], error[1]}) ::close(fd);
      for (const std::string& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
      ::alarm(120);  // what hangs is ended by a signal, and fails
      ::execv(argv[0], argv.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(error[1]);
    out_ = Descriptor(out[0]);
    error_ = Descriptor(error[0]);
  }
  /// Reads until `text` has come on the standard output `times` times.
  void read_until(const std::string& text, int times) {
    while (count(result_.out, text) < times && read_some()) {}
    REQUIRE(count(result_.out, text) >= times);
  }
  /// Waits until nobody reads what it has written, and it can write no more.
  void wait_until_full() const {
    const int full = ::fcntl(out_.get(), F_GETPIPE_SZ) - PIPE_BUF;  // a write of up to PIPE_BUF bytes is never cut
    int waiting = 0;
    for (const Deadline deadline = after(std::chrono::seconds(60)); waiting <= full && Clock::now() < deadline;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ::ioctl(out_.get(), FIONREAD, &waiting);
    }
    REQUIRE(waiting > full);
  }
  /// Reads nothing until the end, which must come before the deadline. The time it took.
  std::chrono::milliseconds finish_unread(Result& result, std::chrono::seconds most) {
    const auto start = Clock::now();
    int status = 0;
    pid_t ended = 0;
    for (const Deadline deadline = after(most); ended == 0 && Clock::now() < deadline;) {
      ended = ::waitpid(pid_, &status, WNOHANG);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (ended == 0) signal(SIGKILL);
    result.status = ended == 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
  }
  void signal(int number) const { ::kill(pid_, number); }
  Result finish() {
    while (read_some()) {}
    int status = 0;
    ::waitpid(pid_, &status, 0);
    result_.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return result_;
  }
  static int count(const std::string& all, const std::string& text) {
    int n = 0;
    for (size_t at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++n;
    return n;
  }

 private:
  bool read_some() {
    pollfd fds[] = {{out_.get(), POLLIN, 0}, {error_.get(), POLLIN, 0}};
    if (::poll(fds, 2, 120000) <= 0) return false;
    char chunk[4096];
    for (auto [fd, text] : {std::pair(&out_, &result_.out), std::pair(&error_, &result_.error)}) {
      if (!*fd || !fds[fd == &error_].revents) continue;
      const ssize_t n = ::read(fd->get(), chunk, sizeof chunk);
      if (n > 0)
        text->append(chunk, static_cast<size_t>(n));
      else
        fd->close();
    }
    return out_ || error_;
  }
  pid_t pid_ = -1;
  Descriptor out_, error_;
  Result result_;
};

std::vector<std::string> launch(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {kCommand, "launch"});
  return arguments;
}
std::vector<std::string> launch_shell(int count, const std::string& script) {
  return launch({"-n", std::to_string(count), "--", "sh", "-c", script});
}
std::vector<std::string> launch_program(int count, const std::string& what) {
  return launch({"-n", std::to_string(count), "--", kLaunchProgram, what});
}
/// Ends when no descendant of this process lives, and gives those up that live on.
bool nothing_left() {
  for (const Deadline deadline = after(std::chrono::seconds(20)); Clock::now() < deadline;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid < 0) return true;
    if (pid == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}
bool skipped() {
  if (TANDEM_HAS_GLOO) return false;
  WARN("SKIPPED: built without Gloo");
  return true;
}

}  // namespace

TEST_CASE("launch: output comes by rank and line, each to its stream", "[launch]") {
  const Result r = Child(launch_shell(2, "echo one; echo two >&2; printf 'no end'")).finish();
  INFO(r.out << r.error);
  CHECK(r.status == 0);
  for (const char* line : {"[0] one\n", "[0] no end\n", "[1] one\n", "[1] no end\n"})
    CHECK(Child::count(r.out, line) == 1);
  for (const char* line : {"[0] two\n", "[1] two\n"}) CHECK(Child::count(r.error, line) == 1);
  CHECK(nothing_left());
}

TEST_CASE("launch: lines of several ranks are never mixed, none is lost", "[launch]") {
  // Written in parts, so that a line seldom comes in one piece.
  const Result r =
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
  const Result r = Child(launch_shell(2, script), {"TANDEM_NUM_THREADS=7"}).finish();
  CHECK(r.status == 0);
  CHECK_THAT(r.out, Contains("[0] 0 0 2 2 127.0.0.1 32 7\n") && Contains("[1] 1 1 2 2 127.0.0.1 32 7\n"));
  const Result many = Child(launch_shell(100, "echo $TANDEM_NUM_THREADS"), {}).finish();
  CHECK(Child::count(many.out, "] 1\n") == 100);
}

TEST_CASE("launch: the first failure ends all, and is what it says", "[launch][errors]") {
  const Result status = Child(launch_shell(3, "[ $RANK = 1 ] && { echo boom >&2; exit 7; }; exec sleep 100")).finish();
  CHECK(status.status == 7);
  CHECK_THAT(status.error, Contains("tandem launch: rank 1 exited with status 7: boom\n"));
  CHECK(nothing_left());
  const Result signal = Child(launch_shell(2, "[ $RANK = 0 ] && kill -KILL $$; sleep 100 & wait")).finish();
  CHECK(signal.status == 128 + SIGKILL);
  CHECK_THAT(signal.error, Contains("rank 0 was ended by signal 9 (Killed)"));
  CHECK(nothing_left());
  const Result late = Child(launch({"-n", "2", "--timeout", "1", "--", "sleep", "100"})).finish();
  CHECK(late.status == 124);
  CHECK_THAT(late.error, Contains("did not end within 1 s"));
  CHECK(nothing_left());
  const Result none = Child(launch({"-n", "2", "--", "/no/such/program"})).finish();
  CHECK(none.status == 1);
  CHECK_THAT(none.error, Contains("cannot run '/no/such/program': No such file"));
  CHECK(nothing_left());
}

TEST_CASE("launch: signals are passed on; a second one does not wait", "[launch]") {
  for (const int signal : {SIGINT, SIGTERM}) {
    Child child(launch_shell(2, "trap 'echo goodbye; exit 0' INT TERM; echo ready; while :; do sleep 0.01; done"));
    child.read_until("ready", 2);
    child.signal(signal);
    const Result r = child.finish();
    CHECK(r.status == 128 + signal);
    CHECK(Child::count(r.out, "goodbye") == 2);
    CHECK(nothing_left());
  }
  Child stubborn(launch_shell(2, "trap '' INT TERM; echo ready; while :; do sleep 0.01; done"));
  stubborn.read_until("ready", 2);
  stubborn.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  stubborn.signal(SIGINT);
  CHECK(stubborn.finish().status == 128 + SIGINT);
  CHECK(nothing_left());
}

TEST_CASE("launch: a rank that writes without end leaves it its ears", "[launch][errors]") {
  const std::string command = std::string(kCommand) + " launch -n 2 ";
  const std::string flood = " -- sh -c '[ $RANK = 0 ] && exec yes; sleep 0.2; ";
  const auto discarded = [&](const std::string& text) { return Child({"/bin/sh", "-c", text + " > /dev/null"}); };
  const Result exit = discarded(command + flood + "exit 7'").finish();
  CHECK(exit.status == 7);
  CHECK_THAT(exit.error, Contains("rank 1 exited with status 7"));
  CHECK(nothing_left());
  const Result late = discarded(command + "--timeout 1" + flood + "exec sleep 100'").finish();
  CHECK(late.status == 124);
  CHECK(nothing_left());
}

TEST_CASE("launch: a reader that does not read holds nothing up", "[launch][errors]") {
  const std::vector<std::pair<int, int>> cases = {{SIGTERM, 128 + SIGTERM}, {0, 124}};
  for (const auto& [signal, status] : cases) {
    Child child(launch({"-n", "2", "--timeout", signal == 0 ? "1" : "0", "--", "yes"}));
    if (signal != 0) child.wait_until_full();
    if (signal != 0) child.signal(signal);
    Result r;
    // A second for the timeout, one that the reader is given, and as much again for a busy machine; it hung before.
    CHECK(child.finish_unread(r, std::chrono::seconds(20)) < std::chrono::seconds(15));
    CHECK(r.status == status);
    CHECK(nothing_left());
  }
}

TEST_CASE("launch: a stopped rank is said to be one, and does not outlive the job", "[launch][gloo][errors]") {
  if (skipped()) return;
  const auto start = Clock::now();
  const Result r = Child(launch_program(3, "stop")).finish();
  INFO(r.out << r.error);
  CHECK(r.status == 3);
  CHECK_THAT(r.error, Contains("rank 1 did not come within 1500 ms") && Contains("has not been heard of for") &&
                          Contains("; rank 1 is stopped by signal 19"));
  // 1.5 s, and as much for start and end on a busy machine; 7 s more were spent on waiting for the stopped rank.
  CHECK(Clock::now() - start < std::chrono::seconds(6));
  CHECK(nothing_left());
}

TEST_CASE("launch: what ranks have started ends with them, also when the launcher is killed", "[launch]") {
  const Result done = Child(launch_shell(2, "sleep 1000 & echo ready")).finish();
  CHECK(done.status == 0);
  CHECK(nothing_left());
  Child child(launch_shell(2, "sleep 1000 & echo ready; wait"));
  child.read_until("ready", 2);
  child.signal(SIGKILL);
  CHECK(child.finish().status == -SIGKILL);
  CHECK(nothing_left());
}

TEST_CASE("launch: ranks over Gloo find each other, and say why they failed", "[launch][gloo]") {
  if (skipped()) return;
  const Result sum = Child(launch_program(3, "sum")).finish();
  INFO(sum.out << sum.error);
  CHECK(sum.status == 0);
  for (const char* line : {"[0] the sum is 6\n", "[1] the sum is 6\n", "[2] the sum is 6\n"})
    CHECK(Child::count(sum.out, line) == 1);
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
      {"uncaught", 128 + SIGABRT, "tandem launch: rank 1 was ended by signal 6", "[0] error: all_reduce #3"},
      {"hang", 3, "rank 1 did not come within 1500 ms", "[0] error: all_reduce #3"},
      {"wrong token", 3, "TANDEM_JOB_TOKEN must be that of the job", "[0] error: "},
  };
  for (const Case& c : cases) {
    const Result r = Child(launch_program(3, c.what)).finish();
    INFO(c.what << ":\n" << r.out << r.error);
    CHECK(r.status == c.status);
    CHECK_THAT(r.error, Contains(c.cause) && Contains(c.others));
    CHECK(nothing_left());
  }
}

TEST_CASE("launch: without it the environment is enough, and rank 0 hosts the store", "[launch][gloo]") {
  if (skipped()) return;
  int port = 0;
  {
    const StoreServer free_now("");
    port = free_now.port();
  }
  const auto start = [&](int rank, const char* what) {
    return Child({kLaunchProgram, what}, {"RANK=" + std::to_string(rank), "WORLD_SIZE=2", "MASTER_ADDR=localhost",
                                          "MASTER_PORT=" + std::to_string(port)});
  };
  for (const char* what : {"sum", "throw", "die"}) {
    Child first = start(1, what), second = start(0, what);
    const Result one = first.finish(), two = second.finish();
    INFO(what << ":\n" << one.error << two.error);
    CHECK(Child::count(one.out + two.out, "the sum is 3\n") == 2);
    CHECK((one.status == 0) == (std::string(what) == "sum"));
    if (std::string(what) != "sum") CHECK_THAT(two.error, Contains("all_reduce #3") && Contains("rank 1 is gone"));
  }
  // Who waits for nobody is ended by its watchdog.
  for (const int victim : {0, 1}) {
    Child ranks[] = {start(0, "compute"), start(1, "compute")};
    for (Child& rank : ranks) rank.read_until("computes", 1);
    ranks[victim].signal(SIGKILL);
    const Result r = ranks[1 - victim].finish();
    INFO(r.error);
    CHECK(r.status == 1);
    CHECK_THAT(r.error, Contains("rank " + std::to_string(1 - victim) + " ends, as its job has failed") &&
                            Contains("rank " + std::to_string(victim) + " is gone"));
    CHECK(ranks[victim].finish().status == -SIGKILL);
  }
  const StoreServer other("", "localhost");  // which has two addresses on many machines
  port = other.port();
  const Result taken = start(0, "sum").finish();
  CHECK(taken.status == 3);
  CHECK_THAT(taken.error, Contains("port " + std::to_string(port)) && Contains("in use"));
  CHECK(nothing_left());
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
  for (const char* restart : {"0", "1"}) {  // the words of the first attempt mislead nobody
    Child one = start(1, restart), zero = start(0, restart);
    const Result r1 = one.finish(), r0 = zero.finish();
    INFO(r0.error << r1.error);
    CHECK(r0.status == 0);
    CHECK(r1.status == 0);
    CHECK(Child::count(r0.out + r1.out, "the sum is 3\n") == 2);
  }
  for (const char* key : {"tandem/some-run/0/group 0", "tandem/some-run/1/group 1"})
    CHECK_THAT(agent.find(key), Contains("127.0.0.1 "));
}
