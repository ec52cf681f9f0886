// A small key-value store over TCP. Each job has one. The job's ranks find each other through the store, and publish
// the causes of failures in it. The server also notices when ranks are lost. Internal.
#pragma once
#include <map>
#include <mutex>

#include "tandem/parallel/collectives/process_group.h"
#include "tandem/parallel/collectives/store/socket.h"

namespace tandem::distributed {

constexpr size_t kMaxStoreKeyBytes = 1 << 10, kMaxStoreValueBytes = 1 << 20;

/// Key under which the launcher publishes why the job has failed.
constexpr char kFailureKey[] = "failure";
/// Returns the key under which the first failure of a group is stored.
std::string failure_key(const std::string& group);
/// Returns all keys that may hold a failure of the group: the key of the job, the keys of the groups from which the
/// group was made, outermost first, and the key of the group itself. The name "a/b" means that the group was made from
/// "a".
std::vector<std::string> failure_keys(const std::string& group);

/// Serves the store from one thread, until it is destroyed. A connection must present the job's token first. The server
/// listens on loopback alone unless another address is given.
///
/// The server watches over ranks. A rank is lost if the connection on which it reports (StoreClient::send_heartbeat)
/// ends before the rank has left its group. The server then publishes a failure of the outermost group (the one made by
/// init_process_group, from which this group was made), unless that group has failed already. All ranks that the store
/// knows are ranks of the outermost group.
///
/// A rank whose process ends with status 0 has left all its groups and is not lost (StoreClient::report_normal_exit,
/// mark_ended_normally).
class StoreServer {
 public:
  /// @param grace_period  time between the loss of a rank and the publication of the failure. In this time a launcher
  ///                      may publish the reason (set() of kFailureKey), or report that the rank ended with status 0
  ///                      (mark_ended_normally())
  /// @throws DistributedError naming the port when it is in use
  explicit StoreServer(std::string token, const std::string& address = "127.0.0.1", int port = 0,
                       std::chrono::milliseconds grace_period = {});
  /// Tells the clients that the store shuts down, and ends the thread.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  int port() const;
  /// As StoreClient::set() and StoreClient::find().
  void set(const std::string& key, const std::string& value);
  std::optional<std::string> find(const std::string& key) const;
  /// Records that the rank's process has ended with status 0, so that the rank has left all groups. Same as
  /// StoreClient::report_normal_exit().
  void mark_ended_normally(int rank);
  /// Shuts the server down now and tells the clients so. find() and set() still work on this object.
  void close();
  /// Waits until no client is connected, but at most for `most`.
  void wait_for_clients_to_leave(std::chrono::milliseconds most) const;

 private:
  class EventLoop;
  std::unique_ptr<EventLoop> event_loop_;
};

/// The connection to the store is lost because its host is gone, or the store does not answer because its host hangs.
class StoreConnectionLost : public DistributedError {
 public:
  using DistributedError::DistributedError;
};
/// The store does not answer.
class StoreTimeout : public StoreConnectionLost {
 public:
  using StoreConnectionLost::StoreConnectionLost;
};
/// The store has told this client that it shuts down.
class StoreClosed : public StoreConnectionLost {
 public:
  using StoreConnectionLost::StoreConnectionLost;
};
/// For each rank that has left a group, a text that says how, such as "it ended normally".
using LeftRanks = std::map<int, std::string>;
constexpr char kEndedNormally[] = "it ended normally";

/// The store rejects this client's token, because the store belongs to another job.
class StoreDenied : public DistributedError {
 public:
  using DistributedError::DistributedError;
};

/// One connection to the store. Methods may be called from any thread, but requests run one at a time. Every method
/// throws StoreConnectionLost if the connection is lost.
class StoreClient {
 public:
  /// Time in which the store must answer, in addition to the time for which the request asks it to wait.
  /// kDefaultAnswerTime is the default. kShortAnswerTime is for requests after a failure, which must not take long.
  static constexpr std::chrono::milliseconds kDefaultAnswerTime{20000}, kShortAnswerTime{300};

  /// Connects to the store, and waits for it to come up for at most `timeout`. @throws StoreDenied if the token is
  /// wrong
  /// @param host   name of the store's host, for error messages: "rank 0"
  /// @param start  time when the caller began to wait, for error messages
  StoreClient(const std::string& address, int port, const std::string& token, std::chrono::milliseconds timeout,
              std::string host = "a rank or a launcher", Clock::time_point start = Clock::now());
  void set(const std::string& key, const std::string& value,
           std::chrono::milliseconds answer_timeout = kDefaultAnswerTime);
  /// Sets the key to `value` unless it has a value already. Returns the value of the key after the call.
  std::string set_once(const std::string& key, const std::string& value,
                       std::chrono::milliseconds answer_timeout = kDefaultAnswerTime);
  /// Publishes the failure of a group, unless there is an earlier failure of the job, of the group, or of a group from
  /// which it was made. Returns the first failure.
  std::string publish_failure(const std::string& group, const std::string& why,
                              std::chrono::milliseconds answer_timeout = kDefaultAnswerTime);
  /// Perform the operations of the same names in KeyValues on the store's server.
  int64_t add(const std::string& key, int64_t amount);
  std::string compare_set(const std::string& key, const std::string& expected, const std::string& desired);
  bool erase(const std::string& key);
  int64_t count(const std::string& prefix);
  /// Waits for the key. Returns nullopt if it was not set within the timeout.
  std::optional<std::string> find(const std::string& key, std::chrono::milliseconds timeout,
                                  std::chrono::milliseconds answer_timeout = kDefaultAnswerTime);
  /// Waits for the key. @throws DistributedError naming the key, if it was not set within the timeout
  std::string get(const std::string& key, std::chrono::milliseconds timeout);
  /// Waits for all keys.
  void wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout);

