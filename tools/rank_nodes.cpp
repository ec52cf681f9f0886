// In the launchers' store lie: node/I (who is node I), attempt/K/node/I (it is ready), attempt/K/store (where the
// ranks' store is), attempt/K/done/I (its ranks have ended well), attempt/K/end (how the attempt has ended).
#include "tandem/tools/rank_nodes.h"

#include <unistd.h>

#include <charconv>
#include <sstream>
#include <thread>

#include "tandem/core/start_thread.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {

using distributed::after;
using distributed::Clock;
using distributed::Deadline;
using distributed::DistributedError;
using distributed::StoreClient;
using distributed::StoreServer;
using std::chrono::milliseconds;

namespace {
constexpr milliseconds kLook(100), kPatience(20000);

std::string text_of(const Attempt::End& end) {
  return std::to_string(end.status) + " " + (end.is_failure ? "1 " : "0 ") + end.cause.substr(0, 4096);
}
Attempt::End end_of(const std::string& text) {
  std::istringstream in(text);
  Attempt::End end;
  in >> end.status >> end.is_failure >> std::ws;
  std::getline(in, end.cause, '\0');
  return end;
}
}  // namespace

Nodes::Nodes(Options options, std::function<void()> check) : options_(std::move(options)), check_(std::move(check)) {
  const size_t colon = options_.rdzv.rfind(':');
  host_ = options_.rdzv.substr(0, colon);
  const std::string port = colon == std::string::npos ? "" : options_.rdzv.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), port_);
  const bool is_port = error == std::errc() && end == port.data() + port.size() && port_ > 0 && port_ < 65536;
  check_usage(is_port && !host_.empty(), "--rdzv is '", options_.rdzv,
              "'; accepted: HOST:PORT, a host of the job and a free port there");
  check_usage(!options_.token.empty(), "the launchers of several nodes need a word that strangers do not know; ",
              "set TANDEM_JOB_TOKEN to the same on all nodes, to what `openssl rand -hex 16` prints, for example");
  const auto host_if_free = [this] {
    if (!server_) try {
        server_ = std::make_unique<StoreServer>(options_.token, host_, port_);
      } catch (const DistributedError&) {
        // Another launcher of this machine has it, or it is another machine's.
      }
  };
  const Deadline deadline = after(options_.timeout);
  for (;;) try {
      host_if_free();  // again and again: of two that ask for the port at the same moment, Linux may give it to neither
      distributed::connect_to(host_, port_, after(kLook), "the launcher of node 0");
      break;
    } catch (const DistributedError&) {
      check_();
      if (Clock::now() >= deadline) throw;
    }
  store_ = connect();

  const std::string mine = std::to_string(options_.nodes) + " " + std::to_string(options_.max_restarts) + " " +
                           std::to_string(options_.ranks) + " " + random_token();
  node_ = server_ ? 0 : 1;
  while (node_ < options_.nodes && store_->set_once("node/" + std::to_string(node_), mine) != mine) ++node_;
  TANDEM_CHECK(node_ < options_.nodes, "launch: ", options_.nodes, " nodes were asked for, and so many have come to ",
               options_.rdzv, " before this one");
  for (int i = 0; i < options_.nodes; ++i) {
    std::istringstream text(wait_for("node/" + std::to_string(i), "node " + std::to_string(i)));
    int nodes = 0, restarts = 0, ranks = 0;
    text >> nodes >> restarts >> ranks;
    TANDEM_CHECK(nodes == options_.nodes && restarts == options_.max_restarts, "launch: node ", i, " was started with ",
                 "--nodes ", nodes, " --max-restarts ", restarts, ", this one with --nodes ", options_.nodes,
                 " --max-restarts ", options_.max_restarts, "; they must be the same");
    if (i < node_) first_rank_ += ranks;
    world_size_ += ranks;
  }
}
Nodes::~Nodes() {
  store_.reset();
  if (server_) server_->wait_for_clients_to_leave(milliseconds(5000));  // they may not have read the end yet
}
std::unique_ptr<StoreClient> Nodes::connect() const {
  return std::make_unique<StoreClient>(host_, port_, options_.token, kPatience, "the launcher of node 0");
}
std::string Nodes::wait_for(const std::string& key, const std::string& who) {
  for (const Deadline deadline = after(options_.timeout);;) {
    if (auto value = store_->find(key, kLook)) return *std::move(value);
    check_();
    TANDEM_CHECK(Clock::now() < deadline, "launch: ", who, " of ", options_.nodes, " did not come to ", options_.rdzv,
                 " within ", options_.timeout.count() / 1000, " s");
  }
}

Attempt::Attempt(Nodes* nodes, int number) : nodes_(nodes), number_(number), token_(random_token()) {
  if (!nodes) {
    server_ = std::make_unique<StoreServer>(token_, address_, 0, kReapTime);
    port_ = server_->port();
    return;
  }
  const std::string me = std::to_string(nodes->node());
  address_ = nodes->host_;
  if (nodes->node() == 0) {
    server_ = std::make_unique<StoreServer>(token_, address_, 0, kReapTime);
    nodes->store_->set(key("store"), std::to_string(server_->port()) + " " + token_);
  }
  nodes->store_->set(key("node/" + me), "ready");
  for (int i = 0; i < nodes->options_.nodes; ++i)
    nodes->wait_for(key("node/" + std::to_string(i)), "node " + std::to_string(i));
  std::istringstream place(nodes->wait_for(key("store"), "the ranks' store"));
  place >> port_ >> token_;
  if (!server_) ranks_ = std::make_unique<StoreClient>(address_, port_, token_, kPatience, "the launcher of node 0");
  word_ = make_pipe();
  watch_ = nodes->connect();
  thread_ = detail::start_thread("the watch over other nodes", [this] { watch(); });
}
Attempt::~Attempt() {
  if (!nodes_) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  watch_->interrupt();
  thread_.join();
}
void Attempt::tell(RankPlace& place) const {
  place.store_address = address_, place.store_port = port_, place.token = token_;
}
void Attempt::watch() {
  End end;
  try {
    std::optional<std::string> text;
    while (!text) text = watch_->find(key("end"), std::chrono::hours(1));
    end = end_of(*text);
  } catch (const std::exception& error) {
    end = {1, false, error.what()};  // node 0's launcher is gone
  }
  const std::lock_guard lock(mutex_);
  if (stops_) return;
  if (!end_) end_ = end;
  (void)!::write(word_.write.get(), "!", 1);
}
void Attempt::fail(const End& end) {
  const std::string cause = end.cause.substr(0, 4096);
  if (server_) server_->set(distributed::kFailureKey, cause);
  if (!nodes_) return;
  try {
    if (ranks_) ranks_->set(distributed::kFailureKey, cause);
    nodes_->store_->set_once(key("end"), text_of(end));
  } catch (const DistributedError&) {
    // Who hosts it is gone, and with it the ranks' store: they know.
  }
}
void Attempt::excuse(int rank) {
  if (server_) server_->excuse(rank);
}
void Attempt::done() {
  if (!nodes_) {
    end_ = End{};
    return;
  }
  try {
    nodes_->store_->set(key("done/" + std::to_string(nodes_->node())), "done");
    for (int i = 0; i < nodes_->options_.nodes; ++i)
      if (!nodes_->store_->find(key("done/" + std::to_string(i)), milliseconds(0))) return;
    nodes_->store_->set_once(key("end"), text_of({}));  // whoever comes last sees all
  } catch (const DistributedError&) {
    // The thread has heard of it too.
  }
}
std::optional<Attempt::End> Attempt::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

}  // namespace tandem::tools
