// Implements StoreClient: sends requests to the store's server, and waits for the replies with deadlines.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

using namespace store_messages;
using std::chrono::milliseconds;

namespace {
// time in which connecting is retried if the store closes the connection without an answer
constexpr milliseconds kConnectRetryTime(5000);

/// Sends all bytes. Returns false if the deadline passes or the connection fails.
bool send_all(int fd, const std::string& bytes, Deadline deadline) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else if (errno != EINTR && (errno != EAGAIN || !wait_until_ready(fd, POLLOUT, deadline)))
      return false;
  }
  return true;
}
/// Parses the store's list of the ranks that have left and how: "1 it ended normally\n2 ...".
LeftRanks parse_left_ranks(const std::string& text) {
  LeftRanks left;
  std::istringstream lines(text);
  int rank = 0;
  for (std::string how; lines >> rank >> std::ws && std::getline(lines, how);) left[rank] = how;
  return left;
}
enum class ReceiveStatus { all, late, ended };
/// Receives the next message into `body`. `bytes` may hold its beginning, and gets the bytes that follow the message.
ReceiveStatus receive_message(int fd, std::string& bytes, Deadline deadline, std::string& body) {
  char chunk[4096];
  for (;;) {
    if (auto message = take_message(bytes)) {
      body = *std::move(message);
      return ReceiveStatus::all;
    }
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n > 0)
      bytes.append(chunk, static_cast<size_t>(n));
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
      return ReceiveStatus::ended;
    else if (errno == EAGAIN && !wait_until_ready(fd, POLLIN, deadline))
      return ReceiveStatus::late;
  }
}
}  // namespace

std::string failure_key(const std::string& group) { return group + "/failure"; }
std::vector<std::string> failure_keys(const std::string& group) {
  std::vector<std::string> keys = {kFailureKey};
  for (size_t end = group.find('/'); end != std::string::npos; end = group.find('/', end + 1))
    keys.push_back(failure_key(group.substr(0, end)));
  keys.push_back(failure_key(group));
  return keys;
}

StoreClient::StoreClient(const std::string& address, int port, const std::string& token, milliseconds timeout,
                         std::string host, Clock::time_point start)
    : address_(address),
      port_(port),
      token_(token),
      address_text_(address + ":" + std::to_string(port)),
      host_(std::move(host)) {
  const Deadline deadline = deadline_after(timeout),
                 grace_period = deadline_after(std::min(timeout, kConnectRetryTime));
  for (;;) try {
      handshake(address, port, token, deadline, start);
      return;
    } catch (const StoreClosed&) {
      // The store may be shutting down, and another one may soon use the same address: try again.
      if (Clock::now() >= grace_period) throw;
      std::this_thread::sleep_for(milliseconds(20));
    }
}
std::unique_ptr<StoreClient> StoreClient::reconnect(milliseconds timeout) const {
  return std::make_unique<StoreClient>(address_, port_, token_, timeout, host_);
}
void StoreClient::handshake(const std::string& address, int port, const std::string& token, Deadline deadline,
                            Clock::time_point start) {
  socket_ = connect_to(address, port, deadline, host_, start);
  receive_buffer_.clear();
  const Deadline answer_timeout = std::min(deadline, deadline_after(kDefaultAnswerTime));
  std::string reply;
  auto received = ReceiveStatus::ended;
  if (send_all(socket_.get(), frame_message(encode_request({kHandshake, 0, token, kProtocolVersion})), answer_timeout))
    received = receive_message(socket_.get(), receive_buffer_, answer_timeout, reply);
  const auto waited = std::chrono::duration_cast<milliseconds>(Clock::now() - start).count();
  TANDEM_CHECK_AS(StoreTimeout, received != ReceiveStatus::late, "store: ", address_text_, ", where ", host_,
                  " hosts the store, accepts the connection, but does not answer within ", waited, " ms; ", host_,
                  " may be stopped, or another program may use the port");
  TANDEM_CHECK_AS(StoreClosed, received == ReceiveStatus::all && (reply.empty() || reply[0] != kStoreClosed),
                  "store: ", address_text_, ", where ", host_,
                  " hosts the store, closes the connection; another program may use the port");
  TANDEM_CHECK_AS(StoreDenied, reply.empty() || reply[0] != kTokenDenied, "store: ", address_text_,
                  " refuses this job token: the store of another job is there; each job on a machine needs its own "
                  "MASTER_PORT, and all processes of a job need the same TANDEM_JOB_TOKEN");
  TANDEM_CHECK_AS(DistributedError, reply == kValue + std::string(kProtocolVersion), "store: the server at ",
                  address_text_, ", where ", host_,
                  " should host the store, is not a store of this version of Tandem; another program ",
                  "may use the port");
}

