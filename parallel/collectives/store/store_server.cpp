// Implements StoreServer: one thread that holds the keys, answers all clients, and notices ranks that end or stop
// reporting.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>
#include <sstream>

#include "tandem/core/threads/start_thread.h"
#include "tandem/parallel/collectives/store/key_values.h"
#include "tandem/parallel/collectives/store/rendezvous.h"
#include "tandem/parallel/collectives/store/store.h"

namespace tandem::distributed {

using namespace store_messages;
using std::chrono::milliseconds;

namespace {

constexpr size_t kMaxConnections = 4096;
constexpr size_t kMaxUnauthenticatedConnections =
    64;  // maximum for connections that have not shown the token; one more closes the oldest
constexpr auto kHandshakeTimeout = std::chrono::seconds(5);
constexpr milliseconds kCloseTimeout(300);  // time in which clients may read the last reply

/// Compares two tokens. If they have the same length, the time does not depend on where they differ, so that it reveals
/// nothing about the token.
bool same_token(const std::string& a, const std::string& b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

/// A rank, or another member of a group, that sends reports. Only members that are not ranks have a name.
struct Member {
  std::string group;
  int rank = 0, waits_for = -1;
  Clock::time_point last_report;  // time of the last report
  milliseconds interval;          // time until the member's next report
  milliseconds max_silence{0};    // without a report for this time, the member is lost; 0: never
  std::string name = {};
  bool is_lost() const { return max_silence.count() > 0 && Clock::now() >= last_report + max_silence; }
  /// Returns whether two reports are overdue.
  bool is_overdue() const { return Clock::now() > last_report + 2 * interval + milliseconds(150); }
};
struct Connection {
  Descriptor socket;
  std::string received_bytes = {}, unsent_bytes = {};
  bool authenticated = false;                   // the client has shown the token
  bool close_after_sending = false;             // close once unsent_bytes has been sent
  std::optional<std::string> awaited_key = {};  // key that the client waits for
  std::optional<Member> member = {};
  bool has_pending_report = false;  // true while a report waits for a failure of the group
  // deadline of the current wait; before the client has shown the token, the deadline for showing it
  Deadline deadline = {};
  bool is_waiting() const { return awaited_key || has_pending_report; }
};
/// A member of a group that is lost: a rank whose connection has ended, or a launcher that has stopped sending
/// heartbeats.
struct LostMember {
  std::string group;
  int rank;
  Deadline publish_time;  // time at which the failure is published, unless another cause is known by then
  std::string text = {};  // text of the failure; "" for a rank, whose text publish_lost_members() makes
};

}  // namespace

class StoreServer::EventLoop {
 public:
  EventLoop(std::string token, const std::string& address, int port, milliseconds grace_period)
      : token_(std::move(token)),
        grace_period_(grace_period),
        listener_(listen_on(address, port)),
        wake_event_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    TANDEM_CHECK_AS(DistributedError, static_cast<bool>(wake_event_fd_),
                    "store: cannot open an eventfd: ", std::strerror(errno),
                    "; `ulimit -n` shows how many file descriptors there may be");
    thread_ = detail::start_thread("the store", [this] { serve(); });
  }
  ~EventLoop() { stop(); }
  void stop() {
    stop_ = true;
    wake();
    if (thread_.joinable()) thread_.join();
  }
  EventLoop(const EventLoop&) = delete;
  int port() const { return socket_port(listener_.get()); }
  void set(const std::string& key, const std::string& value) {
    {
      const std::lock_guard lock(mutex_);
      values_.set(key, value);
    }
    wake();
  }
  std::optional<std::string> find(const std::string& key) const {
    const std::lock_guard lock(mutex_);
    return values_.find(key);
  }
  void mark_ended_normally(int rank) {
    const std::lock_guard lock(mutex_);
    left_ranks_[kAllGroups][rank] = kEndedNormally;
  }
  size_t num_clients() const { return num_clients_; }

