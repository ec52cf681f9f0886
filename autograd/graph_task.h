// GraphTask: the state of one backward: the nodes that take part, their dependencies, and the gradients not yet used.
// engine.cpp decides which thread runs which node.
#pragma once
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <unordered_map>

#include "tandem/autograd/node.h"
#include "tandem/core/internal.h"

namespace tandem::autograd {

/// A gradient sent to a slot of a node. The node has one slot for each result of its operation. Gradients in one slot
/// are summed in a fixed order, so that the sum does not depend on the timing of threads: by descending sequence number
/// of the sending nodes, as a single thread would send them; for equal numbers (nodes made by several workers), by
/// discovery_index, then by edge_index.
struct IncomingGrad {
  uint64_t sequence_nr;
  size_t discovery_index;
  uint32_t edge_index;
  Tensor grad;
};
/// State of a node that takes part in a backward.
struct NodeState {
  size_t discovery_index = 0;  // position in the order in which compute_dependencies() found the nodes
  int dependencies = 0;
  bool should_execute = true;  // whether the node runs
  // whether the gradient that arrives at the node is needed: the node runs, or grad() asks for the gradient
  bool is_grad_needed = true;
  std::vector<std::vector<IncomingGrad>> input_buffers;
  // Slots whose gradients were requested, and the tensors in which to return them.
  std::vector<std::pair<uint32_t, Tensor*>> captures;
};

/// State of one call of backward.
struct GraphTask {
  std::unordered_map<Node*, NodeState> nodes;
  bool retain_graph, create_graph, uses_multiple_devices = false;
  bool is_restricted_to_targets =
      false;  // whether only the gradients of requested tensors are needed: see NodeState::is_grad_needed
  bool accumulates_into_all_leaves =
      true;  // whether gradients accumulate into all leaves; if false, only into the leaves in `accumulate_grad_nodes`
  std::set<const Node*> accumulate_grad_nodes;
  int num_devices = 1;  // number of devices on which the nodes of this backward run
  ThreadContext context;
  uint64_t next_sequence_nr = 0;  // sequence number that follows the numbers of all nodes that workers have made
  std::mutex mutex;               // guards the members of this task while several workers run its nodes
  std::condition_variable done;
  int outstanding_tasks = 0;  // number of nodes of this backward that are queued or running
  std::exception_ptr failure;
  std::vector<std::function<void()>> final_callbacks;
  std::set<cuda::Streams> streams;  // CUDA streams, other than the caller's, on which nodes ran
};

/// A node whose inputs come from parallel branches of the graph, the same number from each branch. An exception from a
/// node that belongs to one branch only is passed to rethrow(), which can name the branch.
class MultiBranchNode {
 public:
  virtual ~MultiBranchNode() = default;
  virtual size_t num_branches() const = 0;
  [[noreturn]] virtual void rethrow(const std::exception_ptr& exception, size_t branch) const = 0;
};

// Note [Streams of backward]: a node runs on the streams of its forward, an accumulator on the streams of the
// backward's caller. If a gradient is used on other streams, these wait for the streams that computed it, and its
// memory is kept until both are done. When backward returns, the caller's streams wait for all of its work.

/// Returns the streams on which a node runs; see Note [Streams of backward].
inline const cuda::Streams& streams_for(const GraphTask& task, const Node& node) {
  return node.edges().empty() ? task.context.streams : node.streams();
}

/// Finds the nodes reachable from the roots, and counts the edges that lead into each.
void compute_dependencies(GraphTask& task, const std::vector<Edge>& roots);
/// Restricts the task to the gradients of `targets`. Sets is_grad_needed for targets, sets is_grad_needed and
/// should_execute for nodes on a path to a target, and clears both for all other nodes.
void restrict_to_targets(GraphTask& task, const std::set<const Node*>& targets);
/// Delivers a gradient computed on the current streams along an edge, which is edge number `edge_index` of node
/// `from`.
/// @throws Error if the gradient does not fit the tensor that it belongs to
void deliver_grad(GraphTask& task, const Node& from, uint64_t sequence_nr, size_t discovery_index, uint32_t edge_index,
                  const Edge& edge, Tensor grad);
/// Runs a node whose gradients have all arrived, and returns the nodes that are ready now.
std::vector<NodePtr> run_node(GraphTask& task, const NodePtr& node);

}  // namespace tandem::autograd
