// Redirects a rank's TCP connections to this machine through the relay of relay.h. Loaded into the rank by LD_PRELOAD,
// it replaces connect(): it tells the relay the socket's own port and the intended port, and connects to the relay.
// Connections to the port TANDEM_TEST_RELAY_EXCEPT are not redirected.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" int connect(int fd, const sockaddr* address, socklen_t length) {
  using Connect = int (*)(int, const sockaddr*, socklen_t);
  static const auto kReal = reinterpret_cast<Connect>(::dlsym(RTLD_NEXT, "connect"));
  const char* const port = std::getenv("TANDEM_TEST_RELAY_PORT");
  const char* const path = std::getenv("TANDEM_TEST_RELAY_PATH");
  const char* const except = std::getenv("TANDEM_TEST_RELAY_EXCEPT");
  if (!port || !path || address->sa_family != AF_INET) return kReal(fd, address, length);
  sockaddr_in meant, own;
  std::memcpy(&meant, address, sizeof meant);
  if (except && std::atoi(except) == ntohs(meant.sin_port)) return kReal(fd, address, length);
  std::memset(&own, 0, sizeof own);
  own.sin_family = AF_INET;
  own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  (void)::bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own);  // fails harmlessly if the socket is already bound
  socklen_t own_length = sizeof own;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0) return kReal(fd, address, length);

  sockaddr_un relay{};
  relay.sun_family = AF_UNIX;
  std::strncpy(relay.sun_path, path, sizeof relay.sun_path - 1);
  char text[32];
  const int size = std::snprintf(text, sizeof text, "%d %d", ntohs(own.sin_port), ntohs(meant.sin_port));
  const int word = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  (void)::sendto(word, text, static_cast<size_t>(size), 0, reinterpret_cast<sockaddr*>(&relay), sizeof relay);
  ::close(word);
  meant.sin_port = htons(static_cast<uint16_t>(std::atoi(port)));
  return kReal(fd, reinterpret_cast<sockaddr*>(&meant), sizeof meant);
}
