// Implements a relay that makes the network between ranks worse than loopback: it delays data, limits the bytes per
// second, forwards small pieces, resets a connection, or stops forwarding. relay_preload.cpp redirects the ranks'
// connections to the relay.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <list>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/parallel/collectives/store/socket.h"
#include "tandem/tests/temporary.h"

namespace tandem::test {

class Relay {
 public:
  struct Options {
    int delay_us = 0;              // maximum delay of each piece
    size_t piece = 1 << 16;        // maximum number of bytes forwarded at once
    int64_t bytes_per_second = 0;  // limit over all connections; 0: none
    int64_t slow_after = 0;        // total number of bytes forwarded before the limit applies
    int64_t reset_after = -1;      // total number of bytes after which one connection is reset, once; -1: never
  };
  explicit Relay(const Options& options)
      : options_(options),
        listener_(distributed::listen_on("127.0.0.1", 0)),
        preload_socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    sockaddr_un own{};
    own.sun_family = AF_UNIX;
    path().copy(own.sun_path, sizeof own.sun_path - 1);
    TANDEM_CHECK(::bind(preload_socket_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own) == 0,
                 "relay: no socket at ", path());
    thread_ = std::thread([this] { serve(); });
  }
  ~Relay() {
    stop_ = true;
    thread_.join();
  }
  Relay(const Relay&) = delete;
  /// Environment variables for a program whose connections shall go through the relay
  std::vector<std::string> environment() const {
    return {"TANDEM_SHARED_MEMORY=0",  // send all data over the connections
            "TANDEM_TEST_RELAY_PORT=" + std::to_string(distributed::socket_port(listener_.get())),
            "TANDEM_TEST_RELAY_PATH=" + path()};
  }
  /// Stops forwarding without closing any connection, so neither side receives anything more from the other.
  void cut() { cut_ = true; }
  int64_t bytes() const { return bytes_; }
  int connections() const { return connections_; }
  bool has_reset() const { return reset_; }

 private:
  struct Direction {
    int from, to;
    std::string pending = {};
    distributed::Deadline due = {};
    bool ended = false;
  };
  struct Connection {
    distributed::Descriptor a, b;
    Direction there, back;
    bool reset = false;
  };
  std::string path() const { return folder_ / "relay"; }

  void serve() {
    while (!stop_) {
      if (cut_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        continue;
      }
      accept_connections();
      bool idle = true;
      for (Connection& c : connections_now_)
        for (Direction* d : {&c.there, &c.back}) idle &= !step(c, *d);
      connections_now_.remove_if([](const Connection& c) { return c.reset || (c.there.ended && c.back.ended); });
      if (idle) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  void accept_connections() {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    distributed::Descriptor from(fd);
    char text[32] = {};
    // relay_preload.cpp sends this before it connects
    while (::recv(preload_socket_.get(), text, sizeof text - 1, 0) > 0) {
      int own = 0, meant = 0;
      if (std::sscanf(text, "%d %d", &own, &meant) == 2) destinations_[own] = meant;
      std::fill(std::begin(text), std::end(text), '\0');
    }
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    ::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length);
    try {
      distributed::Descriptor to =
          distributed::connect_to("127.0.0.1", destinations_[ntohs(peer.sin_port)], distributed::Clock::now());
      const int a = from.get(), b = to.get();
      connections_now_.push_back({std::move(from), std::move(to), {a, b}, {b, a}});
      ++connections_;
    } catch (const Error&) {
      // No one listens at the target port yet. The rank's connection is refused, as without the relay, and it tries
      // again.
    }
  }
  /// Forwards the next piece if it is due. Returns true if anything was done.
  bool step(Connection& c, Direction& d) {
    using distributed::Clock;
    if (c.reset || d.ended) return false;
    if (d.pending.empty()) {
      std::string piece(options_.piece, '\0');
      const ssize_t n = ::recv(d.from, piece.data(), piece.size(), 0);
      if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
      if (n <= 0) {
        d.ended = true;
        ::shutdown(d.to, SHUT_WR);
        return true;
      }
      d.pending = piece.substr(0, static_cast<size_t>(n));
      d.due = Clock::now() + std::chrono::microseconds(options_.delay_us > 0 ? random_() % options_.delay_us : 0);
    }
    if (Clock::now() < std::max(d.due, free_at_)) return false;
    bytes_ += static_cast<int64_t>(d.pending.size());
    if (options_.reset_after >= 0 && bytes_ > options_.reset_after && !reset_.exchange(true)) {
      const linger at_once{1, 0};
      for (const int fd : {d.from, d.to}) ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
      return c.reset = true;  // closing the socket with SO_LINGER 0 resets the connection
    }
    const ssize_t n = ::send(d.to, d.pending.data(), d.pending.size(), MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (n > 0 && options_.bytes_per_second > 0 && bytes_ > options_.slow_after)
      free_at_ = Clock::now() + std::chrono::microseconds(1000000 * n / options_.bytes_per_second);
    n < 0 ? d.pending.clear() : void(d.pending.erase(0, static_cast<size_t>(n)));
    return true;
  }

  Options options_;
  TemporaryFolder folder_;
  distributed::Descriptor listener_, preload_socket_;
  std::map<int, int> destinations_;
  std::list<Connection> connections_now_;
  std::mt19937 random_{7};
  distributed::Deadline free_at_ = {};  // when the next byte may be sent under the limit
  std::atomic<int64_t> bytes_{0};
  std::atomic<int> connections_{0};
  std::atomic<bool> stop_{false}, reset_{false}, cut_{false};
  std::thread thread_;
};

}  // namespace tandem::test
