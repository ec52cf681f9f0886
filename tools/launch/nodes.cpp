// Implements Nodes and Attempt: launchers on several nodes coordinate through a store. Its keys are node/I (options and
// host of node I), attempt/K/node/I (node I is ready for attempt K), attempt/K/store (port and token of the store for
// the ranks), attempt/K/done/I (all ranks of node I ended successfully), and attempt/K/end (how the attempt ended).
#include "tandem/tools/launch/nodes.h"

#include <unistd.h>

#include <charconv>
#include <sstream>

#include "tandem/core/threads/start_thread.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {

using distributed::Clock;
using distributed::Deadline;
using distributed::deadline_after;
using distributed::DistributedError;
using distributed::StoreClient;
using distributed::StoreServer;
using std::chrono::milliseconds;

namespace {
constexpr milliseconds kPollInterval(100), kConnectTimeout(20000);
constexpr milliseconds kMessageDelay(3000);    // after waiting this long, prints a message for the user
constexpr milliseconds kReportInterval(1000);  // interval at which a launcher reports to the store
constexpr char kConnectionEnded[] = " is lost: the connection to it has ended";

std::string encode_result(const Attempt::Result& end) {
  return std::to_string(end.status) + " " + (end.is_failure ? "1 " : "0 ") + end.cause.substr(0, 4096);
}
Attempt::Result decode_result(const std::string& text) {
  std::istringstream in(text);
  Attempt::Result end;
  in >> end.status >> end.is_failure >> std::ws;
  std::getline(in, end.cause, '\0');
  return end;
}
}  // namespace

NodeWatchdog::NodeWatchdog(std::unique_ptr<StoreClient> store, int node, const std::string& name,
                           const std::string& host, milliseconds heartbeat_timeout)
    : store_(std::move(store)), wake_pipe_(make_pipe()), thread_([this, node, name, host, heartbeat_timeout] {
        watch_loop(node, "the launcher of " + name, "the launcher of " + host, heartbeat_timeout);
      }) {}
NodeWatchdog::~NodeWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  store_->interrupt();
  thread_.join();
}
std::optional<std::string> NodeWatchdog::get_lost_node_error() const {
  const std::lock_guard lock(mutex_);
  return lost_node_error_;
}
void NodeWatchdog::watch_loop(int node, const std::string& name, const std::string& host,
                              milliseconds heartbeat_timeout) {
  std::optional<std::string> lost_node_error;
  try {
    for (milliseconds time(0); !lost_node_error; time = std::min(kReportInterval, heartbeat_timeout / 4))
      lost_node_error = store_->send_heartbeat_as(name, kGroup, node, time, heartbeat_timeout);
  } catch (const distributed::StoreClosed&) {
    // The store connection was closed on purpose: this launcher has left, or node 0 closes its store at the end of the
    // job.
    return;
  } catch (const distributed::StoreTimeout&) {
    lost_node_error = host + " is lost: it has not answered for " + std::to_string(heartbeat_timeout.count()) + " ms";
  } catch (const DistributedError&) {
    lost_node_error = host + kConnectionEnded;
  }
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  lost_node_error_ = lost_node_error;
  (void)!::write(wake_pipe_.write_end.get(), "!", 1);
}

std::string Nodes::node_name(int node) const {
  const std::string& host = hosts_[static_cast<size_t>(node)];
  return "node " + std::to_string(node) + " of " + std::to_string(options_.nodes) +
         (host.empty() ? "" : " (" + host + ")");
}
void Nodes::deregister() {
  if (!get_lost_node_error()) distributed::leave_group(*store_, NodeWatchdog::kGroup, node_);
}

