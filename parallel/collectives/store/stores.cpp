// Implements Store's waiting calls; HashStore, for threads of one process; PrefixStore; and TCPStore, over the job's
// store.
#include "tandem/parallel/collectives/store/stores.h"

#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/key_values.h"
#include "tandem/parallel/collectives/store/socket.h"
#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

std::string Store::get(const std::string& key) {
  std::optional<std::string> value = find(key, timeout());
  TANDEM_CHECK_AS(DistributedError, value.has_value(), "store: wait timeout after ", timeout().count(),
                  "ms, keys: ", key, "; no process has set this key in that time");
  return *std::move(value);
}
void Store::wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }
void Store::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  const Deadline deadline = deadline_after(timeout);
  for (const std::string& key : keys)
    TANDEM_CHECK_AS(DistributedError, find(key, time_until(deadline)).has_value(), "store: wait timeout after ",
                    timeout.count(), "ms, keys: ", key, "; no process has set this key in that time");
}
bool Store::check(const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return find(key, std::chrono::milliseconds(0)).has_value(); });
}

struct HashStore::State {
  std::mutex mutex;
  std::condition_variable changed;
  KeyValues values;
  /// Runs f(values) while the mutex is held, and wakes all waiting threads.
  template <class F> auto update_values(const F& f) {
    const std::lock_guard lock(mutex);
    changed.notify_all();
    return f(values);
  }
};
HashStore::HashStore() : state_(new State()) {}
HashStore::~HashStore() = default;
void HashStore::set(const std::string& key, const std::string& value) {
  state_->update_values([&](KeyValues& v) { v.set(key, value); });
}
int64_t HashStore::add(const std::string& key, int64_t amount) {
  return state_->update_values([&](KeyValues& v) { return v.add(key, amount); });
}
std::string HashStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->update_values([&](KeyValues& v) { return v.compare_set(key, expected, desired); });
}
bool HashStore::delete_key(const std::string& key) {
  return state_->update_values([&](KeyValues& v) { return v.erase(key); });
}
int64_t HashStore::num_keys() {
  return state_->update_values([](KeyValues& v) { return v.count(""); });
}
std::optional<std::string> HashStore::find(const std::string& key, std::chrono::milliseconds timeout) {
  std::unique_lock lock(state_->mutex);
  std::optional<std::string> value;
  state_->changed.wait_until(lock, deadline_after(timeout),
                             [&] { return (value = state_->values.find(key)).has_value(); });
  return value;
}

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : Store(store ? store->timeout() : kDefaultTimeout), prefix_(std::move(prefix) + "/"), store_(std::move(store)) {
  TANDEM_CHECK(store_, "PrefixStore: the underlying store is null; accepted: a pointer to a store");
}

namespace {

using std::chrono::milliseconds;
// kUserKeyPrefix: prefix of users' keys. kNumWorkersKey: key of the number of connected stores, which users do not see.
constexpr char kUserKeyPrefix[] = "user/", kNumWorkersKey[] = "workers";
constexpr milliseconds kMaxRequestTime(
    50);  // longest time of one request by wait(), because a request blocks other threads' requests

std::string resolve_token(const TCPStoreOptions& options) {
  const char* const token = std::getenv("TANDEM_JOB_TOKEN");
  return options.token.value_or(token ? token : "");
}

}  // namespace

struct TCPStore::State {
  std::string host;
  std::unique_ptr<StoreServer> server;  // null unless this process has the server
  int port;
  StoreClient client;
  std::optional<size_t> num_workers;
  State(const std::string& host, const TCPStoreOptions& o)
      : host(host),
        server(o.isServer ? std::make_unique<StoreServer>(resolve_token(o), host, o.port) : nullptr),
        port(server ? server->port() : o.port),
        client(host, port, resolve_token(o), o.timeout, "the process whose TCPStore is the server"),
        num_workers(o.numWorkers) {
    if (num_workers) client.add(kNumWorkersKey, 1);
  }
};

TCPStore::TCPStore(const std::string& host, const TCPStoreOptions& options) : Store(options.timeout) {
  TANDEM_CHECK(options.port >= 0 && options.port <= 65535, "TCPStore: port must have value from 0 to 65535 but was ",
               options.port);
  TANDEM_CHECK(options.port > 0 || options.isServer, "TCPStore: the port is 0; accepted: 1 to 65535, or 0 (any free ",
               "port) with isServer");
  state_ = tandem::detail::OwnedPtr(new State(host, options));
  if (options.waitWorkers) waitForWorkers();
}
TCPStore::~TCPStore() = default;
void TCPStore::waitForWorkers() {
  if (!state_->num_workers) return;
  for (const Deadline deadline = deadline_after(timeout());; std::this_thread::sleep_for(milliseconds(2))) {
    const auto num_connected = static_cast<size_t>(state_->client.add(kNumWorkersKey, 0));
    if (num_connected >= *state_->num_workers) return;
    TANDEM_CHECK_AS(DistributedError, Clock::now() < deadline, "TCPStore: Timed out after ",
                    static_cast<double>(timeout().count()) / 1e3, " seconds waiting for clients. ", num_connected, "/",
                    *state_->num_workers, " clients joined.");
  }
}
const std::string& TCPStore::getHost() const { return state_->host; }
int TCPStore::getPort() const { return state_->port; }
void TCPStore::set(const std::string& key, const std::string& value) {
  state_->client.set(kUserKeyPrefix + key, value);
}
int64_t TCPStore::add(const std::string& key, int64_t amount) {
  return state_->client.add(kUserKeyPrefix + key, amount);
}
std::string TCPStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->client.compare_set(kUserKeyPrefix + key, expected, desired);
}
bool TCPStore::delete_key(const std::string& key) { return state_->client.erase(kUserKeyPrefix + key); }
int64_t TCPStore::num_keys() { return state_->client.count(kUserKeyPrefix); }
std::optional<std::string> TCPStore::find(const std::string& key, milliseconds timeout) {
  const Deadline deadline = deadline_after(timeout);
  for (;;) {
    const milliseconds left = time_until(deadline);
    if (auto value = state_->client.find(kUserKeyPrefix + key, std::min(left, kMaxRequestTime))) return value;
    if (left <= kMaxRequestTime) return {};
  }
}

}  // namespace tandem::distributed
