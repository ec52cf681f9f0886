// Coordinates the launchers of a job that runs on several nodes, and holds the store that the ranks of an attempt use.
// Internal to ranks.cpp.
#pragma once
#include <chrono>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tools/launch/process.h"

namespace tandem::tools {

/// Watches for lost launchers. Regularly reports to the launchers' store, on node 0, that this node's launcher is
/// alive; the reply tells whether a launcher is lost. A launcher is lost if its connection has ended, or if it has sent
/// nothing for `heartbeat_timeout` (because its process is stopped or the network link is down). If node 0 does not
/// answer for `heartbeat_timeout`, node 0 itself is lost.
class NodeWatchdog {
 public:
  /// @param name, host  names of this node and of node 0, used in error messages
  NodeWatchdog(std::unique_ptr<distributed::StoreClient> store, int node, const std::string& name,
               const std::string& host, std::chrono::milliseconds heartbeat_timeout);
  ~NodeWatchdog();
  NodeWatchdog(const NodeWatchdog&) = delete;
  /// Returns an error message that names the lost launcher; nullopt if no launcher is lost.
  std::optional<std::string> get_lost_node_error() const;
  /// Returns a file descriptor that becomes readable once a launcher is lost.
  int fd() const { return wake_pipe_.read_end.get(); }
  /// Name of the group in the store to which all launchers belong.
  static constexpr char kGroup[] = "launchers";

 private:
  void watch_loop(int node, const std::string& name, const std::string& host,
                  std::chrono::milliseconds heartbeat_timeout);
  std::unique_ptr<distributed::StoreClient> store_;
  Pipe wake_pipe_;
  mutable std::mutex mutex_;
  std::optional<std::string> lost_node_error_;
  bool is_stopping_ = false;
  std::thread thread_;
};

/// The launchers of a job on several nodes. They meet in a store at HOST:PORT. The launcher that can listen on that
/// address hosts the store and becomes node 0; the other launchers are numbered in the order in which they connect.
/// Ranks are numbered node by node.
class Nodes {
 public:
  struct Options {
    /// Number of nodes of the job (`nodes`), and number of ranks that this launcher starts (`ranks`).
    int nodes = 2, ranks = 1;
    // maximum number of restarts; must be equal on all nodes
    int max_restarts = 0;
    std::string rdzv = {};                                        // "HOST:PORT"
    std::string token = {};                                       // shared secret of the launchers
    std::chrono::milliseconds timeout = std::chrono::minutes(5);  // time limit until all launchers have connected
    std::chrono::milliseconds heartbeat_timeout =
        std::chrono::seconds(10);  // a launcher that is silent for this long is lost
  };
  /// Waits until all launchers have connected. Calls `check` ten times a second while it waits; `check` may throw to
  /// end the wait. Calls `print_message` to print a message for the user.
  /// @throws Error that names the missing or lost node, or the options that differ between nodes
  Nodes(Options options, std::function<void()> check, std::function<void(const std::string&)> print_message);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  int node() const { return node_; }
  int first_rank() const { return first_rank_; }
  int world_size() const { return world_size_; }
  /// Returns the name of a node for messages: "node 1 of 2 (host-b)", or "node 1 of 2" if its host is not known yet.
  std::string node_name(int node) const;
  /// Returns an error message that names the first lost launcher; nullopt if no launcher is lost.
  std::optional<std::string> get_lost_node_error() const {
    return watchdog_ ? watchdog_->get_lost_node_error() : std::nullopt;
  }
  /// Returns a file descriptor that becomes readable once a launcher is lost.
  int fd() const { return watchdog_->fd(); }
  /// Deregisters this launcher from the store, so that the other launchers do not count it as lost.
  void deregister();

 private:
  friend class Attempt;
  std::unique_ptr<distributed::StoreClient> connect() const;
  /// Waits until `node` has set `key`, and returns the value. @param what  what the node is expected to do, for
  /// messages: "to come"
  std::string wait_for(const std::string& key, int node, const std::string& what);
  Options options_;
  std::function<void()> check_interrupt_;
  std::function<void(const std::string&)> print_message_;
  std::string host_;
  std::vector<std::string> hosts_;  // host name of each node; "" if it is not known yet
  int port_ = 0, node_ = 0, first_rank_ = 0, world_size_ = 0;
  std::unique_ptr<distributed::StoreServer> server_;
  std::unique_ptr<distributed::StoreClient> store_;
  std::unique_ptr<NodeWatchdog>
      watchdog_;  // declared last, because its destructor ends a thread that uses the other members
};

/// One attempt to run the job. Holds the store through which the ranks find each other, and the result on which all
/// launchers agree.
class Attempt {
 public:
  /// Starts an attempt, and waits for the launchers of the other nodes. @param nodes  null if the job has only one
  /// launcher
  /// @throws Error if a launcher does not come
  Attempt(Nodes* nodes, int number);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  /// Sets store_address, store_port and token in `rank_env`, with which a rank connects to the store.
  void set_store_address(RankEnvironment& rank_env) const;
  /// Result of an attempt. The first launcher that reports a result determines it. If is_failure, a rank failed, so the
  /// launchers may restart the ranks.
  struct Result {
    int status = 0;
    bool is_failure = false;
    std::string cause = {};
  };
  void report_failure(const Result& end);
  /// Tells the store that a rank ended successfully, so that the store does not report it as lost.
  void mark_ended_normally(int rank);
  /// Reports that all ranks of this launcher ended successfully. The attempt ends once all launchers have reported
  /// this.
  void report_success();
  /// Returns a file descriptor that becomes readable once a launcher has reported the result; -1 if the job has only
  /// one launcher.
  int fd() const { return nodes_ ? wake_pipe_.read_end.get() : -1; }
  /// Returns the result of the attempt; nullopt while the attempt runs.
  std::optional<Result> get_result() const;

 private:
  void watch_loop();
  std::string make_store_key(const std::string& rest) const {
    return "attempt/" + std::to_string(attempt_number_) + "/" + rest;
  }
  /// Time that a launcher needs to learn a rank's exit status.
  static constexpr std::chrono::milliseconds kReapTime{200};
  Nodes* nodes_;
  int attempt_number_;
  std::string token_, address_ = "127.0.0.1";
  int port_ = 0;
  std::unique_ptr<distributed::StoreServer> server_;
  // ranks_store_: connection to the ranks' store; null on node 0, which hosts it. watch_store_: the connection that
  // thread_ uses.
  std::unique_ptr<distributed::StoreClient> ranks_store_, watch_store_;
  Pipe wake_pipe_ = {};
  mutable std::mutex mutex_;
  std::optional<Result> result_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace tandem::tools