Nodes::Nodes(Options options, std::function<void()> check, std::function<void(const std::string&)> print_message)
    : options_(std::move(options)),
      check_interrupt_(std::move(check)),
      print_message_(std::move(print_message)),
      hosts_(static_cast<size_t>(options_.nodes)) {
  const size_t colon = options_.rdzv.rfind(':');
  host_ = options_.rdzv.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : options_.rdzv.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), port_);
  const bool is_port = error == std::errc() && end == port.data() + port.size() && port_ > 0 && port_ < 65536;
  check_usage(is_port && !host_.empty(), "--rdzv is '", options_.rdzv,
              "'; accepted: HOST:PORT, a host of the job and a free port there");
  check_usage(
      !options_.token.empty(), "the launchers of several nodes need a shared secret; ",
      "set TANDEM_JOB_TOKEN to the same value on all nodes, for example to the output of `openssl rand -hex 16`");
  const auto try_to_host_store = [this] {
    if (!server_) try {
        server_ = std::make_unique<StoreServer>(options_.token, host_, port_);
      } catch (const DistributedError&) {
        // Either another launcher on this machine already listens on the port, or HOST is another machine.
      }
  };
  hosts_[0] = host_;
  const auto start = Clock::now();
  const Deadline deadline = deadline_after(options_.timeout);
  bool has_printed = false;
  for (;;) try {
      // Tries to host the store in every round: if two launchers bind the port at the same moment, Linux may refuse
      // both.
      try_to_host_store();
      distributed::connect_to(host_, port_, deadline_after(kPollInterval), "the launcher of node 0", start);
      break;
    } catch (const DistributedError&) {
      check_interrupt_();
      if (Clock::now() >= deadline) throw;
      if (!has_printed && Clock::now() >= start + kMessageDelay) {
        print_message_("waiting for node 0, whose launcher must listen at " + options_.rdzv);
        has_printed = true;
      }
    }
  store_ = connect();

  const std::string mine = std::to_string(options_.nodes) + " " + std::to_string(options_.max_restarts) + " " +
                           std::to_string(options_.ranks) + " " + random_token() + " " + distributed::host_name();
  node_ = server_ ? 0 : 1;
  while (node_ < options_.nodes && store_->set_once("node/" + std::to_string(node_), mine) != mine) ++node_;
  TANDEM_CHECK(node_ < options_.nodes, "launch: ", options_.nodes,
               " nodes were requested, but as many launchers have already connected to ", options_.rdzv,
               "; start one launcher on each node");
  hosts_[static_cast<size_t>(node_)] = distributed::host_name();
  for (int i = 0; i < options_.nodes; ++i) {
    std::istringstream text(wait_for("node/" + std::to_string(i), i, "to connect to " + options_.rdzv));
    int nodes = 0, restarts = 0, ranks = 0;
    std::string token;
    text >> nodes >> restarts >> ranks >> token >> hosts_[static_cast<size_t>(i)];
    TANDEM_CHECK(nodes == options_.nodes && restarts == options_.max_restarts, "launch: node ", i, " was started with ",
                 "--nodes ", nodes, " --max-restarts ", restarts, ", this one with --nodes ", options_.nodes,
                 " --max-restarts ", options_.max_restarts, "; they must be the same");
    if (i < node_) first_rank_ += ranks;
    world_size_ += ranks;
    // Starts the NodeWatchdog once node 0 has reported, because from then on node_name(0) contains its host name.
    if (i == 0)
      watchdog_ =
          std::make_unique<NodeWatchdog>(connect(), node_, node_name(node_), node_name(0), options_.heartbeat_timeout);
  }
}
Nodes::~Nodes() {
  const bool has_lost_node = get_lost_node_error().has_value();
  watchdog_.reset();
  store_.reset();
  // Waits until the other launchers have left, because they may not have read the end of the attempt yet. The wait is
  // short if a launcher is lost, because it may never leave.
  if (server_) server_->wait_for_clients_to_leave(milliseconds(has_lost_node ? 500 : 5000));
}
std::unique_ptr<StoreClient> Nodes::connect() const {
  return std::make_unique<StoreClient>(host_, port_, options_.token, kConnectTimeout,
                                       "the launcher of " + node_name(0));
}
std::string Nodes::wait_for(const std::string& key, int node, const std::string& what) {
  const Deadline deadline = deadline_after(options_.timeout), message_time = deadline_after(kMessageDelay);
  for (bool has_printed = false;;) {
    if (auto value = store_->find(key, kPollInterval, options_.heartbeat_timeout)) return *std::move(value);
    check_interrupt_();
    if (const auto lost_node_error = get_lost_node_error()) throw DistributedError("launch: " + *lost_node_error);
    TANDEM_CHECK(Clock::now() < deadline, "launch: ", node_name(node), " did not connect to ", options_.rdzv,
                 " within ", options_.timeout.count() / 1000, " s; is its launcher running, with the same --rdzv?");
    if (!has_printed && Clock::now() >= message_time) {
      print_message_("waiting for " + node_name(node) + " " + what + ", for up to " +
                     std::to_string(options_.timeout.count() / 1000) + " s");
      has_printed = true;
    }
  }
}