std::optional<std::string> StoreClient::send_request(char op, const std::string& key, const std::string& value,
                                                     milliseconds wait, milliseconds answer_timeout,
                                                     std::string* no_value_text) {
  TANDEM_CHECK(key.size() <= kMaxStoreKeyBytes && value.size() <= kMaxStoreValueBytes, "store: a key of ", key.size(),
               " and a value of ", value.size(), " bytes; accepted: at most ", kMaxStoreKeyBytes, " for a key and ",
               kMaxStoreValueBytes, " for a value");
  const auto wait_ms = std::clamp<int64_t>(wait.count(), 0, milliseconds(std::chrono::hours(24)).count());
  const std::lock_guard lock(mutex_);
  const Deadline deadline = deadline_after(milliseconds(wait_ms) + answer_timeout);
  std::string reply;
  auto received = ReceiveStatus::ended;
  if (!is_connection_lost_) {
    send_all(socket_.get(), frame_message(encode_request({op, static_cast<uint32_t>(wait_ms), key, value})), deadline);
    // receive even if sending has failed, because a closed store has sent a last reply
    received = receive_message(socket_.get(), receive_buffer_, deadline, reply);
  }
  is_connection_lost_ = received != ReceiveStatus::all || reply.empty() || reply[0] == kStoreClosed;
  has_timed_out_ = has_timed_out_ || received == ReceiveStatus::late;
  is_store_closed_ = is_store_closed_ || (!reply.empty() && reply[0] == kStoreClosed);
  TANDEM_CHECK_AS(StoreTimeout, !has_timed_out_, host_, " does not answer: it hosts the store at ", address_text_,
                  "; it may be stopped, or the network may be cut");
  TANDEM_CHECK_AS(StoreClosed, !is_store_closed_, "store: ", host_, " has closed the store at ", address_text_,
                  ", as it does when the job ends");
  TANDEM_CHECK_AS(StoreConnectionLost, !is_connection_lost_, host_, " is gone: it hosted the store at ", address_text_,
                  ", to which the connection is lost");
  TANDEM_CHECK_AS(DistributedError, reply[0] != kInvalidRequest, "store: ", address_text_,
                  " cannot read the request; is it the store of another version of Tandem?");
  TANDEM_CHECK_AS(DistributedError, reply[0] != kOperationFailed, reply.substr(1));
  if (reply[0] == kNoValue && no_value_text) *no_value_text = reply.substr(1);
  if (reply[0] == kNoValue) return {};
  return reply.substr(1);
}

void StoreClient::set(const std::string& key, const std::string& value, milliseconds answer_timeout) {
  send_request(kSet, key, value, {}, answer_timeout);
}
std::string StoreClient::set_once(const std::string& key, const std::string& value, milliseconds answer_timeout) {
  return send_request(kSetOnce, key, value, {}, answer_timeout).value_or(value);
}
std::string StoreClient::publish_failure(const std::string& group, const std::string& why,
                                         milliseconds answer_timeout) {
  for (const std::string& key : failure_keys(group))
    if (const auto earlier = find(key, milliseconds(0), answer_timeout)) return *earlier;
  return set_once(failure_key(group), why, answer_timeout);
}
int64_t StoreClient::add(const std::string& key, int64_t amount) {
  return std::stoll(send_request(kAdd, key, std::to_string(amount), {}).value_or("0"));
}
std::string StoreClient::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return send_request(kCompareSet, key, encode_pair(expected, desired), {}).value_or(expected);
}
bool StoreClient::erase(const std::string& key) { return send_request(kErase, key, "", {}).has_value(); }
int64_t StoreClient::count(const std::string& prefix) {
  return std::stoll(send_request(kCount, prefix, "", {}).value_or("0"));
}
std::optional<std::string> StoreClient::find(const std::string& key, milliseconds timeout,
                                             milliseconds answer_timeout) {
  return send_request(kGet, key, "", timeout, answer_timeout);
}
std::string StoreClient::get(const std::string& key, milliseconds timeout) {
  std::optional<std::string> value = find(key, timeout);
  TANDEM_CHECK_AS(DistributedError, value.has_value(), "store: wait timeout after ", timeout.count(), "ms, keys: ", key,
                  "; no process has set this key at ", address_text_, " in that time");
  return *std::move(value);
}
void StoreClient::wait(const std::vector<std::string>& keys, milliseconds timeout) {
  const Deadline deadline = deadline_after(timeout);
  for (const std::string& key : keys)
    TANDEM_CHECK_AS(DistributedError, find(key, time_until(deadline)).has_value(), "store: wait timeout after ",
                    timeout.count(), "ms, keys: ", key, "; no process has set this key at ", address_text_,
                    " in that time");
}

std::optional<std::string> StoreClient::send_heartbeat(const std::string& group, int rank, int waits_for,
                                                       milliseconds time, LeftRanks* left) {
  // No timeout: if the store's host hangs, ranks that wait for that host will find out. Until a rank waits for it, this
  // is not a failure.
  constexpr auto kAnyTime = std::chrono::hours(24 * 365);
  std::string no_value_text;
  auto failure = send_request(kReport, group, std::to_string(rank) + " " + std::to_string(waits_for) + " 0", time,
                              kAnyTime, &no_value_text);
  if (left) *left = parse_left_ranks(no_value_text);
  return failure;
}
std::optional<std::string> StoreClient::send_heartbeat_as(const std::string& name, const std::string& group, int member,
                                                          milliseconds time, milliseconds silence) {
  return send_request(kReport, group, std::to_string(member) + " -1 " + std::to_string(silence.count()) + " " + name,
                      time, silence);
}
void StoreClient::leave(const std::string& group, int rank, milliseconds answer_timeout) {
  send_request(kLeave, group, std::to_string(rank), {}, answer_timeout);
}
void StoreClient::report_normal_exit(int rank, milliseconds answer_timeout) {
  send_request(kReportNormalExit, "", std::to_string(rank), {}, answer_timeout);
}
LeftRanks StoreClient::get_left_ranks(const std::string& group, milliseconds answer_timeout) {
  return parse_left_ranks(send_request(kGetLeftRanks, group, "", {}, answer_timeout).value_or(""));
}
StoreClient::FailedRank StoreClient::find_failed_rank(const std::string& group, int rank, milliseconds answer_timeout) {
  std::istringstream text(send_request(kFindFailedRank, group, std::to_string(rank), {}, answer_timeout).value_or(""));
  FailedRank blame{.rank = rank};
  text >> blame.rank >> std::ws;
  std::getline(text, blame.silence);
  return blame;
}
void StoreClient::interrupt() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace tandem::distributed
