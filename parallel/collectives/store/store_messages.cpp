// Encodes and decodes the messages between the store's server and its clients.
#include <cstring>

#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed::store_messages {

std::string frame_message(const std::string& body) {
  const auto length = static_cast<uint32_t>(body.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + body;
}
std::optional<std::string> take_message(std::string& bytes, size_t max_bytes) {
  uint32_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  TANDEM_CHECK_AS(DistributedError, length <= max_bytes, "store: a message of ", length, " bytes; accepted: at most ",
                  max_bytes, " (another program may use the port)");
  if (bytes.size() < sizeof length + length) return {};
  std::string body = bytes.substr(sizeof length, length);
  bytes.erase(0, sizeof length + length);
  return body;
}
std::string encode_request(const Request& r) {
  const auto key_length = static_cast<uint32_t>(r.key.size());
  std::string body(1, r.op);
  body.append(reinterpret_cast<const char*>(&r.wait_ms), sizeof r.wait_ms);
  body.append(reinterpret_cast<const char*>(&key_length), sizeof key_length);
  return body + r.key + r.value;
}
std::optional<Request> decode_request(const std::string& body) {
  Request r;
  uint32_t key_length = 0;
  constexpr size_t kStart = 1 + sizeof r.wait_ms + sizeof key_length;
  if (body.size() < kStart) return {};
  r.op = body[0];
  std::memcpy(&r.wait_ms, body.data() + 1, sizeof r.wait_ms);
  std::memcpy(&key_length, body.data() + 1 + sizeof r.wait_ms, sizeof key_length);
  if (key_length > kMaxStoreKeyBytes || key_length > body.size() - kStart) return {};
  r.key = body.substr(kStart, key_length);
  r.value = body.substr(kStart + key_length);
  if (r.value.size() > kMaxStoreValueBytes) return {};
  return r;
}

std::string encode_pair(const std::string& first, const std::string& second) { return frame_message(first) + second; }
std::optional<std::pair<std::string, std::string>> decode_pair(const std::string& value) {
  std::string rest = value;
  auto first = take_message(rest);
  if (!first) return {};
  return std::pair(*std::move(first), std::move(rest));
}

}  // namespace tandem::distributed::store_messages
