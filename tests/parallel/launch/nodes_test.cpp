// Tests `tandem launch` on several nodes: launchers watch each other, and report the node that is lost.
#include <unistd.h>

#include <csignal>

#include "tandem/tests/catch.h"
#include "tandem/tests/parallel/child.h"
#include "tandem/tests/parallel/launch/relay.h"

using namespace tandem::test;
using std::chrono::seconds;

namespace {

const std::vector<std::string> kSleep = {"sh", "-c", "echo node $GROUP_RANK; exec sleep 100"};

/// Starts the launcher of one rank. The first launcher to listen at the port becomes node 0.
Child launch_node(int port, const std::vector<std::string>& options, const std::vector<std::string>& command,
                  int nodes = 2, const Relay* relay = nullptr) {
  std::vector<std::string> words = {
      "-n", "1", "--nodes", std::to_string(nodes), "--rdzv", "127.0.0.1:" + std::to_string(port)};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--");
  words.insert(words.end(), command.begin(), command.end());
  std::vector<std::string> environment = {"TANDEM_JOB_TOKEN=secret"};
  static std::vector<std::string> kept;  // putenv() keeps the pointers
  if (relay) {
    kept = relay->environment();
    kept.push_back("LD_PRELOAD=" + std::string(kRelayPreload));
    environment.insert(environment.end(), kept.begin(), kept.end());
  }
  return Child(launch(words), environment);
}
/// Node 0 and node 1 of a job that has started. Node 1 connects through the relay, unless it is nullptr.
struct TwoNodes {
  TwoNodes(const std::vector<std::string>& options, const std::vector<std::string>& command, const std::string& ready,
           const Relay* relay = nullptr)
      : port(free_port()), zero(launch_node(port, options, command)), one(start_second(options, command, relay)) {
    for (Child* each : {&zero, &one}) each->read_until(ready, 1);
  }
  Child start_second(const std::vector<std::string>& options, const std::vector<std::string>& command,
                     const Relay* relay) const {
    tandem::distributed::connect_to("127.0.0.1", port, deadline_after(seconds(60)));  // waits until node 0 listens
    return launch_node(port, options, command, 2, relay);
  }
  int port;
  Child zero, one;
};
std::string host() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}
/// Waits until the launcher has ended. Returns the time that took.
std::chrono::milliseconds time_to_finish(Child& child, ChildResult& result) {
  const auto start = Clock::now();
  result = child.finish();
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start);
}

}  // namespace

TEST_CASE("launch: a launcher that is killed is named by the others at once, with its node",
          "[launch][nodes][errors]") {
  for (const bool kills_zero : {false, true})
    for (const char* restarts : {"0", "3"}) {
      TwoNodes nodes({"--max-restarts", restarts}, kSleep, "node ");
      Child &killed = kills_zero ? nodes.zero : nodes.one, &other = kills_zero ? nodes.one : nodes.zero;
      killed.signal(SIGKILL);
      ChildResult r;
      CHECK(time_to_finish(other, r) < seconds(15));  // the launcher waits two seconds before it ends its rank
      INFO(r.error);
      CHECK(r.status == 1);
      CHECK_THAT(r.error, Contains("tandem launch: the launcher of node " + std::string(kills_zero ? "0" : "1") +
                                   " of 2 (" + host() + ") is lost: ") &&
                              Contains("onnection"));
      CHECK(Child::count(r.error, "restarting all ranks") == 0);
      killed.finish();
      CHECK(has_no_leftovers());
    }
}

TEST_CASE("launch: a launcher that is stopped is lost after --node-timeout, and hears that when it goes on",
          "[launch][nodes][errors]") {
  for (const bool stops_zero : {false, true}) {
    TwoNodes nodes({"--node-timeout", "1"}, kSleep, "node ");
    Child &stopped = stops_zero ? nodes.zero : nodes.one, &other = stops_zero ? nodes.one : nodes.zero;
    stopped.signal(SIGSTOP);
    ChildResult r;
    CHECK(time_to_finish(other, r) < seconds(20));
    INFO(r.error);
    CHECK(r.status == 1);
    CHECK_THAT(
        r.error,
        stops_zero
            ? Contains("the launcher of node 0 of 2 (" + host() + ") is lost: it has not answered for 1000 ms")
            : Contains("the launcher of node 1 of 2 (" + host() + ") is lost: it has sent no heartbeat for 1000 ms"));
    stopped.signal(SIGCONT);
    const ChildResult late = stopped.finish();
    INFO(late.error);
    CHECK(late.status == 1);
    CHECK_THAT(late.error, Contains("the launcher of node "));
    CHECK(has_no_leftovers());
  }
}

TEST_CASE("launch: both sides of a link that is cut end, and name each other", "[launch][nodes][gloo][relay][errors]") {
  if (!kRelayPreload) {
    WARN("SKIPPED: no Gloo, or a sanitizer, which does not go with LD_PRELOAD");
    return;
  }
  Relay relay({});
  TwoNodes nodes({"--node-timeout", "2", "--max-restarts", "2"}, {kLaunchProgram, "compute"}, "the sum is 3", &relay);
  relay.cut();
  ChildResult zero, one;
  CHECK(time_to_finish(nodes.zero, zero) < seconds(20));
  CHECK(time_to_finish(nodes.one, one) < seconds(20));
  INFO(zero.error << one.error);
  CHECK((zero.status == 1 && one.status == 1));
  CHECK_THAT(zero.error, Contains("tandem launch: the launcher of node 1 of 2 (" + host() +
                                  ") is lost: it has sent no heartbeat for 2000 ms"));
  CHECK_THAT(one.error,
             Contains("the launcher of node 0 of 2 (" + host() + ") is lost: it has not answered for 2000 ms"));
  CHECK(has_no_leftovers());
}

TEST_CASE("launch: a launcher says whom it waits for", "[launch][nodes]") {
  const int port = free_port();
  Child alone = launch_node(port, {}, {"true"});
  alone.read_error_until("tandem launch: waiting for node 1 of 2 to connect to 127.0.0.1:" + std::to_string(port) +
                         ", for up to 300 s");
  alone.signal(SIGTERM);
  CHECK(alone.finish().status == 128 + SIGTERM);
  Child other = [&] {
    // 192.0.2.1 is an address that no host has (RFC 5737).
    std::vector<std::string> words = {"--nodes", "2", "--rdzv", "192.0.2.1:9", "--", "true"};
    return Child(launch(words), {"TANDEM_JOB_TOKEN=secret"});
  }();
  other.read_error_until("tandem launch: waiting for node 0, whose launcher must listen at 192.0.2.1:9");
  other.signal(SIGTERM);
  CHECK(other.finish().status == 128 + SIGTERM);
}

TEST_CASE("launch: a program that one node cannot start ends the job on all", "[launch][nodes][errors]") {
  const int port = free_port();
  Child zero = launch_node(port, {}, kSleep);
  tandem::distributed::connect_to("127.0.0.1", port, deadline_after(seconds(60)));
  Child one = launch_node(port, {}, {"/no/such/program"});
  CHECK(one.finish().status == 2);
  ChildResult r;
  CHECK(time_to_finish(zero, r) < seconds(15));
  INFO(r.error);
  CHECK(r.status == 1);
  CHECK_THAT(r.error, Contains("the launcher of node 1 of 2 (" + host() + ") is lost: its connection has ended"));
  CHECK(has_no_leftovers());
}
