// Key-value stores by which processes, or threads, find each other: torch.distributed's.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/durations.h"
#include "tandem/core/owned.h"

namespace tandem::distributed {

/// Values are bytes, of any length unless a store says otherwise. Several processes and threads may use one at the same
/// time; each call is one step, before or after those of others.
class Store {
 public:
  /// Of a store that is told no other: five minutes.
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);

  virtual ~Store() = default;
  /// The key has that value from then on.
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Waits for the key. @throws DistributedError naming it when nobody has set it within timeout()
  std::string get(const std::string& key);
  /// Adds to the number that the key has, as text; a key that nobody has set has 0. Returns the sum.
  /// @throws DistributedError when the value is no number
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  /// Sets the key to `desired` if its value is `expected`, or if it has none and `expected` is empty. Returns what it
  /// has then, or `expected` where it has none.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;
  /// Returns when all keys are set. @throws DistributedError naming the first that was not within the timeout
  void wait(const std::vector<std::string>& keys);
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);
  /// Whether all keys are set.
  bool check(const std::vector<std::string>& keys);
  /// Whether there was such a key.
  virtual bool delete_key(const std::string& key) = 0;
  /// How many keys there are, of all users.
  virtual int64_t num_keys() = 0;
  /// Waits for the key; nothing when it did not come.
  virtual std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) = 0;

  /// How long get() and wait() wait for keys.
  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  /// LibTorch's spellings of the above.
  std::string compareSet(const std::string& key, const std::string& expected, const std::string& desired) {
    return compare_set(key, expected, desired);
  }
  bool deleteKey(const std::string& key) { return delete_key(key); }
  int64_t getNumKeys() { return num_keys(); }
  const std::chrono::milliseconds& getTimeout() const { return timeout_; }
  void setTimeout(const std::chrono::milliseconds& timeout) { set_timeout(timeout); }

 protected:
  explicit Store(std::chrono::milliseconds timeout = kDefaultTimeout) : timeout_(timeout) {}

 private:
  std::chrono::milliseconds timeout_;
};

/// In this process's memory, for its threads.
class HashStore final : public Store {
 public:
  HashStore();
  ~HashStore() override;
  void set(const std::string& key, const std::string& value) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override;

 private:
  struct State;
  tandem::detail::Owned<State> state_;
};

/// In a file that all processes reach, to which changes are appended under a lock; a change that a killed process left
/// half written is dropped. When `numWorkers` is not 0, the last of so many stores to end removes the file.
class FileStore final : public Store {
 public:
  /// @throws DistributedError when the file cannot be opened or made, or is none of a FileStore's
  explicit FileStore(const std::string& path, int numWorkers = 0);
  ~FileStore() override;
  void set(const std::string& key, const std::string& value) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override;
  /// The file.
  const std::string& getPath() const;

 private:
  struct State;
  tandem::detail::Owned<State> state_;
};

struct TCPStoreOptions {
  /// 0: the server takes a free one, which getPort() says.
  int port = 29500;
  bool isServer = false;
  /// How many stores are to be made of this server, for which the constructor waits.
  std::optional<size_t> numWorkers = std::nullopt;
  /// Whether the constructor waits; waitForWorkers() does so later.
  bool waitWorkers = true;
  /// For the server to come up, for workers, and for keys.
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  /// That all must show to the server; unset: TANDEM_JOB_TOKEN's, which may be empty.
  std::optional<std::string> token = std::nullopt;
};
/// One process has the server (isServer), all are its clients. Keys of at most 1000 bytes, values of at most 1 MiB. It
/// speaks Tandem's protocol, not PyTorch's. The server goes with the store that has it, which its clients hear.
class TCPStore final : public Store {
 public:
  /// @throws DistributedError when the port is in use, nobody listens there within the timeout, the token is wrong, or
  /// workers do not come
  TCPStore(const std::string& host, const TCPStoreOptions& options);
  ~TCPStore() override;
  void set(const std::string& key, const std::string& value) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override;
  /// Where the server is.
  const std::string& getHost() const;
  /// The server's, also where it took a free one.
  int getPort() const;
  /// Returns when as many stores of this server have been made as numWorkers says.
  /// @throws DistributedError that says how many came within timeout()
  void waitForWorkers();

 private:
  struct State;
  tandem::detail::Owned<State> state_;
};

/// Another store's, whose keys here begin with "prefix/". num_keys() counts all of that store's.
class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);
  void set(const std::string& key, const std::string& value) override { store_->set(prefix_ + key, value); }
  int64_t add(const std::string& key, int64_t amount) override { return store_->add(prefix_ + key, amount); }
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override {
    return store_->compare_set(prefix_ + key, expected, desired);
  }
  bool delete_key(const std::string& key) override { return store_->delete_key(prefix_ + key); }
  int64_t num_keys() override { return store_->num_keys(); }
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override {
    return store_->find(prefix_ + key, timeout);
  }
  /// The other store.
  const std::shared_ptr<Store>& getUnderlyingStore() const { return store_; }

 private:
  const std::string prefix_;  // with its slash
  const std::shared_ptr<Store> store_;
};

}  // namespace tandem::distributed
