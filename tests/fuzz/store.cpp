// Fuzz target for the store's protocol. Sends the bytes to a server: if the first byte is even, after a valid hello,
// otherwise as an unknown client. The server must still serve other clients afterwards.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "tandem/parallel/collectives/store/store.h"

using namespace tandem::distributed;
namespace messages = tandem::distributed::store_messages;

namespace {

const std::string kToken = "token";

/// Sends the bytes, closes the sending side, and reads the server's answers until it closes the connection.
void talk(int port, const std::string& bytes) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{5, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) std::abort();
  ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  char answer[4096];
  ssize_t n = 0;
  while ((n = ::recv(fd, answer, sizeof answer, 0)) > 0) {}
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) std::abort();  // the server hangs
  ::close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::optional<StoreServer> server;
  static int count = 0;
  if (count++ % 1000 == 0) server.emplace(kToken);  // a new server frees the memory of old keys
  std::string bytes(reinterpret_cast<const char*>(data), size);
  try {
    std::string rest = bytes;
    while (const auto message = messages::take_message(rest)) messages::decode_request(*message);
  } catch (const tandem::Error&) {}
  if (size > 0 && data[0] % 2 == 0)
    bytes = messages::frame_message(
                messages::encode_request({messages::kHandshake, 0, kToken, messages::kProtocolVersion})) +
            bytes.substr(1);
  talk(server->port(), bytes);
  if (count % 50 == 0) StoreClient("127.0.0.1", server->port(), kToken, std::chrono::seconds(5)).set("alive", "yes");
  return 0;
}
