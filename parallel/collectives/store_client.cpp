#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tandem/parallel/collectives/store.h"

namespace tandem::distributed {
namespace store_messages {

std::string frame(const std::string& body) {
  const auto length = static_cast<uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + body;
}
std::optional<std::string> take_message(std::string& bytes) {
  uint32_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  TANDEM_CHECK_AS(DistributedError, length <= kMaxMessage, "store: a message of ", length, " bytes; accepted: at most ",
                  kMaxMessage);
  if (bytes.size() < sizeof length + length) return {};
  std::string body = bytes.substr(sizeof length, length);
  bytes.erase(0, sizeof length + length);
  return body;
}
std::string encode(const Request& r) {
  const auto key_length = static_cast<uint32_t>(r.key.size());
  std::string body(1, r.op);
  body.append(reinterpret_cast<const char*>(&r.wait_ms), sizeof r.wait_ms);
  body.append(reinterpret_cast<const char*>(&key_length), sizeof key_length);
  return body + r.key + r.value;
}
std::optional<Request> decode(const std::string& body) {
  Request r;
  uint32_t key_length = 0;
  constexpr size_t kStart = 1 + sizeof r.wait_ms + sizeof key_length;
  if (body.size() < kStart) return {};
  r.op = body[0];
  std::memcpy(&r.wait_ms, body.data() + 1, sizeof r.wait_ms);
  std::memcpy(&key_length, body.data() + 1 + sizeof r.wait_ms, sizeof key_length);
  if (key_length > kMaxStoreKey || key_length > body.size() - kStart) return {};
  r.key = body.substr(kStart, key_length);
  r.value = body.substr(kStart + key_length);
  if (r.value.size() > kMaxStoreValue) return {};
  return r;
}

}  // namespace store_messages

using namespace store_messages;

namespace {
constexpr auto kAnswerTime = std::chrono::seconds(20);  // beyond what a request asks the store to wait

/// Whether all was sent before the deadline.
bool send_all(int fd, const std::string& bytes, Deadline deadline) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::send(fd, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (n >= 0)
      at += static_cast<size_t>(n);
    else if (errno != EINTR && (errno != EAGAIN || !wait_for(fd, POLLOUT, deadline)))
      return false;
  }
  return true;
}
std::optional<std::string> receive_message(int fd, Deadline deadline) {
  std::string bytes;
  char chunk[4096];
  for (;;) {
    if (auto body = take_message(bytes)) return body;
    const ssize_t n = ::recv(fd, chunk, sizeof chunk, 0);
    if (n > 0)
      bytes.append(chunk, static_cast<size_t>(n));
    else if (n == 0 || (errno != EINTR && (errno != EAGAIN || !wait_for(fd, POLLIN, deadline))))
      return {};
  }
}
}  // namespace

StoreClient::StoreClient(const std::string& address, int port, const std::string& token,
                         std::chrono::milliseconds timeout)
    : place_(address + ":" + std::to_string(port)), socket_(connect_to(address, port, after(timeout))) {
  const auto deadline = after(std::min<std::chrono::milliseconds>(timeout, kAnswerTime));
  std::optional<std::string> reply;
  if (send_all(socket_.get(), frame(encode({kHello, 0, token, kVersion})), deadline))
    reply = receive_message(socket_.get(), deadline);
  TANDEM_CHECK_AS(StoreLost, reply.has_value(), "store: ", place_,
                  " takes the connection, but does not answer; another program may use the port");
  TANDEM_CHECK_AS(DistributedError, reply->empty() || (*reply)[0] != kDenied, "store: ", place_,
                  " refuses this job token; TANDEM_JOB_TOKEN must be that of the job whose store it is");
  TANDEM_CHECK_AS(DistributedError, *reply == kValue + std::string(kVersion), "store: what answers at ", place_,
                  " is no store of this version of Tandem; another program may use the port");
}

std::optional<std::string> StoreClient::request(char op, const std::string& key, const std::string& value,
                                                std::chrono::milliseconds wait) {
  TANDEM_CHECK(key.size() <= kMaxStoreKey && value.size() <= kMaxStoreValue, "store: a key of ", key.size(),
               " and a value of ", value.size(), " bytes; accepted: at most ", kMaxStoreKey, " and ", kMaxStoreValue);
  const auto wait_ms = std::clamp<int64_t>(wait.count(), 0, std::chrono::milliseconds(std::chrono::hours(24)).count());
  const std::lock_guard lock(mutex_);
  const Deadline deadline = after(std::chrono::milliseconds(wait_ms) + kAnswerTime);
  std::optional<std::string> reply;
  if (!broken_ && send_all(socket_.get(), frame(encode({op, static_cast<uint32_t>(wait_ms), key, value})), deadline))
    reply = receive_message(socket_.get(), deadline);
  broken_ = !reply || reply->empty();  // what comes later would answer an earlier request
  TANDEM_CHECK_AS(StoreLost, !broken_, "store: the connection to ", place_,
                  " is lost; the rank or launcher that hosts the store may have ended");
  TANDEM_CHECK_AS(DistributedError, (*reply)[0] != kBad, "store: ", place_, " refuses the request");
  if ((*reply)[0] == kNothing) return {};
  return reply->substr(1);
}

void StoreClient::set(const std::string& key, const std::string& value) { request(kSet, key, value, {}); }
std::string StoreClient::set_once(const std::string& key, const std::string& value) {
  return request(kSetOnce, key, value, {}).value_or(value);
}
std::optional<std::string> StoreClient::find(const std::string& key, std::chrono::milliseconds timeout) {
  return request(kGet, key, "", timeout);
}
std::string StoreClient::get(const std::string& key, std::chrono::milliseconds timeout) {
  std::optional<std::string> value = find(key, timeout);
  TANDEM_CHECK_AS(DistributedError, value.has_value(), "store: the key '", key, "' was not set at ", place_, " within ",
                  timeout.count(), " ms");
  return *std::move(value);
}
void StoreClient::wait(const std::vector<std::string>& keys, std::chrono::milliseconds timeout) {
  const Deadline deadline = after(timeout);
  for (const std::string& key : keys)
    TANDEM_CHECK_AS(DistributedError, find(key, left_until(deadline)).has_value(), "store: the key '", key,
                    "' was not set at ", place_, " within ", timeout.count(), " ms");
}
void StoreClient::interrupt() { ::shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace tandem::distributed
