#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <map>
#include <thread>

#include "tandem/parallel/collectives/store.h"

namespace tandem::distributed {

using namespace store_messages;

namespace {

constexpr size_t kMaxConnections = 4096;
constexpr auto kHelloTime = std::chrono::seconds(10);

/// The time tells nothing of where two tokens of one length differ.
bool same_token(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

struct Connection {
  Descriptor socket;
  std::string in = {}, out = {};
  bool known = false;                   // has shown the token
  bool closing = false;                 // once `out` is sent
  std::optional<std::string> key = {};  // that it waits for
  Deadline deadline = {};               // for the key, or for the hello
};

}  // namespace

class StoreServer::Loop {
 public:
  Loop(std::string token, const std::string& address, int port)
      : token_(std::move(token)), listener_(listen_on(address, port)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TANDEM_CHECK_AS(DistributedError, static_cast<bool>(wake_), "store: no descriptor is left for it");
    thread_ = std::thread([this] { serve(); });
  }
  ~Loop() {
    stop_ = true;
    wake();
    thread_.join();
  }
  Loop(const Loop&) = delete;
  int port() const { return port_of(listener_.get()); }
  void set(const std::string& key, const std::string& value) {
    {
      const std::lock_guard lock(mutex_);
      values_[key] = value;
    }
    wake();
  }
  std::optional<std::string> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  size_t clients() const { return clients_; }

 private:
  void wake() {
    const uint64_t one = 1;
    while (::write(wake_.get(), &one, sizeof one) < 0 && errno == EINTR) {}
  }

  void serve() {
    std::vector<pollfd> fds;
    while (!stop_) {
      fds.assign(
          {{listener_.get(), short(connections_.size() < kMaxConnections ? POLLIN : 0), 0}, {wake_.get(), POLLIN, 0}});
      Deadline first = after(std::chrono::hours(1));
      for (const Connection& c : connections_) {
        // While it waits, or does not read its answers, the next request stays in the socket.
        const bool busy = c.key || c.closing || c.out.size() > kMaxMessage;
        const int events = (busy ? POLLRDHUP : POLLIN) | (c.out.empty() ? 0 : POLLOUT);
        fds.push_back({c.socket.get(), static_cast<short>(events), 0});
        if (c.key || !c.known) first = std::min(first, c.deadline);
      }
      if (::poll(fds.data(), fds.size(), static_cast<int>(left_until(first).count())) < 0 && errno != EINTR) return;
      uint64_t wakes = 0;
      while (::read(wake_.get(), &wakes, sizeof wakes) < 0 && errno == EINTR) {}
      size_t i = 2;
      for (auto c = connections_.begin(); c != connections_.end(); ++i)
        c = step(*c, fds[i].revents) ? std::next(c) : connections_.erase(c);
      answer_waiting();
      if (fds[0].revents) accept_one();
      clients_ = connections_.size();
    }
  }

  void accept_one() {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0)
      connections_.push_back({.socket = Descriptor(fd), .deadline = after(kHelloTime)});
    else if (errno == EMFILE || errno == ENFILE)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));  // it stays ready: do not spin
  }

  /// Reads, answers and writes what can be. False when the connection is done with.
  bool step(Connection& c, short events) {
    if (events & (POLLERR | POLLNVAL | POLLRDHUP)) return false;
    if (!c.known && Clock::now() >= c.deadline) return false;
    if (events & (POLLIN | POLLHUP)) {
      char chunk[4096];
      const ssize_t n = ::recv(c.socket.get(), chunk, sizeof chunk, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (n > 0) c.in.append(chunk, static_cast<size_t>(n));
      try {
        while (!c.key && !c.closing) {
          const auto body = take_message(c.in);
          if (!body) break;
          answer(c, decode(*body));
        }
      } catch (const DistributedError&) {
        return false;
      }
    }
    return flush(c);
  }
  static bool flush(Connection& c) {
    while (!c.out.empty()) {
      const ssize_t n = ::send(c.socket.get(), c.out.data(), c.out.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      c.out.erase(0, static_cast<size_t>(n));
    }
    return !c.closing;
  }

  static void reply(Connection& c, char kind, const std::string& value = {}) { c.out += frame(kind + value); }
  void answer(Connection& c, const std::optional<Request>& r) {
    if (!r || (!c.known && r->op != kHello)) {
      c.closing = true;
      return reply(c, kBad);
    }
    if (r->op == kHello) {
      c.known = r->value == kVersion && same_token(r->key, token_);
      c.closing = !c.known;
      return c.known ? reply(c, kValue, kVersion) : reply(c, kDenied);
    }
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(r->key);
    if (r->op == kSet) {
      values_[r->key] = r->value;
      reply(c, kValue);
    } else if (r->op == kSetOnce) {
      reply(c, kValue, values_.try_emplace(r->key, r->value).first->second);
    } else if (r->op == kGet && at != values_.end()) {
      reply(c, kValue, at->second);
    } else if (r->op == kGet) {
      c.key = r->key;
      c.deadline = after(std::chrono::milliseconds(r->wait_ms));
    } else {
      c.closing = true;
      reply(c, kBad);
    }
  }
  /// Those whose key came, or whose time is over.
  void answer_waiting() {
    for (Connection& c : connections_) {
      if (!c.key) continue;
      const std::optional<std::string> value = find(*c.key);
      if (!value && Clock::now() < c.deadline) continue;
      value ? reply(c, kValue, *value) : reply(c, kNothing);
      c.key.reset();
      flush(c);  // what fails here is seen by the next poll
    }
  }

  std::string token_;
  Descriptor listener_, wake_;
  std::list<Connection> connections_;
  mutable std::mutex mutex_;  // guards values_
  std::map<std::string, std::string> values_;
  std::atomic<size_t> clients_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

StoreServer::StoreServer(std::string token, const std::string& address, int port)
    : loop_(std::make_unique<Loop>(std::move(token), address, port)) {}
StoreServer::~StoreServer() = default;
int StoreServer::port() const { return loop_->port(); }
void StoreServer::set(const std::string& key, const std::string& value) { loop_->set(key, value); }
void StoreServer::wait_for_clients_to_leave(std::chrono::milliseconds most) const {
  for (const Deadline deadline = after(most); loop_->clients() > 0 && Clock::now() < deadline;)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
std::optional<std::string> StoreServer::find(const std::string& key) const { return loop_->find(key); }

}  // namespace tandem::distributed