 private:
  // key in left_ranks_ for ranks whose process has ended, so that they have left all groups
  static constexpr char kAllGroups[] = "";
  void wake() {
    const uint64_t one = 1;
    while (::write(wake_event_fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {}
  }
  std::optional<std::string> find_failure(const std::string& group) const {
    const std::lock_guard lock(mutex_);
    for (const std::string& key : failure_keys(group))
      if (auto failure = values_.find(key)) return failure;
    return {};
  }

  void serve() {
    while (!stop_) {
      poll_once();
      publish_lost_members();
      answer_waiting_clients();
      num_clients_ = connections_.size();
    }
    close();
    connections_.clear();
    listener_.close();
    num_clients_ = 0;
  }
  void poll_once() {
    std::vector<pollfd> fds{{listener_.get(), short(connections_.size() < kMaxConnections ? POLLIN : 0), 0},
                            {wake_event_fd_.get(), POLLIN, 0}};
    Deadline first = deadline_after(std::chrono::hours(1));
    for (const Connection& c : connections_) {
      // While the client waits for a reply or does not read its replies, do not read its next request from the socket.
      const bool busy = c.is_waiting() || c.close_after_sending || c.unsent_bytes.size() > kMaxMessageBytes;
      const int events = (busy ? POLLRDHUP : POLLIN) | (c.unsent_bytes.empty() ? 0 : POLLOUT);
      fds.push_back({c.socket.get(), static_cast<short>(events), 0});
      if (c.is_waiting() || !c.authenticated) first = std::min(first, c.deadline);
      if (c.member && c.member->max_silence.count() > 0)
        first = std::min(first, c.member->last_report + c.member->max_silence);
    }
    for (const LostMember& each : lost_members_) first = std::min(first, each.publish_time);
    // poll() fails if a signal interrupts it (EINTR)
    if (::poll(fds.data(), fds.size(), static_cast<int>(time_until(first).count())) < 0) return;
    uint64_t wakes = 0;
    while (::read(wake_event_fd_.get(), &wakes, sizeof wakes) < 0 && errno == EINTR) {}
    size_t i = 2;
    for (auto c = connections_.begin(); c != connections_.end(); ++i)
      if (process_events(*c, fds[i].revents)) {
        if (c->member && c->member->is_lost()) mark_lost(*c, "it has sent no heartbeat for", c->member->max_silence);
        ++c;
      } else {
        if (c->member) mark_lost(*c, "its connection has ended", {});
        c = connections_.erase(c);
      }
    if (fds[0].revents) accept_connections();
  }

  void mark_lost(Connection& c, const std::string& how, milliseconds silence) {
    const Member& m = *c.member;
    const std::string time = silence.count() > 0 ? " " + std::to_string(silence.count()) + " ms" : "";
    lost_members_.push_back(
        {m.group, m.rank, deadline_after(grace_period_), m.name.empty() ? "" : m.name + " is lost: " + how + time});
    c.member.reset();
    c.has_pending_report = false;
  }

  void accept_connections() {
    for (int i = 0; i < 16; ++i) {
      const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE)
          // do not spin: poll() would return at once, because a connection still waits to be accepted
          std::this_thread::sleep_for(milliseconds(10));
        return;
      }
      const auto is_unauthenticated = [](const Connection& c) { return !c.authenticated; };
      if (std::count_if(connections_.begin(), connections_.end(), is_unauthenticated) >=
          static_cast<int64_t>(kMaxUnauthenticatedConnections))
        connections_.erase(std::find_if(connections_.begin(), connections_.end(), is_unauthenticated));
      set_connection_options(fd);
      connections_.push_back({.socket = Descriptor(fd), .deadline = deadline_after(kHandshakeTimeout)});
    }
  }

  /// Reads requests, answers them, and sends replies, as far as this is possible without blocking. Returns false if the
  /// connection has ended.
  bool process_events(Connection& c, short events) {
    if (events & (POLLERR | POLLNVAL | POLLRDHUP)) return false;
    if (!c.authenticated && Clock::now() >= c.deadline) return false;
    if (events & (POLLIN | POLLHUP)) {
      char chunk[4096];
      const ssize_t n = ::recv(c.socket.get(), chunk, sizeof chunk, 0);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (n > 0) c.received_bytes.append(chunk, static_cast<size_t>(n));
      try {
        while (!c.is_waiting() && !c.close_after_sending) {
          const auto body = take_message(c.received_bytes, c.authenticated ? kMaxMessageBytes : kMaxHandshakeBytes);
          if (!body) break;
          answer_request(c, decode_request(*body));
        }
      } catch (const DistributedError&) {
        return false;
      }
    }
    return send_replies(c);
  }
  static bool send_replies(Connection& c) {
    while (!c.unsent_bytes.empty()) {
      const ssize_t n = ::send(c.socket.get(), c.unsent_bytes.data(), c.unsent_bytes.size(), MSG_NOSIGNAL);
      if (n < 0) return errno == EAGAIN || errno == EINTR;
      c.unsent_bytes.erase(0, static_cast<size_t>(n));
    }
    return !c.close_after_sending;
  }

