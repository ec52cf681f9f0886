// torch.distributed's key-value stores, through which processes or threads find each other.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/durations.h"
#include "tandem/core/owned_ptr.h"

namespace tandem::distributed {

/// A key-value store. Values are bytes, of any length unless a derived class limits it. Several processes and threads
/// may use a store at the same time; every call is atomic.
class Store {
 public:
  /// Default timeout of a store: five minutes.
  static constexpr std::chrono::milliseconds kDefaultTimeout = std::chrono::minutes(5);

  virtual ~Store() = default;
  /// Sets the value of a key.
  virtual void set(const std::string& key, const std::string& value) = 0;
  /// Waits for the key and returns its value. @throws DistributedError naming the key, if it was not set within
  /// timeout()
  std::string get(const std::string& key);
  /// Adds `amount` to the value of the key, which is a number as text, and returns the sum. A missing key counts as 0.
  /// @throws DistributedError if the value is not a number
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  /// Sets the key to `desired` if its value is `expected`, or if it has no value and `expected` is empty. Returns the
  /// value of the key after the call; if it has none, returns `expected`.
  virtual std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) = 0;
  /// Returns when all keys are set. @throws DistributedError naming the first key that was not set within the timeout
  void wait(const std::vector<std::string>& keys);
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);
  /// Returns whether all keys are set.
  bool check(const std::vector<std::string>& keys);
  /// Deletes a key. Returns whether it existed.
  virtual bool delete_key(const std::string& key) = 0;
  /// Returns the number of keys, no matter which process or thread has set them.
  virtual int64_t num_keys() = 0;
  /// Waits for the key and returns its value; nullopt if it was not set within `timeout`.
  virtual std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) = 0;

  /// Returns the time for which get() and wait() wait for keys.
  std::chrono::milliseconds timeout() const { return timeout_; }
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  /// LibTorch's names for the methods above.
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

/// A store in the memory of this process, for its threads.
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
  tandem::detail::OwnedPtr<State> state_;
};

/// A store in a file that all processes can access. Each change locks the file and appends to it. A change that a
/// killed process has left incomplete is dropped. If numWorkers is not 0, that number of stores is expected, and the
/// last of them to be destroyed removes the file.
class FileStore final : public Store {
 public:
  /// @throws DistributedError if the file cannot be opened or created, or was not made by a FileStore
  explicit FileStore(const std::string& path, int numWorkers = 0);
  ~FileStore() override;
  void set(const std::string& key, const std::string& value) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override;
  /// Returns the path of the file.
  const std::string& getPath() const;

 private:
  struct State;
  tandem::detail::OwnedPtr<State> state_;
};

struct TCPStoreOptions {
  /// Port of the server. If it is 0, the server uses a free port, which getPort() returns.
  int port = 29500;
  bool isServer = false;
  /// Number of stores for which the constructor waits, this one included. Only stores that set numWorkers are counted.
  /// nullopt: the constructor does not wait.
  std::optional<size_t> numWorkers = std::nullopt;
  /// If false, the constructor does not wait; call waitForWorkers() later.
  bool waitWorkers = true;
  /// Time to wait for the server to come up, for other stores to connect, and for keys.
  std::chrono::milliseconds timeout = Store::kDefaultTimeout;
  /// Token that all clients must present to the server. If unset, the value of TANDEM_JOB_TOKEN, which may be empty.
  std::optional<std::string> token = std::nullopt;
};
/// A store over TCP. One process has the server (isServer is true); all processes are its clients. Keys have at most
/// 1000 bytes, values at most 1 MiB. The protocol is Tandem's, not PyTorch's. The server ends when its TCPStore is
/// destroyed; later calls of the other stores then throw.
class TCPStore final : public Store {
 public:
  /// Starts the server if options.isServer is true, and connects to it.
  /// @throws DistributedError if the port is in use, if no server listens there within the timeout, if the token is
  /// wrong, or if fewer than numWorkers stores connect within the timeout
  TCPStore(const std::string& host, const TCPStoreOptions& options);
  ~TCPStore() override;
  void set(const std::string& key, const std::string& value) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired) override;
  bool delete_key(const std::string& key) override;
  int64_t num_keys() override;
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout) override;
  /// Returns the host of the server.
  const std::string& getHost() const;
  /// Returns the port of the server, even if TCPStoreOptions::port is 0.
  int getPort() const;
  /// Waits until numWorkers stores that set numWorkers have connected to the server. Returns at once if it is nullopt.
  /// @throws DistributedError with the number of stores that came within timeout()
  void waitForWorkers();

 private:
  struct State;
  tandem::detail::OwnedPtr<State> state_;
};

/// A view of another store, in which all keys get the prefix "prefix/". num_keys() counts all keys of the other store.
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
  /// Returns the other store.
  const std::shared_ptr<Store>& getUnderlyingStore() const { return store_; }

 private:
  const std::string prefix_;  // prefix of all keys; ends with a slash
  const std::shared_ptr<Store> store_;
};

}  // namespace tandem::distributed
