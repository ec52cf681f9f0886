// Coordinates the launchers of one job on several nodes, and holds the store of each attempt. Internal to ranks.cpp.
#pragma once
#include <chrono>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tools/launch/process.h"

namespace tandem::tools {

/// Sends regular reports of this node's launcher to the launchers' store, and learns from the store which launcher is
/// lost first. A launcher is lost if its connection has ended, or if it has been silent for `silence` (its process is
/// stopped, or the link is cut). Each launcher reports to node 0, and judges node 0 by its answers.
class NodeWatch {
 public:
  /// @param name, host  names of this node and of node 0, for messages
  NodeWatch(std::unique_ptr<distributed::StoreClient> store, int node, const std::string& name, const std::string& host,
            std::chrono::milliseconds silence);
  ~NodeWatch();
  NodeWatch(const NodeWatch&) = delete;
  /// Returns an error that names the lost launcher; nothing while no launcher is lost.
  std::optional<std::string> lost() const;
  /// Returns a descriptor that becomes readable once a launcher is lost.
  int fd() const { return word_.read.get(); }
  /// Name of the group of all launchers in the store.
  static constexpr char kGroup[] = "launchers";

 private:
  void watch(int node, const std::string& name, const std::string& host, std::chrono::milliseconds silence);
  std::unique_ptr<distributed::StoreClient> store_;
  Pipe word_;
  mutable std::mutex mutex_;
  std::optional<std::string> lost_;
  bool stops_ = false;
  std::thread thread_;
};

/// The launchers of a job on several nodes, which meet in a store at HOST:PORT. The launcher that can listen there
/// hosts the store and is node 0; the others are numbered as they connect. Ranks are numbered node by node.
class Nodes {
 public:
  struct Options {
    int nodes = 2, ranks = 1;                                      // nodes of the job; ranks of this launcher
    int max_restarts = 0;                                          // must be equal on all nodes
    std::string rdzv = {};                                         // "HOST:PORT"
    std::string token = {};                                        // secret that the launchers share
    std::chrono::milliseconds timeout = std::chrono::minutes(5);   // limit until all launchers have connected
    std::chrono::milliseconds silence = std::chrono::seconds(10);  // silence after which a launcher is lost
  };
  /// Waits until all launchers have connected. Meanwhile calls `check` ten times a second, which may throw; `say`
  /// prints a line for the user. @throws Error that names the missing or lost node, or the options that differ between
  /// nodes
  Nodes(Options options, std::function<void()> check, std::function<void(const std::string&)> say);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  int node() const { return node_; }
  int first_rank() const { return first_rank_; }
  int world_size() const { return world_size_; }
  /// Returns "node 1 of 2 (host-b)", or "node 1 of 2" if the host is not known yet.
  std::string name_of(int node) const;
  /// Returns an error that names the first lost launcher; nullopt while none is lost.
  std::optional<std::string> lost() const { return watch_ ? watch_->lost() : std::nullopt; }
  /// Returns a descriptor that becomes readable once a launcher is lost.
  int fd() const { return watch_->fd(); }
  /// Deregisters this launcher, so that the others do not count it as lost.
  void leave();

 private:
  friend class Attempt;
  std::unique_ptr<distributed::StoreClient> connect() const;
  /// Returns the value of `key` as soon as `node` has set it. @param what  expected action, for messages: "to come"
  std::string wait_for(const std::string& key, int node, const std::string& what);
  Options options_;
  std::function<void()> check_;
  std::function<void(const std::string&)> say_;
  std::string host_;
  std::vector<std::string> hosts_;  // by node; "": not known yet
  int port_ = 0, node_ = 0, first_rank_ = 0, world_size_ = 0;
  std::unique_ptr<distributed::StoreServer> server_;
  std::unique_ptr<distributed::StoreClient> store_;
  std::unique_ptr<NodeWatch> watch_;  // last: its destructor ends its thread
};

/// One attempt to run the job: the store through which the ranks find each other, and the end that all launchers agree
/// on.
class Attempt {
 public:
  /// Starts an attempt. Waits for the other nodes' launchers. @param nodes  null: a single launcher
  /// @throws Error if a launcher does not come
  Attempt(Nodes* nodes, int number);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  /// Sets the place's store_address, store_port and token, with which ranks find the store.
  void tell(RankPlace& place) const;
  /// The end of an attempt; the first launcher to report one decides. is_failure: a rank failed, so all launchers may
  /// restart.
  struct End {
    int status = 0;
    bool is_failure = false;
    std::string cause = {};
  };
  void fail(const End& end);
  /// Tells the store that a rank ended successfully, so that it is not reported as lost.
  void excuse(int rank);
  /// Reports that all of this launcher's ranks ended successfully. The attempt ends when all launchers have reported
  /// this.
  void done();
  /// Returns a descriptor that becomes readable when a launcher has reported the end; -1 for a single launcher.
  int fd() const { return nodes_ ? word_.read.get() : -1; }
  /// Returns the attempt's end; nullopt while it runs.
  std::optional<End> end() const;

 private:
  void watch();
  std::string key(const std::string& rest) const { return "attempt/" + std::to_string(number_) + "/" + rest; }
  static constexpr std::chrono::milliseconds kReapTime{200};  // delay until a rank's exit status is known
  Nodes* nodes_;
  int number_;
  std::string token_, address_ = "127.0.0.1";
  int port_ = 0;
  std::unique_ptr<distributed::StoreServer> server_;
  std::unique_ptr<distributed::StoreClient> ranks_,
      watch_;  // ranks_: to the ranks' store, null on node 0; watch_: for thread_
  Pipe word_ = {};
  mutable std::mutex mutex_;
  std::optional<End> end_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace tandem::tools