  static void queue_reply(Connection& c, char kind, const std::string& value = {}) {
    c.unsent_bytes += frame_message(kind + value);
  }
  void answer_request(Connection& c, const std::optional<Request>& r) {
    if (!r || (!c.authenticated && r->op != kHandshake)) return reject_request(c);
    if (r->op == kHandshake) {
      c.authenticated = r->value == kProtocolVersion && same_token(r->key, token_);
      c.close_after_sending = !c.authenticated;
      return c.authenticated ? queue_reply(c, kValue, kProtocolVersion) : queue_reply(c, kTokenDenied);
    }
    if (r->op == kGetLeftRanks) return queue_reply(c, kValue, format_left_ranks(r->key));
    if (r->op == kReport || r->op == kLeave || r->op == kFindFailedRank || r->op == kReportNormalExit)
      return answer_rank_request(c, *r);
    const std::lock_guard lock(mutex_);
    try {
      answer_key_request(c, *r);
    } catch (const DistributedError& error) {
      queue_reply(c, kOperationFailed, error.what_without_backtrace());
    }
  }
  void answer_key_request(Connection& c, const Request& r) {
    switch (r.op) {
      case kSet: return values_.set(r.key, r.value), queue_reply(c, kValue);
      case kSetOnce: return queue_reply(c, kValue, values_.set_once(r.key, r.value));
      case kAdd: return queue_reply(c, kValue, std::to_string(values_.add(r.key, std::atoll(r.value.c_str()))));
      case kErase: return queue_reply(c, values_.erase(r.key) ? kValue : kNoValue);
      case kCount: return queue_reply(c, kValue, std::to_string(values_.count(r.key)));
      case kCompareSet:
        if (const auto both = decode_pair(r.value))
          return queue_reply(c, kValue, values_.compare_set(r.key, both->first, both->second));
        return reject_request(c);
      case kGet:
        if (const auto value = values_.find(r.key)) return queue_reply(c, kValue, *value);
        c.awaited_key = r.key;
        c.deadline = deadline_after(milliseconds(r.wait_ms));
        return;
      default: return reject_request(c);
    }
  }
  static void reject_request(Connection& c) {
    c.close_after_sending = true;
    queue_reply(c, kInvalidRequest);
  }
  void answer_rank_request(Connection& c, const Request& r) {
    std::istringstream text(r.value);
    int rank = 0, waits_for = -1;
    if (!(text >> rank)) return reject_request(c);
    if (r.op == kReport) {
      int64_t silence = 0;
      std::string name;
      text >> waits_for >> silence >> std::ws;
      std::getline(text, name);
      constexpr int64_t kDay = milliseconds(std::chrono::hours(24)).count();
      silence = std::clamp<int64_t>(silence, 0, kDay);
      const milliseconds interval(r.wait_ms);  // 0 in a rank's first report, because its second report follows at once
      c.member = Member{r.key, rank, waits_for, Clock::now(), interval, milliseconds(silence), name};
      c.has_pending_report = true;
      c.deadline = deadline_after(interval);
      const std::lock_guard lock(mutex_);
      for (const std::string& group : {std::string(kAllGroups), r.key})
        if (const auto at = left_ranks_.find(group); at != left_ranks_.end()) at->second.erase(rank);
    } else if (r.op == kLeave || r.op == kReportNormalExit) {
      for (Connection& each : connections_)
        if (each.member && each.member->rank == rank && (r.op == kReportNormalExit || each.member->group == r.key)) {
          each.member.reset();
          if (each.has_pending_report) queue_reply(each, kStoreClosed), send_replies(each);
          each.has_pending_report = false;
        }
      queue_reply(c, kValue);
      const std::lock_guard lock(mutex_);
      left_ranks_[r.op == kReportNormalExit ? kAllGroups : r.key][rank] =
          r.op == kReportNormalExit ? kEndedNormally : "it called destroy_process_group";
    } else {
      queue_reply(c, kValue, find_failed_rank(r.key, rank));
    }
  }
  Connection* find_member(const std::string& group, int rank) {
    const auto at = std::find_if(connections_.begin(), connections_.end(), [&](const Connection& c) {
      return c.member && c.member->group == group && c.member->rank == rank;
    });
    return at == connections_.end() ? nullptr : &*at;
  }
  /// Returns the ranks that have left the group and how: "1 it ended normally\n2 ...".
  std::string format_left_ranks(const std::string& group) const {
    const std::lock_guard lock(mutex_);
    std::map<int, std::string> ranks;
    for (const std::string& name : {std::string(kAllGroups), group})
      if (const auto at = left_ranks_.find(name); at != left_ranks_.end())
        ranks.insert(at->second.begin(), at->second.end());
    std::string text;
    for (const auto& [rank, how] : ranks) text += std::to_string(rank) + " " + how + "\n";
    return text;
  }
  /// Follows the chain of ranks that wait for each other, to a rank that waits for none or has stopped reporting.
  std::string find_failed_rank(const std::string& group, int rank) {
    std::set<int> seen;
    for (int r = rank; seen.insert(r).second;) {
      const Connection* const c = find_member(group, r);
      if (!c) return std::to_string(r);
      const auto silence = std::chrono::duration_cast<milliseconds>(Clock::now() - c->member->last_report).count();
      if (c->member->is_overdue())
        return std::to_string(r) + " has sent no heartbeat for " + std::to_string(silence) + " ms";
      if (c->member->waits_for < 0) return std::to_string(r);
      r = c->member->waits_for;
    }
    return std::to_string(rank);  // the ranks wait for each other in a cycle
  }

