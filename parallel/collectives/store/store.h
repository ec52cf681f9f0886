// A small key-value store over TCP. The ranks of a job find each other through it and publish the causes of failures.
// Its server also notices which ranks are lost. Internal.
#pragma once
#include <map>
#include <mutex>

#include "tandem/parallel/collectives/process_group.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

constexpr size_t kMaxStoreKey = 1 << 10, kMaxStoreValue = 1 << 20;

/// Key under which the launcher of the ranks publishes why the job fails.
constexpr char kFailureKey[] = "failure";
/// The key of a group's first failure.
std::string failure_key(const std::string& group);
/// Returns all keys under which a failure of the group may stand: the job's key, the keys of the groups that it was
/// made from, outermost first, and its own key. "a/b" was made from "a".
std::vector<std::string> failure_keys(const std::string& group);

/// Serves until it goes out of scope, from one thread. A connection must present the job's token first. The server
/// listens on loopback alone unless another address is given.
///
/// The server watches over ranks. A rank is lost if the connection on which it reports (StoreClient::report) ends
/// before the rank has left its group. The server then publishes a failure of the outermost group that this group was
/// made from, unless that group has failed already. Ranks are always numbered in the outermost group.
///
/// A rank whose process has ended well has left all its groups and is not lost (StoreClient::end, excuse).
class StoreServer {
 public:
  /// @param patience  time from the loss of a rank until the server publishes it. Meanwhile a launcher may publish the
  ///                  reason (`set` of kFailureKey), or say that the rank ended well (`excuse`)
  /// @throws DistributedError naming the port when it is in use
  explicit StoreServer(std::string token, const std::string& address = "127.0.0.1", int port = 0,
                       std::chrono::milliseconds patience = {});
  /// Tells the clients that the store shuts down.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  int port() const;
  /// As StoreClient::set() and StoreClient::find().
  void set(const std::string& key, const std::string& value);
  std::optional<std::string> find(const std::string& key) const;
  /// Notes that the rank's process has ended well: the rank has left all groups. As StoreClient::end().
  void excuse(int rank);
  /// Shuts the server down now and tells the clients so. find() and set() still work.
  void close();
  /// Returns when no client is connected, or after `most`.
  void wait_for_clients_to_leave(std::chrono::milliseconds most) const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

/// The connection to the store is lost, or the store does not answer: its host is gone, or hangs.
class StoreLost : public DistributedError {
 public:
  using DistributedError::DistributedError;
};
/// The store does not answer.
class StoreSilent : public StoreLost {
 public:
  using StoreLost::StoreLost;
};
/// The store has told this client that it shuts down.
class StoreClosed : public StoreLost {
 public:
  using StoreLost::StoreLost;
};
/// By rank: how the ranks that are no longer in a group have left it, such as "it ended normally".
using LeftRanks = std::map<int, std::string>;
constexpr char kEndedNormally[] = "it ended normally";

/// The store refuses the token, because it belongs to another job.
class StoreDenied : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

/// One connection to the store. Methods may be called from any thread; one request runs at a time. All throw StoreLost.
class StoreClient {
 public:
  /// Time that an answer may take, beyond the time that the request asks the store to wait. kHasty is for requests
  /// after a failure, which must not take long.
  static constexpr std::chrono::milliseconds kUsual{20000}, kHasty{300};

