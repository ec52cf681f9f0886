// Store's waiting calls, HashStore for threads of one process, and PrefixStore.
#include "tandem/parallel/collectives/store/stores.h"

#include <condition_variable>
#include <mutex>

#include "tandem/parallel/collectives/store/key_values.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

std::string Store::get(const std::string& key) {
  std::optional<std::string> value = find(key, timeout());
  TANDEM_CHECK_AS(DistributedError, value.has_value(), "store: nobody has set the key '", key, "' within ",
                  timeout().count(), " ms");
  return *std::move(value);
}
void Store::wait(const std::vector<std::string>& keys) { wait(keys, timeout()); }
void Store::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  const Deadline deadline = after(timeout);
  for (const std::string& key : keys)
    TANDEM_CHECK_AS(DistributedError, find(key, left_until(deadline)).has_value(), "store: nobody has set the key '",
                    key, "' within ", timeout.count(), " ms");
}
bool Store::check(const std::vector<std::string>& keys) {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return find(key, std::chrono::milliseconds(0)).has_value(); });
}

struct HashStore::State {
  std::mutex mutex;
  std::condition_variable changed;
  KeyValues values;
  /// f(values), alone; who waits looks again.
  template <class F> auto change(const F& f) {
    const std::lock_guard lock(mutex);
    changed.notify_all();
    return f(values);
  }
};
HashStore::HashStore() : state_(new State()) {}
HashStore::~HashStore() = default;
void HashStore::set(const std::string& key, const std::string& value) {
  state_->change([&](KeyValues& v) { v.set(key, value); });
}
int64_t HashStore::add(const std::string& key, int64_t amount) {
  return state_->change([&](KeyValues& v) { return v.add(key, amount); });
}
std::string HashStore::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return state_->change([&](KeyValues& v) { return v.compare_set(key, expected, desired); });
}
bool HashStore::delete_key(const std::string& key) {
  return state_->change([&](KeyValues& v) { return v.erase(key); });
}
int64_t HashStore::num_keys() {
  return state_->change([](KeyValues& v) { return v.count(""); });
}
std::optional<std::string> HashStore::find(const std::string& key, std::chrono::milliseconds timeout) {
  std::unique_lock lock(state_->mutex);
  std::optional<std::string> value;
  state_->changed.wait_until(lock, after(timeout), [&] { return (value = state_->values.find(key)).has_value(); });
  return value;
}

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : Store(store ? store->timeout() : kDefaultTimeout), prefix_(std::move(prefix) + "/"), store_(std::move(store)) {
  TANDEM_CHECK(store_, "PrefixStore: there is no store; accepted: another store");
}

}  // namespace tandem::distributed