  /// Publishes the failure of each lost rank or member whose publish_time has come, unless another cause is known.
  void publish_lost_members() {
    const std::lock_guard lock(mutex_);
    std::erase_if(lost_members_, [this](const LostMember& each) {
      if (each.text.empty() && left_ranks_[kAllGroups].count(each.rank) > 0) return true;
      // if the group has failed already, its ranks may end without leaving it
      for (const std::string& key : failure_keys(each.group))
        if (values_.find(key)) return true;
      if (Clock::now() < each.publish_time) return false;
      const std::string outermost = each.group.substr(0, each.group.find('/'));
      const std::string rank = "rank " + std::to_string(each.rank) +
                               " is gone: its connection to the store ended before it left the group" +
                               location_text(each.rank, values_.find(joined_key(outermost, each.rank)));
      values_.set_once(failure_key(outermost), each.text.empty() ? rank : each.text);
      return true;
    });
  }
  /// Answers each waiting client whose key or failure has been set, or whose time is over.
  void answer_waiting_clients() {
    for (Connection& c : connections_) {
      if (!c.is_waiting()) continue;
      const std::optional<std::string> value = c.awaited_key ? find(*c.awaited_key) : find_failure(c.member->group);
      if (!value && Clock::now() < c.deadline) continue;
      value ? queue_reply(c, kValue, *value)
            : queue_reply(c, kNoValue, c.member ? format_left_ranks(c.member->group) : "");
      c.awaited_key.reset();
      c.has_pending_report = false;
      send_replies(c);  // ignore an error, because the next poll reports it
    }
  }
  /// Tells all clients that the store closes, and waits a short time until the clients that report have closed their
  /// connections. Otherwise unread data in a socket would discard the last reply when the socket is closed.
  void close() {
    for (Connection& c : connections_) {
      queue_reply(c, kStoreClosed);
      send_replies(c);
      ::shutdown(c.socket.get(), SHUT_WR);
    }
    std::erase_if(connections_, [](const Connection& c) { return !c.member; });
    const Deadline deadline = deadline_after(kCloseTimeout);
    for (Connection& c : connections_) {
      char chunk[4096];
      while (wait_until_ready(c.socket.get(), POLLIN, deadline) && ::recv(c.socket.get(), chunk, sizeof chunk, 0) > 0) {
      }
    }
  }

  const std::string token_;
  const milliseconds grace_period_;
  Descriptor listener_, wake_event_fd_;
  std::list<Connection> connections_;
  std::vector<LostMember> lost_members_;
  mutable std::mutex mutex_;  // guards values_ and left_ranks_
  KeyValues values_;
  std::map<std::string, std::map<int, std::string>>
      left_ranks_;  // how each rank has left each group, by group and rank
  std::atomic<size_t> num_clients_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

StoreServer::StoreServer(std::string token, const std::string& address, int port, milliseconds grace_period)
    : event_loop_(std::make_unique<EventLoop>(std::move(token), address, port, grace_period)) {}
StoreServer::~StoreServer() = default;
int StoreServer::port() const { return event_loop_->port(); }
void StoreServer::set(const std::string& key, const std::string& value) { event_loop_->set(key, value); }
void StoreServer::mark_ended_normally(int rank) { event_loop_->mark_ended_normally(rank); }
void StoreServer::close() { event_loop_->stop(); }
void StoreServer::wait_for_clients_to_leave(milliseconds most) const {
  for (const Deadline deadline = deadline_after(most); event_loop_->num_clients() > 0 && Clock::now() < deadline;)
    std::this_thread::sleep_for(milliseconds(2));
}
std::optional<std::string> StoreServer::find(const std::string& key) const { return event_loop_->find(key); }

}  // namespace tandem::distributed
