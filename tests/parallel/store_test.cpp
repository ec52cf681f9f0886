// The store that ranks meet at: what it keeps, how it waits, and what it refuses.
#include "tandem/parallel/collectives/store.h"

#include <sys/socket.h>

#include <atomic>

#include "tandem/parallel/collectives/watchdog.h"
#include "tandem/tests/catch.h"

using namespace tandem;
using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {
StoreClient client_of(const StoreServer& server, const std::string& token = "secret") {
  return StoreClient("127.0.0.1", server.port(), token, seconds(20));
}
/// What a connection that says `bytes` and nothing else is told until it is closed.
std::string answer_to(const StoreServer& server, const std::string& bytes) {
  const Deadline deadline = after(seconds(20));
  const Descriptor socket = connect_to("127.0.0.1", server.port(), deadline);
  REQUIRE(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  std::string all;
  char chunk[256];
  for (;;) {
    if (!wait_for(socket.get(), 1 /* POLLIN */, deadline)) return "still open";
    const ssize_t n = ::recv(socket.get(), chunk, sizeof chunk, 0);
    if (n <= 0) return all;
    all.append(chunk, static_cast<size_t>(n));
  }
}
}  // namespace

TEST_CASE("store: what one client sets another gets", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient a = client_of(server), b = client_of(server);
  a.set("key", "value");
  CHECK(b.get("key", seconds(20)) == "value");
  a.set("key", "another");
  CHECK(b.get("key", seconds(20)) == "another");
  const std::string bytes("\0\n\xff", 3);
  b.set("", bytes);
  CHECK(a.get("", seconds(20)) == bytes);
  const std::string large(kMaxStoreValue, 'x');
  a.set("large", large);
  CHECK(b.get("large", seconds(20)) == large);
  CHECK_THROWS_WITH(a.set("larger", large + "x"), Contains("accepted: at most 1024 and 1048576"));
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
      StoreClient client = client_of(server);
      got[i] = client.set_once("key", std::to_string(i));
      firsts += got[i] == std::to_string(i);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(firsts == 1);
  for (const std::string& value : got) CHECK(value == got[0]);
}

TEST_CASE("store: a get waits for the key, until the timeout", "[parallel][store]") {
  StoreServer server("secret");
  StoreClient a = client_of(server), b = client_of(server);
  std::string got;
  std::thread waiting([&] { got = a.get("late", seconds(60)); });
  std::this_thread::sleep_for(milliseconds(20));
  b.set("late", "here");
  waiting.join();
  CHECK(got == "here");
  CHECK_FALSE(a.find("never", milliseconds(0)));
  CHECK_FALSE(a.find("never", milliseconds(30)));
  CHECK_THROWS_WITH(a.get("never", milliseconds(30)), Contains("'never' was not set") && Contains("30 ms"));
  a.wait({"late"}, seconds(20));
  CHECK_THROWS_WITH(a.wait({"late", "never"}, milliseconds(30)), Contains("'never'"));
  CHECK(a.get("late", seconds(20)) == "here");  // what timed out has left nothing behind
}

TEST_CASE("store: a wrong token is refused, and said to be one", "[parallel][store][errors]") {
  const StoreServer server("secret");
  for (const char* token : {"", "secreT", "secret ", "secre"})
    CHECK_THROWS_WITH(client_of(server, token), Contains("TANDEM_JOB_TOKEN"));
  const StoreServer open("");
  client_of(open, "").set("key", "value");
  CHECK_THROWS_WITH(client_of(open, "any"), Contains("TANDEM_JOB_TOKEN"));
}

TEST_CASE("store: what is no client is shown out", "[parallel][store][errors]") {
  using namespace store_messages;
  StoreServer server("secret");
  CHECK(answer_to(server, "GET / HTTP/1.0\r\n\r\n").empty());                              // a message of a GiB
  CHECK(answer_to(server, frame(encode({kGet, 0, "key", ""}))) == frame("B"));             // no hello
  CHECK(answer_to(server, frame("")) == frame("B"));                                       // nothing
  CHECK(answer_to(server, frame(std::string("H\0\0\0\0\xff\xff\0\0", 9))) == frame("B"));  // a key beyond its end
  CHECK(answer_to(server, frame(encode({kHello, 0, "secret", "tandem store 0"}))) == frame("D"));
  client_of(server).set("key", "value");  // the others are served as before
}

TEST_CASE("store: a port in use, or with nothing behind it, is named", "[parallel][store][errors]") {
  auto server = std::make_unique<StoreServer>("secret");
  const int port = server->port();
  CHECK_THROWS_WITH(StoreServer("secret", "127.0.0.1", port),
                    Contains("port " + std::to_string(port)) && Contains("in use"));
  CHECK_THROWS_WITH(StoreServer("secret", "no.such.host.invalid"), Contains("no.such.host.invalid"));
  StoreClient client = client_of(*server);
  server.reset();
  CHECK_THROWS_WITH(client.get("key", seconds(20)), Contains("lost"));
  CHECK_THROWS_WITH(client.set("key", ""), Contains("lost"));
  CHECK_THROWS_WITH(StoreClient("127.0.0.1", port, "secret", milliseconds(50)),
                    Contains(std::to_string(port)) && Contains("MASTER_PORT"));
  const StoreServer again("secret", "127.0.0.1", port);  // free at once
  CHECK(again.port() == port);
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
  client_of(*server).set("key", "value");
  std::this_thread::sleep_for(milliseconds(60));
  server.reset();
  early.join();
  CHECK_FALSE(failure.empty());
}

TEST_CASE("watchdog: hears of the published failure, or that the store is gone, once", "[parallel][store]") {
  auto server = std::make_unique<StoreServer>("secret");
  const auto connection = [&] {
    return std::make_unique<StoreClient>("127.0.0.1", server->port(), "secret", seconds(20));
  };
  std::mutex mutex;
  std::vector<std::string> heard;
  const auto note = [&](const std::string& cause) {
    const std::lock_guard lock(mutex);
    heard.push_back(cause);
  };
  const auto wait_until_heard = [&](size_t count) {
    for (const Deadline deadline = after(seconds(20)); Clock::now() < deadline;) {
      std::this_thread::sleep_for(milliseconds(1));
      const std::lock_guard lock(mutex);
      if (heard.size() >= count) return;
    }
  };
  { const Watchdog ended(connection(), note); }
  CHECK(heard.empty());
  const Watchdog last(connection(), note);
  server->set("other", "");
  server.reset();
  wait_until_heard(1);
  REQUIRE(heard.size() == 1);
  CHECK_THAT(heard[0], Contains("lost"));
  server = std::make_unique<StoreServer>("secret");
  const Watchdog watchdog(connection(), note);
  server->set(kFailureKey, "rank 1 is gone");
  wait_until_heard(2);
  REQUIRE(heard.size() == 2);
  CHECK(heard[1] == "rank 1 is gone");
}