  /// Waits for the store to come up, within the timeout. @throws StoreDenied if the token is wrong
  /// @param host   name of the store's host, for errors: "rank 0"
  /// @param start  time when the caller began to wait, for errors
  StoreClient(const std::string& address, int port, const std::string& token, std::chrono::milliseconds timeout,
              std::string host = "a rank or a launcher", Clock::time_point start = Clock::now());
  void set(const std::string& key, const std::string& value, std::chrono::milliseconds answer = kUsual);
  /// Sets the key unless it has a value; returns the value that it has then.
  std::string set_once(const std::string& key, const std::string& value, std::chrono::milliseconds answer = kUsual);
  /// Publishes the failure of a group, unless there is an earlier failure of the job, of the group, or of a group that
  /// it was made from. Returns the first failure.
  std::string publish_failure(const std::string& group, const std::string& why,
                              std::chrono::milliseconds answer = kUsual);
  /// As the methods of KeyValues.
  int64_t add(const std::string& key, int64_t amount);
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool erase(const std::string& key);
  int64_t count(const std::string& prefix);
  /// Waits for the key. Returns nullopt if it was not set within the timeout.
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout,
                                  std::chrono::milliseconds answer = kUsual);
  /// Waits for the key. @throws DistributedError naming the key, if it was not set within the timeout
  std::string get(const std::string& key, std::chrono::milliseconds timeout);
  /// Waits for all keys.
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);

  /// Reports that the rank lives, and which rank it waits for (-1: none). After the first report the rank is lost if
  /// this connection ends. Waits up to `time` for a failure of the job or the group; returns it, or nullopt if there
  /// was none. The next report is expected then. @throws StoreClosed also if the rank has left
  /// @param left  set to the ranks that have left the group, if there is no failure
  std::optional<std::string> report(const std::string& group, int rank, int waits_for, std::chrono::milliseconds time,
                                    LeftRanks* left = nullptr);
  /// Reports a member that is no rank, such as a launcher. The member is lost if its next report does not come within
  /// `silence`; the store is lost (StoreSilent) if it does not answer within `silence`.
  /// @param name  names the member in the failure: "the launcher of node 1"
  std::optional<std::string> report_as(const std::string& name, const std::string& group, int member,
                                       std::chrono::milliseconds time, std::chrono::milliseconds silence);
  /// Makes the rank leave the group, so that it is not lost later. Call it on another connection than reports.
  void leave(const std::string& group, int rank, std::chrono::milliseconds answer = kHasty);
  /// Reports that the rank's process ends well: the rank leaves all groups and is not lost.
  void end(int rank, std::chrono::milliseconds answer = kHasty);
  /// Returns the ranks that have left the group.
  LeftRanks left(const std::string& group, std::chrono::milliseconds answer = kHasty);
  /// The rank that holds up the ranks that wait for `rank`, according to all reports: that rank itself, or the rank
  /// that it waits for in turn. `silence` is "has not been heard of for 1234 ms" if the rank's reports are overdue,
  /// otherwise "".
  struct Blame {
    int rank = 0;
    std::string silence = {};
  };
  Blame blame(const std::string& group, int rank, std::chrono::milliseconds answer = kHasty);

  /// Makes another connection to the same store.
  std::unique_ptr<StoreClient> again(std::chrono::milliseconds timeout) const;
  /// Returns the address of this machine's end of the connection.
  std::string local_address() const { return distributed::local_address(socket_.get()); }
  /// Ends the request in progress and all later ones with an error. May be called from any thread.
  void interrupt();

 private:
  void say_hello(const std::string& address, int port, const std::string& token, Deadline deadline,
                 Clock::time_point start);
  /// Returns the value in the reply; nullopt for a kNothing reply, whose text is then written to `nothing`.
  std::optional<std::string> request(char op, const std::string& key, const std::string& value,
                                     std::chrono::milliseconds wait, std::chrono::milliseconds answer = kUsual,
                                     std::string* nothing = nullptr);
  const std::string address_;
  const int port_;
  const std::string token_, place_, host_;
  Descriptor socket_;
  std::mutex mutex_;                                      // serializes requests
  std::string bytes_;                                     // received bytes behind the last answer
  bool broken_ = false, closed_ = false, hangs_ = false;  // closed_: the store has shut down
};

/// Message format of server and client: a length of four bytes, then that many bytes. Numbers are in this machine's
/// byte order, which is the same on every machine that Tandem runs on.
namespace store_messages {
constexpr char kHello = 'H', kSet = 'S', kSetOnce = 'O', kGet = 'G';  // requests
constexpr char kAdd = '+', kCompareSet = '=', kErase = '-', kCount = '#';
constexpr char kReport = 'R', kLeave = 'L', kBlame = 'A';  // requests of ranks, whose key is the group
constexpr char kEnd = 'E', kLeft = 'W';
constexpr char kValue = 'V', kNothing = 'N', kDenied = 'D', kBad = 'B';  // replies: a kind, then the value
constexpr char kRefused = 'F';                                           // the value is the reason
constexpr char kClosed = 'C';                                            // may also come without a request
constexpr char kVersion[] = "tandem store 4";                            // the value of a hello and of its reply
constexpr size_t kMaxMessage = 64 + kMaxStoreKey + kMaxStoreValue;
constexpr size_t kMaxHello = 64 + kMaxStoreKey;  // longest message before the token is accepted
struct Request {
  char op = 0;
  uint32_t wait_ms = 0;
  std::string key, value;
};
std::string frame(const std::string& body);
/// Removes one whole message from the front of `bytes` and returns it, if there is one.
/// @throws DistributedError if the message is longer than `most`
std::optional<std::string> take_message(std::string& bytes, size_t most = kMaxMessage);
std::string encode(const Request& request);
std::optional<Request> decode(const std::string& body);
/// Encodes two texts as the value of a request. take_pair() decodes it.
std::string pair_of(const std::string& first, const std::string& second);
std::optional<std::pair<std::string, std::string>> take_pair(const std::string& value);
}  // namespace store_messages

}  // namespace tandem::distributed
