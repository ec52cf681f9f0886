// One call of backward as data: which nodes take part, what waits for what, and the gradients on their way. engine.cpp
// decides which thread runs which node.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <unordered_map>

#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::autograd {

/// A gradient on its way into a slot. Those that meet are summed by descending sequence of their senders, which is the
/// order in which one thread meets them; then, for nodes that workers made at the same time, by how the graph was
/// walked, and by edge: the sum does not depend on who came first.
struct Arrival {
  uint64_t sequence;
  size_t visit;
  uint32_t edge;
  Tensor grad;
};
/// What is known of a node that takes part.
struct Pending {
  size_t visit = 0;  // the how-manieth node that discover() came to
  int dependencies = 0;
  bool needed = true;   // it runs
  bool reached = true;  // its gradient is wanted: it runs, or was asked for
  std::vector<std::vector<Arrival>> slots;
  std::vector<std::pair<uint32_t, Tensor*>> captures;  // slot, and where its gradient is returned
};

/// One call of backward.
struct GraphTask {
  std::unordered_map<Node*, Pending> nodes;
  bool retain, create, several_devices = false;
  bool pruned = false;   // not all gradients on the way are wanted: Pending::reached says which
  bool into_all = true;  // gradients are added to all leaves; otherwise to these alone
  std::set<const Node*> into;
  int devices = 1;  // how many its nodes are on
  RankContext context;
  uint64_t last_sequence = 0;  // of the nodes that workers made
  std::mutex mutex;            // guards all of the above while several devices' workers run
  std::condition_variable done;
  int outstanding = 0;  // nodes queued or running
  std::exception_ptr failure;
  std::vector<std::function<void()>> callbacks;
  std::set<cuda::Streams> streams;  // other than the caller's on which nodes ran
};

/// A node whose inputs come from branches of the graph that were made side by side, as many inputs from each. What is
/// thrown in a node that only one of them leads to is thrown again through rethrow(), so that it can be named.
class JoinsBranches {
 public:
  virtual ~JoinsBranches() = default;
  virtual size_t branches() const = 0;
  [[noreturn]] virtual void rethrow(const std::exception_ptr& exception, size_t branch) const = 0;
};

// Note [Streams of backward]: a node runs on the streams of its forward, an accumulator on those of the call of
// backward. Where a gradient comes to other streams, these wait for the ones that made it, and its memory is kept until
// both are done with it. When backward returns, the caller's streams have been told to wait for all of it.

/// Where a node's work goes.
inline const cuda::Streams& streams_for(const GraphTask& task, const Node& node) {
  return node.edges().empty() ? task.context.streams : node.streams();
}

/// Counts how many edges lead into each node that is reachable from the roots.
void discover(GraphTask& task, const std::vector<Edge>& roots);
/// Marks `targets` as reached, and the nodes on a path to one of them as such that run.
void prune(GraphTask& task, const std::set<const Node*>& targets);
/// Brings the gradient of an edge, number `edge_number` of the node `from`, to where it leads. It was made on the
/// streams that are current.
/// @throws Error when it does not fit the tensor that it is the gradient of
void deliver(GraphTask& task, const Node& from, uint64_t sequence, size_t visit, uint32_t edge_number, const Edge& edge,
             Tensor grad);
/// Runs one node, all of whose gradients have arrived, and returns those that became ready.
std::vector<NodePtr> run_node(GraphTask& task, const NodePtr& node);

}  // namespace tandem::autograd
