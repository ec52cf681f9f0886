// Launchers of one job on several nodes, and the store of each attempt to run it. Internal to ranks.cpp.
#pragma once
#include <chrono>
#include <mutex>
#include <thread>

#include "tandem/parallel/collectives/store/store.h"
#include "tandem/tools/launch/process.h"

namespace tandem::tools {

/// Reports this node's launcher to the launchers' store, and hears there of the first launcher that is lost: whose
/// connection has ended, or which has not been heard of for `silence` (it is stopped, or the link to it is cut). Each
/// launcher reports to the one of node 0, and watches that one by its answers.
class NodeWatch {
 public:
  /// @param name, host  this node's and node 0's
  NodeWatch(std::unique_ptr<distributed::StoreClient> store, int node, const std::string& name, const std::string& host,
            std::chrono::milliseconds silence);
  ~NodeWatch();
  NodeWatch(const NodeWatch&) = delete;
  /// Returns an error that names the lost launcher; nothing while no launcher is lost.
  std::optional<std::string> lost() const;
  /// Readable once a launcher is lost.
  int fd() const { return word_.read.get(); }
  /// In the store: the group of all launchers.
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

/// The launchers, which meet in a store at HOST:PORT: the one that can listen there hosts it and is node 0, the others
/// are counted as they come. The ranks of a node follow those of the nodes before it.
class Nodes {
 public:
  struct Options {
    int nodes = 2, ranks = 1;                                      // of all; of this launcher
    int max_restarts = 0;                                          // which must be the same everywhere
    std::string rdzv = {};                                         // "HOST:PORT"
    std::string token = {};                                        // that keeps strangers out
    std::chrono::milliseconds timeout = std::chrono::minutes(5);   // until all have come
    std::chrono::milliseconds silence = std::chrono::seconds(10);  // after which a launcher is lost
  };
  /// Returns when all launchers have come. Meanwhile `check` is called ten times a second, and may throw; `say` prints
  /// a line for the user. @throws Error naming the node that did not come or is lost, or the options that do not agree
  Nodes(Options options, std::function<void()> check, std::function<void(const std::string&)> say);
  ~Nodes();
  Nodes(const Nodes&) = delete;
  int node() const { return node_; }
  int first_rank() const { return first_rank_; }
  int world_size() const { return world_size_; }
  /// "node 1 of 2 (host-b)", as far as its host is known.
  std::string name_of(int node) const;
  /// The first launcher that is lost, and how.
  std::optional<std::string> lost() const { return watch_ ? watch_->lost() : std::nullopt; }
  /// Readable once a launcher is lost.
  int fd() const { return watch_->fd(); }
  /// This launcher is done: the others do not miss it.
  void leave();

 private:
  friend class Attempt;
  std::unique_ptr<distributed::StoreClient> connect() const;
  /// @param what  the node does meanwhile, for the user: "to come"
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

/// One attempt to run the job: the store where its ranks find each other, and how it ended for all launchers.
class Attempt {
 public:
  /// Of one launcher alone, or of all nodes, for which it waits. @throws Error when one does not come
  Attempt(Nodes* nodes, int number);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  /// Where ranks find the store: the last three members of RankPlace.
  void tell(RankPlace& place) const;
  /// How it ended: the first to say so counts. Other launchers start it again only after a failure of a rank.
  struct End {
    int status = 0;
    bool is_failure = false;
    std::string cause = {};
  };
  void fail(const End& end);
  /// A rank has ended well: nobody misses it.
  void excuse(int rank);
  /// This launcher's ranks have all ended well. True when there are no others.
  void done();
  /// Readable when the attempt has ended on another node; -1: never.
  int fd() const { return nodes_ ? word_.read.get() : -1; }
  /// How it has ended for all, as far as it has.
  std::optional<End> end() const;

 private:
  void watch();
  std::string key(const std::string& rest) const { return "attempt/" + std::to_string(number_) + "/" + rest; }
  static constexpr std::chrono::milliseconds kReapTime{200};  // until a rank's end is known, with its status
  Nodes* nodes_;
  int number_;
  std::string token_, address_ = "127.0.0.1";
  int port_ = 0;
  std::unique_ptr<distributed::StoreServer> server_;
  std::unique_ptr<distributed::StoreClient> ranks_, watch_;  // to another node's server; for the thread
  Pipe word_ = {};
  mutable std::mutex mutex_;
  std::optional<End> end_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace tandem::tools
