// Tests the store through which ranks find each other: its keys, waiting, and invalid requests.
#include "tandem/parallel/collectives/store/store.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <thread>

#include "tandem/parallel/collectives/store/rendezvous.h"
#include "tandem/parallel/collectives/store/watchdog.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::distributed;
using namespace tandem::distributed::store_messages;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {
StoreClient make_client(const StoreServer& server, const std::string& token = "secret") {
  return StoreClient("127.0.0.1", server.port(), token, seconds(20));
}
/// Sends `bytes` on a new connection and returns everything received until the server closes it.
std::string raw_answer(const StoreServer& server, const std::string& bytes) {
  const Deadline deadline = deadline_after(seconds(20));
  const Descriptor socket = connect_to("127.0.0.1", server.port(), deadline);
  REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  std::string all;
  char chunk[256];
  for (;;) {
    if (!wait_until_ready(socket.get(), 1 /* POLLIN */, deadline)) return "still open";
    const ssize_t n = ::recv(socket.get(), chunk, sizeof chunk, 0);
    if (n <= 0) return all;
    all.append(chunk, static_cast<size_t>(n));
  }
}
}  // namespace

TEST_CASE("store: what one client sets another gets", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient a = make_client(server), b = make_client(server);
  a.set("key", "value");
  CHECK(b.get("key", seconds(20)) == "value");
  a.set("key", "another");
  CHECK(b.get("key", seconds(20)) == "another");
  const std::string bytes("\0\n\xff", 3);
  b.set("", bytes);
  CHECK(a.get("", seconds(20)) == bytes);
  const std::string large(kMaxStoreValueBytes, 'x');
  a.set("large", large);
  CHECK(b.get("large", seconds(20)) == large);
  CHECK_THROWS_WITH(a.set("larger", large + "x"), Contains("accepted: at most 1024 for a key and 1048576 for a value"));
  CHECK_THROWS_WITH(a.set(std::string(2000, 'k'), ""), Contains("2000"));
  server.set("server's", "own");
  CHECK(a.get("server's", seconds(20)) == "own");
  CHECK(server.find("key") == "another");
  CHECK_FALSE(server.find("none"));
}

