// Sockets of the store: owned descriptors, listening and connecting by name, bounded waits. Internal.
#pragma once
#include <chrono>
#include <string>
#include <utility>

namespace tandem::distributed {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;
/// Not below 0; at most a day, which no sum overflows.
std::chrono::milliseconds left_until(Deadline deadline);
Deadline after(std::chrono::milliseconds time);

/// A file descriptor that is closed at the end.
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

/// Listens on the first of the name's addresses that can be had; port 0 takes a free one. Non-blocking.
/// @throws DistributedError naming address and port
Descriptor listen_on(const std::string& address, int port);
/// Tries until somebody listens there or the deadline is past. Non-blocking.
/// @param start  when the caller began to wait, for the error
/// @throws DistributedError naming address, port and `host`, who should listen there
Descriptor connect_to(const std::string& address, int port, Deadline deadline, const std::string& host = "its host",
                      Clock::time_point start = Clock::now());
/// Sets up a connection: small messages go at once, and it fails within kLinkSilence once the other machine is gone or
/// the link to it is cut. A peer that is merely stopped keeps its connection, as its kernel still answers.
void prepare_connection(int fd);
constexpr std::chrono::seconds kLinkSilence(20);
int port_of(int fd);
/// The address of this end, in digits: of a connection, the interface that its route leaves by.
std::string local_address(int fd);
/// Whether one of poll's `events` came before the deadline.
bool wait_until_ready(int fd, short events, Deadline deadline);

}  // namespace tandem::distributed
