// Sockets of the store: file descriptors with an owner, listening and connecting by name, and waits with deadlines.
// Internal.
#pragma once
#include <chrono>
#include <string>
#include <utility>

namespace tandem::distributed {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
/// time_until() returns the time until a deadline: at least 0 and at most a day, so that sums do not overflow.
/// deadline_after() returns the deadline that is `time` from now.
std::chrono::milliseconds time_until(Deadline deadline);
Deadline deadline_after(std::chrono::milliseconds time);

/// Owns a file descriptor and closes it in the destructor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    other.close();
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// Listens on the first available address of a host name. Port 0 means any free port. The socket is non-blocking.
/// @throws DistributedError naming address and port
Descriptor listen_on(const std::string& address, int port);
/// Connects to a port, and retries until a server listens there or the deadline has passed. The socket is non-blocking.
/// @param host   name of the host that should run the server, for error messages
/// @param start  time when the caller began to wait, for error messages
/// @throws DistributedError naming address, port and `host`
Descriptor connect_to(const std::string& address, int port, Deadline deadline, const std::string& host = "its host",
                      Clock::time_point start = Clock::now());
/// Sets the options of a connection: small messages are sent at once, and the connection fails within kLinkTimeout if
/// the other machine or the link is lost. A peer whose process is only stopped keeps its connection, because its kernel
/// still answers.
void set_connection_options(int fd);
constexpr std::chrono::seconds kLinkTimeout(20);
int socket_port(int fd);
/// Returns the numeric address of this end of a connection: the address of the network interface that the connection
/// uses.
std::string local_address(int fd);
/// Waits for one of poll's `events` on a socket. Returns false at the deadline.
bool wait_until_ready(int fd, short events, Deadline deadline);

}  // namespace tandem::distributed