TEST_CASE("store: of those who set a key once, the first counts", "[parallel][store]") {
  StoreServer server("secret");
  std::atomic<int> firsts{0};
  std::vector<std::thread> threads;
  std::vector<std::string> got(8);
  for (size_t i = 0; i < got.size(); ++i)
    threads.emplace_back([&, i] {
      StoreClient client = make_client(server);
      got[i] = client.set_once("key", std::to_string(i));
      firsts += got[i] == std::to_string(i);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(firsts == 1);
  for (const std::string& value : got) CHECK(value == got[0]);
}

TEST_CASE("store: a get waits for the key, until the timeout", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient a = make_client(server), b = make_client(server);
  std::string got;
  std::thread waiting([&] { got = a.get("late", seconds(60)); });
  std::this_thread::sleep_for(milliseconds(20));
  b.set("late", "here");
  waiting.join();
  CHECK(got == "here");
  CHECK_FALSE(a.find("never", milliseconds(0)));
  CHECK_FALSE(a.find("never", milliseconds(30)));
  CHECK_THROWS_WITH(a.get("never", milliseconds(30)), Contains("wait timeout after 30ms, keys: never"));
  a.wait({"late"}, seconds(20));
  CHECK_THROWS_WITH(a.wait({"late", "never"}, milliseconds(30)), Contains("keys: never"));
  CHECK(a.get("late", seconds(20)) == "here");  // a wait that timed out must not disturb later calls
}

TEST_CASE("store: a wrong token is refused, and said to be one", "[parallel][store][errors]") {
  const StoreServer server("secret");
  for (const char* token : {"", "secreT", "secret ", "secre"})
    CHECK_THROWS_WITH(make_client(server, token), Contains("TANDEM_JOB_TOKEN"));
  const StoreServer open("");
  make_client(open, "").set("key", "value");
  CHECK_THROWS_WITH(make_client(open, "any"), Contains("TANDEM_JOB_TOKEN"));
}

TEST_CASE("store: what is no client is shown out", "[parallel][store][errors]") {
  StoreServer server("secret");
  // The server reads the first bytes as a message length of half a GiB.
  CHECK(raw_answer(server, "GET / HTTP/1.0\r\n\r\n").empty());
  // A request before the hello.
  CHECK(raw_answer(server, frame_message(encode_request({kGet, 0, "key", ""}))) == frame_message("B"));
  CHECK(raw_answer(server, frame_message("")) == frame_message("B"));  // an empty message
  // A key longer than the message.
  CHECK(raw_answer(server, frame_message(std::string("H\0\0\0\0\xff\xff\0\0", 9))) == frame_message("B"));
  CHECK(raw_answer(server, frame_message(encode_request({kHandshake, 0, "secret", "tandem store 1"}))) ==
        frame_message("D"));
  make_client(server).set("key", "value");  // other clients are still served
}

TEST_CASE("store: a port in use, or with nothing behind it, is named", "[parallel][store][errors]") {
  auto server = std::make_unique<StoreServer>("secret");
  const int port = server->port();
  CHECK_THROWS_WITH(StoreServer("secret", "127.0.0.1", port),
                    Contains("port " + std::to_string(port)) && Contains("in use"));
  CHECK_THROWS_WITH(StoreServer("secret", "no.such.host.invalid"), Contains("no.such.host.invalid"));
  StoreClient client = make_client(*server);
  server.reset();
  // The server closed in order; later calls report the same.
  CHECK_THROWS_WITH(client.get("key", seconds(20)), Contains("closed"));
  CHECK_THROWS_WITH(client.set("key", ""), Contains("closed"));
  CHECK_THROWS_WITH(StoreClient("127.0.0.1", port, "secret", milliseconds(50)),
                    Contains(std::to_string(port)) && Contains("MASTER_PORT"));
  const StoreServer reconnect("secret", "127.0.0.1", port);  // the port can be used again at once
  CHECK(reconnect.port() == port);
}

TEST_CASE("store: it may come after its clients, and goes without waiting for them", "[parallel][store]") {
  auto server = std::make_unique<StoreServer>("secret");
  const int port = server->port();
  server.reset();
  std::string failure;
  std::thread early([&, port] {
    try {
      StoreClient client("127.0.0.1", port, "secret", seconds(60));
      client.get("never", seconds(60));
    } catch (const DistributedError& error) {
      failure = error.what();
    }
  });
  std::this_thread::sleep_for(milliseconds(30));
  server = std::make_unique<StoreServer>("secret", "127.0.0.1", port);
  make_client(*server).set("key", "value");
  std::this_thread::sleep_for(milliseconds(60));
  server.reset();
  early.join();
  CHECK_FALSE(failure.empty());
}

namespace {
/// Collects the failures that a watchdog of this rank reports, for as long as this object lives.
class WatchedRank {
 public:
  WatchedRank(const StoreServer& server, const std::string& group, int rank)
      : watchdog_(std::make_unique<StoreClient>("127.0.0.1", server.port(), "secret", seconds(20), "rank 0"),
                  {.group = group,
                   .rank = rank,
                   .heartbeat_interval = milliseconds(20),
                   .on_failure =
                       [this](const std::string& cause) {
                         const std::lock_guard lock(mutex_);
                         heard_.push_back(cause);
                         return cause;
                       },
                   .failure_reported = nullptr}) {}
  std::vector<std::string> failures() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  /// Waits for a failure and returns it. Checks that there is exactly one.
  std::string wait_until_failure_known() const {
    for (const Deadline deadline = deadline_after(seconds(20)); failures().empty() && Clock::now() < deadline;)
      std::this_thread::sleep_for(milliseconds(1));
    REQUIRE(failures().size() == 1);
    return failures()[0];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> heard_;
  Watchdog watchdog_;
};
}  // namespace

TEST_CASE("watchdog: hears of the published failure, or that the store's host is gone", "[parallel][store]") {
  auto server = std::make_unique<StoreServer>("secret");
  { const WatchedRank ended(*server, "a", 1); }
  const WatchedRank job(*server, "b", 1), group(*server, "c", 1), closed(*server, "d", 1);
  make_client(*server).set_once(failure_key("c"), "rank 2 did not come");
  CHECK(group.wait_until_failure_known() == "rank 2 did not come");
  CHECK(job.failures().empty());
  server->set(kFailureKey, "rank 1 is gone");
  CHECK(job.wait_until_failure_known() == "rank 1 is gone");
  CHECK(closed.wait_until_failure_known() == "rank 1 is gone");
  server = std::make_unique<StoreServer>("secret");
  const WatchedRank last(*server, "a", 1);
  make_client(*server).set("other", "");
  server.reset();  // an orderly shutdown, which is no failure
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(last.failures().empty());
}

TEST_CASE("store: a failure of the job or of an outer group goes before a group's own", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient client("127.0.0.1", server.port(), "secret", seconds(20));
  CHECK(client.publish_failure("a/b/c", "rank 1 has left") == "rank 1 has left");
  CHECK(client.publish_failure("a/b/c", "rank 2 has left") == "rank 1 has left");
  CHECK(client.publish_failure("a/b/d", "rank 3 has left") == "rank 3 has left");
  client.set(failure_key("a/b"), "rank 4 has left");
  CHECK(client.publish_failure("a/b/c", "rank 5 has left") == "rank 4 has left");
  CHECK(client.publish_failure("a/e", "rank 6 has left") == "rank 6 has left");
  server.set(kFailureKey, "rank 7 failed");
  for (const char* group : {"a/b/c", "a/b/new", "a", "other"})
    CHECK(client.publish_failure(group, "rank 8 has left") == "rank 7 failed");
}

TEST_CASE("store: a rank whose connection ends is published as lost, one that left is not", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient lost = make_client(server), left = make_client(server), other = make_client(server);
  CHECK_FALSE(lost.send_heartbeat("a", 2, -1, milliseconds(1)));
  CHECK_FALSE(left.send_heartbeat("a", 1, -1, milliseconds(1)));
  const WatchedRank same(server, "a", 0), elsewhere(server, "b", 0);
  other.leave("a", 1, StoreClient::kDefaultAnswerTime);
  left.interrupt();
  std::this_thread::sleep_for(milliseconds(50));
  CHECK(same.failures().empty());
  lost.interrupt();
  CHECK_THAT(same.wait_until_failure_known(), Contains("rank 2 is gone"));
  CHECK(elsewhere.failures().empty());
}

TEST_CASE("store: who starts ranks may say first why one is lost, or that it ended well", "[parallel][store]") {
  // The patience is one hour, so the store itself reports no lost rank.
  StoreServer server("secret", "127.0.0.1", 0, std::chrono::hours(1));
  const WatchedRank watched(server, "a", 0);
  {
    StoreClient one = make_client(server), two = make_client(server);
    one.send_heartbeat("a", 1, -1, milliseconds(1));
    two.send_heartbeat("a", 2, -1, milliseconds(1));
  }
  server.mark_ended_normally(1);
  server.set(kFailureKey, "rank 2 was ended by signal 9");
  CHECK(watched.wait_until_failure_known() == "rank 2 was ended by signal 9");
  StoreServer silent("secret", "127.0.0.1", 0, milliseconds(50));
  const WatchedRank other(silent, "a", 0);
  make_client(silent).send_heartbeat("a", 1, -1, milliseconds(1));
  CHECK_THAT(other.wait_until_failure_known(), Contains("rank 1 is gone"));
}

TEST_CASE("store: a rank whose process ends leaves all its groups, and the others hear how", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient one = make_client(server), inner = make_client(server), zero = make_client(server),
              other = make_client(server);
  one.send_heartbeat("a", 1, -1, milliseconds(0));
  inner.send_heartbeat("a/b", 1, -1, milliseconds(0));
  LeftRanks left;
  CHECK_FALSE(zero.send_heartbeat("a", 0, -1, milliseconds(0), &left));
  CHECK(left.empty());
  other.report_normal_exit(1);
  one.interrupt(), inner.interrupt();
  for (const char* group : {"a", "a/b"}) CHECK(other.get_left_ranks(group) == LeftRanks{{1, kEndedNormally}});
  CHECK_FALSE(zero.send_heartbeat("a", 0, -1, milliseconds(50), &left));  // the rank that left is not missed
  CHECK(left == LeftRanks{{1, kEndedNormally}});
  server.mark_ended_normally(2);
  CHECK(other.get_left_ranks("b") == LeftRanks{{1, kEndedNormally}, {2, kEndedNormally}});
  other.leave("a", 0);
  CHECK(other.get_left_ranks("a").count(0) == 1);
  CHECK(other.get_left_ranks("b").count(0) == 0);
  StoreClient reconnect = make_client(server);
  reconnect.send_heartbeat("a", 1, -1, milliseconds(0));  // a new process with the same rank
  CHECK(other.get_left_ranks("a").count(1) == 0);
  server.close();
  // Closed in order, so not a lost connection; later calls report the same.
  for (int i = 0; i < 2; ++i) CHECK_THROWS_AS(other.find("key", milliseconds(0)), StoreClosed);
}

TEST_CASE("store: a member that says how long it may be silent is lost after that", "[parallel][store]") {
  const StoreServer server("secret");
  StoreClient silent = make_client(server), other = make_client(server);
  CHECK_FALSE(silent.send_heartbeat_as("the launcher of node 1", "nodes", 1, milliseconds(0), milliseconds(100)));
  const WatchedRank watched(server, "nodes", 0);
  CHECK(watched.wait_until_failure_known() == "the launcher of node 1 is lost: it has sent no heartbeat for 100 ms");
  CHECK(silent.send_heartbeat_as("the launcher of node 1", "nodes", 1, milliseconds(0), milliseconds(100)) ==
        watched.wait_until_failure_known());
  {
    StoreClient ends = make_client(server);
    ends.send_heartbeat_as("the launcher of node 2", "others", 2, milliseconds(0), seconds(20));
  }
  CHECK_THAT(other.get(failure_key("others"), seconds(20)), Contains("the launcher of node 2 is lost: its connection"));
}

namespace {
/// Runs f in a child process with its own network namespace, which has a loopback device only and ephemeral ports from
/// `range`. Returns false if the system does not allow that.
bool in_own_network(const std::string& range, const std::function<bool()>& f) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ::_exit(77);
    const Descriptor any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    loopback.ifr_flags = IFF_UP;
    std::ofstream ports("/proc/sys/net/ipv4/ip_local_port_range");
    if (::ioctl(any.get(), SIOCSIFFLAGS, &loopback) != 0 || !(ports << range << std::flush)) ::_exit(77);
    ::_exit(f() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return false;
  CHECK(status == 0);
  return true;
}
}  // namespace

TEST_CASE("store: a client that waits for its host is not connected to itself", "[parallel][store]") {
  // With two ephemeral ports, every second connect() to one of them would choose that port as its own and so connect to
  // itself.
  const bool ran = in_own_network("40000 40001", [] {
    try {
      StoreClient("127.0.0.1", 40000, "secret", milliseconds(500), "rank 0");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return std::string(error.what()).find("rank 0 does not answer") != std::string::npos;
    }
    return false;
  });
  if (!ran) WARN("SKIPPED: no network namespace can be had");
}

TEST_CASE("store: how long a rank has waited for its host is said as it was", "[parallel][store][errors]") {
  const int port = [] {
    const StoreServer gone("");
    return gone.port();
  }();
  const auto start = Clock::now() - seconds(5);
  CHECK_THROWS_WITH(StoreClient("127.0.0.1", port, "", milliseconds(0), "rank 0", start),
                    Contains("The client socket has timed out after 50") &&
                        Contains("ms while trying to connect to (127.0.0.1, " + std::to_string(port) +
                                 "): rank 0 does not answer ("));
}

TEST_CASE("store: a connection ends when the other machine is gone or the link is cut", "[parallel][store]") {
  const StoreServer server("secret");
  const Descriptor socket = connect_to("127.0.0.1", server.port(), deadline_after(seconds(20)));
  const auto option = [&](int level, int name) {
    int value = 0;
    socklen_t length = sizeof value;
    CHECK(::getsockopt(socket.get(), level, name, &value, &length) == 0);
    return value;
  };
  CHECK(option(SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(IPPROTO_TCP, TCP_KEEPIDLE) + 2 * option(IPPROTO_TCP, TCP_KEEPINTVL) == 20);
  CHECK(option(IPPROTO_TCP, TCP_USER_TIMEOUT) == 20000);
}

namespace {
/// A rank of group "a" that has sent one report and will send the next one in an hour.
class ReportingRank {
 public:
  ReportingRank(const StoreServer& server, int rank, int waits_for)
      : client_(make_client(server)), thread_([this, rank, waits_for] {
          try {
            client_.send_heartbeat("a", rank, waits_for, std::chrono::hours(1));
          } catch (const StoreConnectionLost&) {}  // this object interrupts the report in its destructor
        }) {}
  ~ReportingRank() {
    client_.interrupt();
    thread_.join();
  }

 private:
  StoreClient client_;
  std::thread thread_;
};
}  // namespace

TEST_CASE("store: who holds up the others is found along their waits", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient client = make_client(server), silent = make_client(server);
  std::vector<std::unique_ptr<ReportingRank>> ranks(3);
  const auto report = [&](int rank, int waits_for) {
    client.leave("a", rank, StoreClient::kDefaultAnswerTime);
    ranks[static_cast<size_t>(rank)] = std::make_unique<ReportingRank>(server, rank, waits_for);
  };
  // Waits until the store blames `rank` for blocking rank 1, with or without silence as the reason.
  const auto is_eventually_blamed = [&](int rank, bool silence) {
    for (const Deadline deadline = deadline_after(seconds(20)); Clock::now() < deadline;) {
      const StoreClient::FailedRank blame = client.find_failed_rank("a", 1, StoreClient::kDefaultAnswerTime);
      if (blame.rank == rank && silence == (blame.silence.find("has sent no heartbeat for") != std::string::npos))
        return true;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return false;
  };
  report(0, 1), report(1, 2), report(2, 3);
  CHECK(is_eventually_blamed(3, false));  // rank 3 has never reported
  silent.send_heartbeat("a", 3, 0, milliseconds(0));
  CHECK(is_eventually_blamed(3, true));  // rank 3 waits for rank 0, but has stopped reporting
  report(2, -1);
  CHECK(is_eventually_blamed(2, false));
  report(2, 0);
  CHECK(is_eventually_blamed(1, false));  // the ranks wait in a cycle
}

TEST_CASE("store: connections that say nothing cost next to nothing, and keep nobody out", "[parallel][store]") {
  const StoreServer server("secret");
  const std::string talk(60000, '\1');  // the beginning of a message of 16 MiB
  const std::string half(frame_message(std::string(kMaxMessageBytes, 'x')).substr(0, 60000));
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 300; ++i) {
    strangers.push_back(connect_to("127.0.0.1", server.port(), deadline_after(seconds(20))));
    for (const std::string* text : {&talk, &half})
      if (i % 3 == (text == &talk ? 1 : 2))
        (void)::send(strangers.back().get(), text->data(), text->size(), MSG_NOSIGNAL);
  }
  make_client(server).set("key", "value");
  int open = 0;
  for (const Descriptor& each : strangers) {
    char byte = 0;
    open += wait_until_ready(each.get(), 1 /* POLLIN */, deadline_after({})) && ::recv(each.get(), &byte, 1, 0) <= 0
                ? 0
                : 1;
  }
  CHECK(open <= 64);
}

TEST_CASE("store: a system that has no thread left is said to be that", "[parallel][store][errors]") {
  if (TANDEM_TEST_SANITIZED) {
    WARN("SKIPPED: sanitizers set the size of stacks themselves");
    return;
  }
  pthread_attr_t usual, huge;
  REQUIRE(::pthread_getattr_default_np(&usual) == 0);
  REQUIRE(::pthread_attr_init(&huge) == 0);
  REQUIRE(::pthread_attr_setstacksize(&huge, size_t{1} << 47) == 0);
  REQUIRE(::pthread_setattr_default_np(&huge) == 0);
  std::string error;
  try {
    const StoreServer server("secret");
  } catch (const std::exception& e) {
    error = e.what();
  }
  ::pthread_setattr_default_np(&usual);
  CHECK_THAT(error, Contains("cannot start a thread for the store") && Contains("ulimit -u"));
}

TEST_CASE("store: a rank that comes while rank 0 changes stores is not missed by the new one", "[parallel][store]") {
  auto server = std::make_unique<StoreServer>("");
  const int port = server->port();
  InitOptions options;
  options.rank = 1, options.world_size = 2, options.master_addr = "127.0.0.1", options.master_port = port;
  for (int i = 0; i < 200; ++i) {
    std::thread change([&, wait = std::chrono::microseconds(2 * i)] {
      std::this_thread::sleep_for(wait);
      server.reset();
      server = std::make_unique<StoreServer>("", "127.0.0.1", port, milliseconds(0));
    });
    int attempts = 0;
    std::string name;
    rendezvous_from_environment(options, [&](Rendezvous job) {
      ++attempts;
      name = job.name;
      job.watchdog_store->send_heartbeat(name, 1, -1, milliseconds(0));  // the first request that the watchdog sends
      job.store->set(name, "here");
      job.store->leave(name, 1, StoreClient::kDefaultAnswerTime);
      return ProcessGroupPtr();
    });
    change.join();
    if (attempts > 1) CHECK(!StoreClient("127.0.0.1", port, "", seconds(20)).find(failure_key(name), milliseconds(50)));
  }
}
