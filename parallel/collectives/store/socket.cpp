// Implements the store's sockets: looks up addresses, listens, connects, and waits with deadlines.
#include "tandem/parallel/collectives/store/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::distributed {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;
std::string address_text(const std::string& address, int port) { return address + ":" + std::to_string(port); }

AddressList resolve_address(const std::string& address, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  int status = ::getaddrinfo(address.c_str(), service.c_str(), &hints, &found);
  if (status != 0 && address == "localhost")  // localhost is this machine (RFC 6761), even if /etc/hosts lacks it
    status = ::getaddrinfo("127.0.0.1", service.c_str(), &hints, &found);
  TANDEM_CHECK_AS(DistributedError, status == 0, "store: the address ", address_text(address, port),
                  " cannot be resolved: ", ::gai_strerror(status), "; check the host's name, as in MASTER_ADDR");
  return {found, &::freeaddrinfo};
}
Descriptor make_socket(const addrinfo& a) {
  return Descriptor(::socket(a.ai_family, a.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a.ai_protocol));
}
/// Returns whether a socket is connected to itself. Linux does this if a client retries a port on which nobody listens
/// and gets the same port as its own.
bool is_connected_to_itself(int fd) {
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  return ::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) == 0 && own_length == peer_length &&
         std::memcmp(&own, &peer, own_length) == 0;
}
/// Connects a socket before the deadline. Returns 0, or an errno.
int try_connect(int fd, const addrinfo& a, Deadline deadline) {
  if (::connect(fd, a.ai_addr, a.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_until_ready(fd, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

}  // namespace

std::chrono::milliseconds time_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), std::chrono::hours(24));
}
Deadline deadline_after(std::chrono::milliseconds time) {
  return Clock::now() + std::min<std::chrono::milliseconds>(time, std::chrono::hours(24 * 365));
}

void Descriptor::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

bool wait_until_ready(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd one{fd, events, 0};
    const int n = ::poll(&one, 1, static_cast<int>(time_until(deadline).count()));
    if (n > 0) return true;
    if (n == 0 && Clock::now() >= deadline) return false;
    if (n < 0 && errno != EINTR) return false;
  }
}

Descriptor listen_on(const std::string& address, int port) {
  const AddressList list = resolve_address(address, port, AI_PASSIVE);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* a = list.get(); a; a = a->ai_next) {
    Descriptor fd = make_socket(*a);
    const int on = 1;
    if (fd && ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        ::bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0 && ::listen(fd.get(), 128) == 0)
      return fd;
    error = errno;
    // Do not try the host's next address: ranks would try this address first and reach the program that already listens
    // there.
    if (error == EADDRINUSE) break;
  }
  TANDEM_CHECK_AS(DistributedError, error != EADDRINUSE,
                  "store: The server socket has failed to listen on any local network address: port ", port, " of ",
                  address, " is in use; set MASTER_PORT to another port");
  TANDEM_CHECK_AS(DistributedError, false,
                  "store: The server socket has failed to listen on any local network address: ",
                  address_text(address, port), ": ", std::strerror(error));
  return {};
}

Descriptor connect_to(const std::string& address, int port, Deadline deadline, const std::string& host,
                      Clock::time_point start) {
  const AddressList list = resolve_address(address, port, 0);
  for (;;) {
    int error = EADDRNOTAVAIL;
    for (const addrinfo* a = list.get(); a; a = a->ai_next) {
      Descriptor fd = make_socket(*a);
      error = fd ? try_connect(fd.get(), *a, deadline) : errno;
      if (error == 0 && is_connected_to_itself(fd.get())) error = ECONNREFUSED;
      if (error == 0) {
        set_connection_options(fd.get());
        return fd;
      }
    }
    // a short pause, because the server may be about to start
    const auto pause = std::min(time_until(deadline), std::chrono::milliseconds(20));
    const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - start).count();
    TANDEM_CHECK_AS(DistributedError, pause.count() > 0, "store: The client socket has timed out after ", waited,
                    "ms while trying to connect to (", address, ", ", port, "): ", host, " does not answer (",
                    std::strerror(error), "); are MASTER_ADDR and MASTER_PORT those of rank 0?");
    std::this_thread::sleep_for(pause);
  }
}

void set_connection_options(int fd) {
  const auto set = [fd](int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(kLinkTimeout.count() / 2));
  set(IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(kLinkTimeout.count() / 4));
  set(IPPROTO_TCP, TCP_KEEPCNT, 2);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(kLinkTimeout.count() * 1000));
}
int socket_port(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}
std::string local_address(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[NI_MAXHOST];
  TANDEM_CHECK_AS(DistributedError,
                  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) == 0 &&
                      ::getnameinfo(reinterpret_cast<sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
                                    NI_NUMERICHOST) == 0,
                  "store: the local address of a connection cannot be read: ", std::strerror(errno));
  return text;
}

}  // namespace tandem::distributed
