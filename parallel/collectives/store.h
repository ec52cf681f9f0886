// A small key-value store over TCP, by which the ranks of a job find each other and tell why they failed. Internal.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "tandem/parallel/collectives/process_group.h"
#include "tandem/parallel/collectives/socket.h"

namespace tandem::distributed {

constexpr size_t kMaxStoreKey = 1 << 10, kMaxStoreValue = 1 << 20;

/// Serves until it goes out of scope, from one thread. A connection must present the job's token first; loopback alone
/// is listened on unless another address is given.
class StoreServer {
 public:
  /// @throws DistributedError naming the port when it is in use
  explicit StoreServer(std::string token, const std::string& address = "127.0.0.1", int port = 0);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  int port() const;
  /// As a client's.
  void set(const std::string& key, const std::string& value);
  std::optional<std::string> find(const std::string& key) const;
  /// Returns when there is no connection any more, or after `most`.
  void wait_for_clients_to_leave(std::chrono::milliseconds most) const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// The connection to the store is lost, or it does not answer.
class StoreLost : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

/// One connection. Its methods may be called from any thread, one request at a time. All throw StoreLost.
class StoreClient {
 public:
  /// Waits for the store to come up, within the timeout. @throws DistributedError for a wrong token too
  StoreClient(const std::string& address, int port, const std::string& token, std::chrono::milliseconds timeout);
  void set(const std::string& key, const std::string& value);
  /// Sets the key unless it has a value; returns the value that it has then.
  std::string set_once(const std::string& key, const std::string& value);
  /// Waits for the key. Nothing when it did not come within the timeout.
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout);
  /// Waits for the key. @throws DistributedError naming it when it did not come
  std::string get(const std::string& key, std::chrono::milliseconds timeout);
  /// Waits for all keys.
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);
  /// The address of this machine on the way to the store.
  std::string local_address() const { return distributed::local_address(socket_.get()); }
  /// From any thread: ends the request under way, and all to come, with an error.
  void interrupt();

 private:
  std::optional<std::string> request(char op, const std::string& key, const std::string& value,
                                     std::chrono::milliseconds wait);
  std::string place_;
  Descriptor socket_;
  std::mutex mutex_;  // one request at a time
  bool broken_ = false;
};

/// Messages, which server and client share: a length of four bytes, then that many. Numbers in this machine's order,
/// which is that of every machine that Tandem runs on.
namespace store_messages {
constexpr char kHello = 'H', kSet = 'S', kSetOnce = 'O', kGet = 'G';     // requests
constexpr char kValue = 'V', kNothing = 'N', kDenied = 'D', kBad = 'B';  // replies: a kind, then the value
constexpr char kVersion[] = "tandem store 1";                            // the value of a hello and of its reply
constexpr size_t kMaxMessage = 64 + kMaxStoreKey + kMaxStoreValue;
struct Request {
  char op = 0;
  uint32_t wait_ms = 0;
  std::string key, value;
};
std::string frame(const std::string& body);
/// Takes one whole message off the front of `bytes`, if there is one. @throws DistributedError for one that is too long
std::optional<std::string> take_message(std::string& bytes);
std::string encode(const Request& request);
std::optional<Request> decode(const std::string& body);
}  // namespace store_messages

}  // namespace tandem::distributed