  /// Reports that the rank is alive, and which rank it waits for (-1: none). After its first report a rank is lost if
  /// this connection ends. Waits up to `time` for a failure of the job or the group, and returns it; returns nullopt if
  /// there was none. The store expects the next report at the end of `time`.
  /// @throws StoreClosed if the store shuts down, or if the rank has left
  /// @param left  set to the ranks that have left the group, if there is no failure
  std::optional<std::string> send_heartbeat(const std::string& group, int rank, int waits_for,
                                            std::chrono::milliseconds time, LeftRanks* left = nullptr);
  /// Reports that a group member other than a rank, such as a launcher, is alive. The member is lost if its next report
  /// does not come within `silence`. Throws StoreTimeout if the store does not answer within `silence`.
  /// @param name  name of the member in failures: "the launcher of node 1"
  std::optional<std::string> send_heartbeat_as(const std::string& name, const std::string& group, int member,
                                               std::chrono::milliseconds time, std::chrono::milliseconds silence);
  /// Makes the rank leave the group, so that it does not count as lost when its connection ends. Call this on another
  /// StoreClient than the one that calls send_heartbeat().
  void leave(const std::string& group, int rank, std::chrono::milliseconds answer_timeout = kShortAnswerTime);
  /// Reports that the rank's process ends with status 0: the rank leaves all groups and is not lost.
  void report_normal_exit(int rank, std::chrono::milliseconds answer_timeout = kShortAnswerTime);
  /// Returns the ranks that have left the group, and how.
  LeftRanks get_left_ranks(const std::string& group, std::chrono::milliseconds answer_timeout = kShortAnswerTime);
  /// Result of find_failed_rank(group, rank): the rank that holds up `rank`, which is `rank` itself or a rank for which
  /// it waits, directly or through other waiting ranks. `silence` is "has sent no heartbeat for 1234 ms" if the reports
  /// of that rank are overdue, otherwise "".
  struct FailedRank {
    int rank = 0;
    std::string silence = {};
  };
  FailedRank find_failed_rank(const std::string& group, int rank,
                              std::chrono::milliseconds answer_timeout = kShortAnswerTime);

  /// Makes another connection to the same store.
  std::unique_ptr<StoreClient> reconnect(std::chrono::milliseconds timeout) const;
  /// Returns the address of this machine's end of the connection.
  std::string local_address() const { return distributed::local_address(socket_.get()); }
  /// Ends the request in progress, and all later ones, with an error. May be called from any thread.
  void interrupt();

 private:
  void handshake(const std::string& address, int port, const std::string& token, Deadline deadline,
                 Clock::time_point start);
  /// Sends a request and waits for the reply. Returns the value in the reply. For a reply of the kind kNoValue, returns
  /// nullopt and writes the reply's text to `no_value_text`.
  std::optional<std::string> send_request(char op, const std::string& key, const std::string& value,
                                          std::chrono::milliseconds wait,
                                          std::chrono::milliseconds answer_timeout = kDefaultAnswerTime,
                                          std::string* no_value_text = nullptr);
  const std::string address_;
  const int port_;
  const std::string token_, address_text_, host_;
  Descriptor socket_;
  std::mutex mutex_;            // serializes requests
  std::string receive_buffer_;  // received bytes after the last reply
  // is_store_closed_: the store has shut down; has_timed_out_: it did not answer in time
  bool is_connection_lost_ = false, is_store_closed_ = false, has_timed_out_ = false;
};

/// Format of the messages between server and client: a length of four bytes, then that number of bytes. Numbers are in
/// this machine's byte order, which is the same on every machine that Tandem runs on.
namespace store_messages {
constexpr char kHandshake = 'H', kSet = 'S', kSetOnce = 'O', kGet = 'G';  // kinds of requests
constexpr char kAdd = '+', kCompareSet = '=', kErase = '-', kCount = '#';
constexpr char kReport = 'R', kLeave = 'L',
               kFindFailedRank = 'A';  // requests of ranks; the key is the name of the group
constexpr char kReportNormalExit = 'E', kGetLeftRanks = 'W';
constexpr char kValue = 'V', kNoValue = 'N', kTokenDenied = 'D',
               kInvalidRequest = 'B';   // kinds of replies; the value follows the kind
constexpr char kOperationFailed = 'F';  // reply whose value is the reason of a refusal
// message that the store has shut down; may also be sent without a request
constexpr char kStoreClosed = 'C';
constexpr char kProtocolVersion[] = "tandem store 4";  // value of the first request and of the reply to it
constexpr size_t kMaxMessageBytes = 64 + kMaxStoreKeyBytes + kMaxStoreValueBytes;
constexpr size_t kMaxHandshakeBytes = 64 + kMaxStoreKeyBytes;  // longest message that is accepted before the token
struct Request {
  char op = 0;
  uint32_t wait_ms = 0;
  std::string key, value;
};
std::string frame_message(const std::string& body);
/// Removes the first message from `bytes` and returns it; nullopt if it has not arrived completely.
/// @throws DistributedError if the message is longer than `most`
std::optional<std::string> take_message(std::string& bytes, size_t most = kMaxMessageBytes);
std::string encode_request(const Request& request);
std::optional<Request> decode_request(const std::string& body);
/// Encodes two texts as the value of one request. decode_pair() is the inverse.
std::string encode_pair(const std::string& first, const std::string& second);
std::optional<std::pair<std::string, std::string>> decode_pair(const std::string& value);
}  // namespace store_messages

}  // namespace tandem::distributed
