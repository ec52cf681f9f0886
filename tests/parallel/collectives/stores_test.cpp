// Tests the public Store classes against a std::map: random calls in sequence, and concurrent clients.
#include "tandem/parallel/collectives/store/stores.h"

#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include "tandem/parallel/collectives/process_group.h"
#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

using namespace tandem::distributed;
using std::chrono::milliseconds;
using std::chrono::seconds;
using tandem::test::TemporaryFolder;

namespace {

/// A store type. client() opens another client of the same store.
struct Kind {
  std::string name;
  std::function<std::shared_ptr<Store>()> client;
};
/// Creates a new store of each type. `keep` owns the objects that the clients need.
std::vector<Kind> kinds(std::vector<std::shared_ptr<void>>& keep) {
  const auto hash = std::make_shared<HashStore>();
  const std::shared_ptr<TemporaryFolder> folder(new TemporaryFolder(TemporaryFolder::in_memory()));
  TCPStoreOptions options;
  options.port = 0, options.isServer = true, options.timeout = seconds(20);
  const auto server = std::make_shared<TCPStore>("127.0.0.1", options);
  options.port = server->getPort(), options.isServer = false;
  keep = {hash, folder, server};
  const auto file = [folder] { return std::make_shared<FileStore>(*folder / "store"); };
  return {{"hash", [hash] { return hash; }},
          {"file", file},
          {"tcp", [options] { return std::make_shared<TCPStore>("127.0.0.1", options); }},
          {"prefix",
           [folder] { return std::make_shared<PrefixStore>("a", std::make_shared<FileStore>(*folder / "prefixed")); }}};
}
/// Runs f(i) in `count` threads.
void in_threads(int count, const std::function<void(int)>& f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(f, i);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("stores: random calls equal those of a map", "[parallel][store]") {
  std::vector<std::shared_ptr<void>> keep;
  for (const Kind& kind : kinds(keep)) {
    INFO(kind.name);
    std::map<std::string, std::string> oracle;
    std::mt19937 random(7);
    const auto a = kind.client(), b = kind.client();
    const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    for (int step = 0; step < 400; ++step) {
      const auto& store = draw(2) ? a : b;
      const std::string key = "key " + std::to_string(draw(6)), value(static_cast<size_t>(draw(40)), char(draw(256)));
      const auto at = oracle.find(key);
      switch (draw(6)) {
        case 0:
          store->set(key, value);
          oracle[key] = value;
          break;
        case 1: {
          store->set(key, "5");
          const int more = draw(100) - 50;
          CHECK(store->add(key, more) == 5 + more);
          oracle[key] = std::to_string(5 + more);
          break;
        }
        case 2: {
          const std::string expected = draw(2) && at != oracle.end() ? at->second : draw(2) ? "" : "other";
          const bool hits = at != oracle.end() ? at->second == expected : expected.empty();
          CHECK(store->compare_set(key, expected, value) == (hits                 ? value
                                                             : at != oracle.end() ? at->second
                                                                                  : expected));
          if (hits) oracle[key] = value;
          break;
        }
        case 3: CHECK(store->delete_key(key) == (oracle.erase(key) > 0)); break;
        case 4:
          CHECK(store->check({key}) == (at != oracle.end()));
          if (at != oracle.end()) CHECK(store->get(key) == at->second);
          break;
        default: CHECK(store->num_keys() == static_cast<int64_t>(oracle.size()));
      }
    }
  }
}

TEST_CASE("stores: what clients do at the same time is done one after the other", "[parallel][store]") {
  constexpr int kClients = 4, kEach = 50;
  std::vector<std::shared_ptr<void>> keep;
  for (const Kind& kind : kinds(keep)) {
    INFO(kind.name);
    std::atomic<int64_t> last{0}, swaps{0};
    in_threads(kClients, [&](int) {
      const auto store = kind.client();
      for (int k = 0; k < kEach; ++k) {
        const int64_t sum = store->add("sum", 1);
        for (int64_t seen = last; seen < sum && !last.compare_exchange_weak(seen, sum);) {}
        for (std::string now = store->compare_set("swapped", "", "0");;) {
          const std::string next = std::to_string(std::stoll(now) + 1), got = store->compare_set("swapped", now, next);
          if (got == next && ++swaps) break;  // no other thread can have set this number
          now = got;
        }
      }
    });
    const auto store = kind.client();
    CHECK(last == kClients * kEach);
    CHECK(store->get("sum") == std::to_string(kClients * kEach));
    CHECK(std::stoll(store->get("swapped")) <= swaps);
    CHECK(store->num_keys() == 2);
  }
}

TEST_CASE("stores: a wait ends when the key comes, or with an error that names it", "[parallel][store]") {
  std::vector<std::shared_ptr<void>> keep;
  for (const Kind& kind : kinds(keep)) {
    INFO(kind.name);
    const auto store = kind.client();
    in_threads(2, [&](int i) {
      const auto mine = kind.client();
      if (i == 0) return mine->wait({"late", "later"}, seconds(20));
      std::this_thread::sleep_for(milliseconds(20));
      mine->set("late", "1");
      mine->set("later", "2");
    });
    CHECK_THROWS_WITH(store->wait({"late", "never"}, milliseconds(30)),
                      Contains("wait timeout after 30ms, keys: never"));
    store->set_timeout(milliseconds(20));
    CHECK_THROWS_WITH(store->get("never"), Contains("wait timeout after 20ms, keys: never"));
    store->set("text", "abc");
    CHECK_THROWS_WITH(store->add("text", 1),
                      Contains("cannot add 1 to the value 'abc' of a key; accepted: whole numbers"));
    CHECK(store->get("text") == "abc");
  }
}

TEST_CASE("stores: prefixes keep users apart; LibTorch's spellings", "[parallel][store]") {
  const auto store = std::make_shared<HashStore>();
  PrefixStore a("a", store), b("b", store);
  a.set("key", "1");
  b.set("key", "2");
  CHECK(a.get("key") == "1");
  CHECK(store->get("b/key") == "2");
  CHECK(b.getNumKeys() == 2);
  CHECK(a.deleteKey("key"));
  CHECK(a.compareSet("key", "", "3") == "3");
  CHECK_THROWS_WITH(PrefixStore("a", nullptr), Contains("the underlying store is null"));
}

TEST_CASE("FileStore: what a killed writer left half written is dropped; the last one removes the file",
          "[parallel][store]") {
  const TemporaryFolder folder;
  const std::string path = folder / "store";
  FileStore(path).set("key", "value");
  std::string bytes = tandem::test::read_file(path);
  bytes.resize(bytes.size() - 2);  // as if the writer had been killed at this point
  tandem::test::write_file(path, bytes);
  CHECK(!FileStore(path).check({"key"}));
  FileStore(path).set("other", "x");
  CHECK(FileStore(path).get("other") == "x");
  CHECK(FileStore(path).num_keys() == 1);
  for (int i = 0; i < 2; ++i) {
    CHECK(folder.count() == 1);
    const FileStore one_of_two(path, 2);
  }
  CHECK(folder.count() == 0);
  tandem::test::write_file(path, "something else, and long enough\n");
  CHECK_THROWS_WITH(FileStore(path), Contains("is not a file of a FileStore"));
  CHECK_THROWS_WITH(FileStore("/nowhere/store"), Contains("cannot be opened"));
}

TEST_CASE("TCPStore: waits for its workers, and names what is wrong", "[parallel][store][errors]") {
  TCPStoreOptions options;
  options.port = 0, options.isServer = true, options.numWorkers = 3, options.timeout = seconds(20);
  options.waitWorkers = false;
  TCPStore server("127.0.0.1", options);
  CHECK(server.num_keys() == 0);
  options.port = server.getPort(), options.isServer = false, options.waitWorkers = true;
  in_threads(2, [&](int) { TCPStore("127.0.0.1", options).add("came", 1); });
  CHECK(server.get("came") == "2");
  options.numWorkers = 9, options.waitWorkers = false;
  TCPStore late("127.0.0.1", options);
  late.set_timeout(milliseconds(30));
  CHECK_THROWS_WITH(late.waitForWorkers(),
                    Contains("Timed out after 0.03 seconds waiting for clients. 4/9 clients joined."));
  options.token = "wrong";
  CHECK_THROWS_WITH(TCPStore("127.0.0.1", options), Contains("refuses this job token"));
  options.port = 0;
  CHECK_THROWS_WITH(TCPStore("127.0.0.1", options), Contains("the port is 0; accepted: 1 to 65535"));
}
