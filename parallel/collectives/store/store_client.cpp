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
constexpr milliseconds kAnswerTime(5000);

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
LeftRanks left_ranks_in(const std::string& text) {
  LeftRanks left;
  std::istringstream lines(text);
  int rank = 0;
  for (std::string how; lines >> rank >> std::ws && std::getline(lines, how);) left[rank] = how;
  return left;
}
enum class Received { all, late, ended };
/// Receives the next message into `body`. `bytes` may hold its beginning, and gets the bytes that follow the message.
Received receive_message(int fd, std::string& bytes, Deadline deadline, std::string& body) {
  char chunk[4096];
  for (;;) {
    if (auto message = take_message(bytes)) {
      body = *std::move(message);
      return Received::all;
    }
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n > 0)
      bytes.append(chunk, static_cast<size_t>(n));
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
      return Received::ended;
    else if (errno == EAGAIN && !wait_until_ready(fd, POLLIN, deadline))
      return Received::late;
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
      place_(address + ":" + std::to_string(port)),
      host_(std::move(host)) {
  const Deadline deadline = after(timeout), patience = after(std::min(timeout, kAnswerTime));
  for (;;) try {
      say_hello(address, port, token, deadline, start);
      return;
    } catch (const StoreClosed&) {
      // The store may be shutting down, and another one may soon use the same address: try again.
      if (Clock::now() >= patience) throw;
      std::this_thread::sleep_for(milliseconds(20));
    }
}
std::unique_ptr<StoreClient> StoreClient::again(milliseconds timeout) const {
  return std::make_unique<StoreClient>(address_, port_, token_, timeout, host_);
}
void StoreClient::say_hello(const std::string& address, int port, const std::string& token, Deadline deadline,
                            Clock::time_point start) {
  socket_ = connect_to(address, port, deadline, host_, start);
  bytes_.clear();
  const Deadline answer = std::min(deadline, after(kUsual));
  std::string reply;
  auto received = Received::ended;
  if (send_all(socket_.get(), frame(encode({kHello, 0, token, kVersion})), answer))
    received = receive_message(socket_.get(), bytes_, answer, reply);
  TANDEM_CHECK_AS(StoreSilent, received != Received::late, "store: ", place_, ", where ", host_,
                  " hosts the store, accepts the connection, but does not answer; ", host_,
                  " may be stopped, or another program may use the port");
  TANDEM_CHECK_AS(StoreClosed, received == Received::all && (reply.empty() || reply[0] != kClosed), "store: ", place_,
                  ", where ", host_, " hosts the store, closes the connection; another program may use the port");
  TANDEM_CHECK_AS(StoreDenied, reply.empty() || reply[0] != kDenied, "store: ", place_,
                  " refuses this job token: the store of another job is there; each job on a machine needs its own "
                  "MASTER_PORT, and all processes of a job need the same TANDEM_JOB_TOKEN");
  TANDEM_CHECK_AS(
      DistributedError, reply == kValue + std::string(kVersion), "store: the server at ", place_, ", where ", host_,
      " should host the store, is not a store of this version of Tandem; another program ", "may use the port");
}

std::optional<std::string> StoreClient::request(char op, const std::string& key, const std::string& value,
                                                milliseconds wait, milliseconds answer, std::string* nothing) {
  TANDEM_CHECK(key.size() <= kMaxStoreKey && value.size() <= kMaxStoreValue, "store: a key of ", key.size(),
               " and a value of ", value.size(), " bytes; accepted: at most ", kMaxStoreKey, " and ", kMaxStoreValue);
  const auto wait_ms = std::clamp<int64_t>(wait.count(), 0, milliseconds(std::chrono::hours(24)).count());
  const std::lock_guard lock(mutex_);
  const Deadline deadline = after(milliseconds(wait_ms) + answer);
  std::string reply;
  auto received = Received::ended;
  if (!broken_) {
    send_all(socket_.get(), frame(encode({op, static_cast<uint32_t>(wait_ms), key, value})), deadline);
    // receive even if sending has failed, because a closed store has sent a last reply
    received = receive_message(socket_.get(), bytes_, deadline, reply);
  }
  broken_ = received != Received::all || reply.empty() || reply[0] == kClosed;
  hangs_ = hangs_ || received == Received::late;
  closed_ = closed_ || (!reply.empty() && reply[0] == kClosed);
  TANDEM_CHECK_AS(StoreSilent, !hangs_, host_, " does not answer: it hosts the store at ", place_);
  TANDEM_CHECK_AS(StoreClosed, !closed_, "store: ", host_, " has closed it at ", place_);
  TANDEM_CHECK_AS(StoreLost, !broken_, host_, " is gone: it hosted the store at ", place_,
                  ", to which the connection is lost");
  TANDEM_CHECK_AS(DistributedError, reply[0] != kBad, "store: ", place_, " refuses the request");
  TANDEM_CHECK_AS(DistributedError, reply[0] != kRefused, reply.substr(1));
  if (reply[0] == kNothing && nothing) *nothing = reply.substr(1);
  if (reply[0] == kNothing) return {};
  return reply.substr(1);
}

void StoreClient::set(const std::string& key, const std::string& value, milliseconds answer) {
  request(kSet, key, value, {}, answer);
}
std::string StoreClient::set_once(const std::string& key, const std::string& value, milliseconds answer) {
  return request(kSetOnce, key, value, {}, answer).value_or(value);
}
std::string StoreClient::publish_failure(const std::string& group, const std::string& why, milliseconds answer) {
  for (const std::string& key : failure_keys(group))
    if (const auto earlier = find(key, milliseconds(0), answer)) return *earlier;
  return set_once(failure_key(group), why, answer);
}
int64_t StoreClient::add(const std::string& key, int64_t amount) {
  return std::stoll(request(kAdd, key, std::to_string(amount), {}).value_or("0"));
}
std::string StoreClient::compare_set(const std::string& key, const std::string& expected, const std::string& desired) {
  return request(kCompareSet, key, pair_of(expected, desired), {}).value_or(expected);
}
bool StoreClient::erase(const std::string& key) { return request(kErase, key, "", {}).has_value(); }
int64_t StoreClient::count(const std::string& prefix) {
  return std::stoll(request(kCount, prefix, "", {}).value_or("0"));
}
std::optional<std::string> StoreClient::find(const std::string& key, milliseconds timeout, milliseconds answer) {
  return request(kGet, key, "", timeout, answer);
}
std::string StoreClient::get(const std::string& key, milliseconds timeout) {
  std::optional<std::string> value = find(key, timeout);
  TANDEM_CHECK_AS(DistributedError, value.has_value(), "store: wait timeout after ", timeout.count(), "ms, keys: ", key,
                  " (not set at ", place_, ")");
  return *std::move(value);
}
void StoreClient::wait(const std::vector<std::string>& keys, milliseconds timeout) {
  const Deadline deadline = after(timeout);
  for (const std::string& key : keys)
    TANDEM_CHECK_AS(DistributedError, find(key, left_until(deadline)).has_value(), "store: wait timeout after ",
                    timeout.count(), "ms, keys: ", key, " (not set at ", place_, ")");
}

std::optional<std::string> StoreClient::report(const std::string& group, int rank, int waits_for, milliseconds time,
                                               LeftRanks* left) {
  // No timeout: if the store's host hangs, ranks that wait for that host will find out. Until a rank waits for it, this
  // is not a failure.
  constexpr auto kAnyTime = std::chrono::hours(24 * 365);
  std::string nothing;
  auto failure =
      request(kReport, group, std::to_string(rank) + " " + std::to_string(waits_for) + " 0", time, kAnyTime, &nothing);
  if (left) *left = left_ranks_in(nothing);
  return failure;
}
std::optional<std::string> StoreClient::report_as(const std::string& name, const std::string& group, int member,
                                                  milliseconds time, milliseconds silence) {
  return request(kReport, group, std::to_string(member) + " -1 " + std::to_string(silence.count()) + " " + name, time,
                 silence);
}
void StoreClient::leave(const std::string& group, int rank, milliseconds answer) {
  request(kLeave, group, std::to_string(rank), {}, answer);
}
void StoreClient::end(int rank, milliseconds answer) { request(kEnd, "", std::to_string(rank), {}, answer); }
LeftRanks StoreClient::left(const std::string& group, milliseconds answer) {
  return left_ranks_in(request(kLeft, group, "", {}, answer).value_or(""));
}
StoreClient::Blame StoreClient::blame(const std::string& group, int rank, milliseconds answer) {
  std::istringstream text(request(kBlame, group, std::to_string(rank), {}, answer).value_or(""));
  Blame blame{.rank = rank};
  text >> blame.rank >> std::ws;
  std::getline(text, blame.silence);
  return blame;
}
void StoreClient::interrupt() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace tandem::distributed