Attempt::Attempt(Nodes* nodes, int number) : nodes_(nodes), attempt_number_(number), token_(random_token()) {
  if (!nodes) {
    server_ = std::make_unique<StoreServer>(token_, address_, 0, kReapTime);
    port_ = server_->port();
    return;
  }
  const std::string me = std::to_string(nodes->node());
  address_ = nodes->host_;
  if (nodes->node() == 0) {
    server_ = std::make_unique<StoreServer>(token_, address_, 0, kReapTime);
    nodes->store_->set(make_store_key("store"), std::to_string(server_->port()) + " " + token_);
  }
  nodes->store_->set(make_store_key("node/" + me), "ready");
  for (int i = 0; i < nodes->options_.nodes; ++i)
    nodes->wait_for(make_store_key("node/" + std::to_string(i)), i,
                    number > 0 ? "to restart its ranks" : "to be ready");
  std::istringstream rank_env(
      nodes->wait_for(make_store_key("store"), 0, "to publish the address of the ranks' store"));
  rank_env >> port_ >> token_;
  if (!server_)
    ranks_store_ = std::make_unique<StoreClient>(address_, port_, token_, kConnectTimeout,
                                                 "the launcher of " + nodes->node_name(0));
  wake_pipe_ = make_pipe();
  watch_store_ = nodes->connect();
  thread_ = detail::start_thread("the watch over other nodes", [this] { watch_loop(); });
}
Attempt::~Attempt() {
  if (!nodes_) return;
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  watch_store_->interrupt();
  thread_.join();
}
void Attempt::set_store_address(RankEnvironment& rank_env) const {
  rank_env.store_address = address_;
  rank_env.store_port = port_;
  rank_env.token = token_;
}
void Attempt::watch_loop() {
  Result end;
  try {
    std::optional<std::string> text;
    while (!text) text = watch_store_->find(make_store_key("end"), std::chrono::hours(1));
    end = decode_result(*text);
  } catch (const DistributedError&) {
    end = {1, false, "the launcher of " + nodes_->node_name(0) + kConnectionEnded};
  }
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return;
  if (!result_) result_ = end;
  (void)!::write(wake_pipe_.write_end.get(), "!", 1);
}
void Attempt::report_failure(const Result& end) {
  const std::string cause = end.cause.substr(0, 4096);
  if (server_) server_->set(distributed::kFailureKey, cause);
  // A single launcher has no other launchers to tell. If a launcher is lost, the others notice this by themselves.
  if (!nodes_ || nodes_->get_lost_node_error()) return;
  try {
    if (ranks_store_) ranks_store_->set(distributed::kFailureKey, cause, nodes_->options_.heartbeat_timeout);
    nodes_->store_->set_once(make_store_key("end"), encode_result(end), nodes_->options_.heartbeat_timeout);
  } catch (const DistributedError&) {
    // Node 0, which hosts both stores, is lost. The ranks and the other launchers notice this by themselves.
  }
}
void Attempt::mark_ended_normally(int rank) {
  if (server_) server_->mark_ended_normally(rank);
  if (ranks_store_) try {
      ranks_store_->report_normal_exit(rank, nodes_->options_.heartbeat_timeout);
    } catch (const DistributedError&) {
      // Node 0 is lost; the NodeWatchdog reports this.
    }
}
void Attempt::report_success() {
  if (!nodes_) {
    result_ = Result{};
    return;
  }
  try {
    nodes_->store_->set(make_store_key("done/" + std::to_string(nodes_->node())), "done");
    for (int i = 0; i < nodes_->options_.nodes; ++i)
      if (!nodes_->store_->find(make_store_key("done/" + std::to_string(i)), milliseconds(0))) return;
    // The last launcher that gets here finds the keys of all launchers, and ends the attempt.
    nodes_->store_->set_once(make_store_key("end"), encode_result({}));
  } catch (const DistributedError&) {
    // Node 0 is lost; Attempt::watch() reports this.
  }
}
std::optional<Attempt::Result> Attempt::get_result() const {
  const std::lock_guard lock(mutex_);
  return result_;
}

}  // namespace tandem::tools
