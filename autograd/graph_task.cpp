// Finds the nodes that take part in a backward, runs each node with hooks and checks, and delivers gradients.
#include "tandem/autograd/graph_task.h"

#include <algorithm>
#include <optional>
#include <typeinfo>

#include "tandem/autograd/anomaly_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/streams.h"
#include "tandem/core/trace/op_span.h"

namespace tandem::autograd {
namespace {

/// Makes a gradient that was computed on the current CUDA streams usable on the CUDA streams `to`.
void sync_grad_to_streams(const Tensor& grad, const cuda::Streams& to) {
  if (ThreadContext::current().streams == to || !grad.is_cuda()) return;
  const cuda::Stream &made = cuda::current_stream(grad.device()), &used = cuda::stream_of(to, grad.device());
  if (made == used) return;
  used.wait_stream(made);
  grad.record_stream(used);
}

Tensor sum_incoming_grads(std::vector<IncomingGrad>& incoming) {
  std::sort(incoming.begin(), incoming.end(), [](const IncomingGrad& a, const IncomingGrad& b) {
    return a.sequence_nr != b.sequence_nr
               ? a.sequence_nr > b.sequence_nr
               : std::tie(a.discovery_index, a.edge_index) < std::tie(b.discovery_index, b.edge_index);
  });
  Tensor total = std::move(incoming[0].grad);
  for (size_t i = 1; i < incoming.size(); ++i) total = total.add(incoming[i].grad);
  return total;
}

/// Checks a gradient where it is computed, so that errors name the backward that returned it. Converts it to the
/// tensor's dtype, and sums it over dimensions that were broadcast.
Tensor validate_grad(const Node& from, const Node& to, uint32_t index, uint32_t slot, Tensor grad) {
  const Node::InputMetadata& want = to.input_metadata(slot);
  if (grad.sizes() != want.sizes) {
    const IntArrayRef have = grad.sizes(), wanted = want.sizes;
    bool expands = have.size() >= wanted.size();
    for (size_t i = 1; expands && i <= wanted.size(); ++i) {
      const int64_t w = wanted[wanted.size() - i];
      expands = w == 1 || w == have[have.size() - i];
    }
    TANDEM_CHECK(expands, "backward of ", from.name(), " returned an invalid gradient at index ", index, " - got ",
                 have, " but expected shape compatible with ", wanted);
    grad = sum_to_size(grad, want.sizes);
  }
  if (grad.dtype() != want.dtype) grad = grad.to(want.dtype);
  TANDEM_CHECK(grad.device() == want.device, "backward of ", from.name(), " returned an invalid gradient at index ",
               index, " - expected device ", want.device, " but got ", grad.device());
  return grad;
}

/// Checks that no gradient contains NaN. @throws Error that names the node and the input if one does
void check_no_nan(const Node& node, const Grads& grads) {
  for (size_t i = 0; i < grads.size(); ++i)
    TANDEM_CHECK(!grads[i].defined() || !grads[i].is_floating_point() || !grads[i].isnan().any().item<bool>(),
                 "backward of ", node.name(), " returned nan values in its ", i, "th output, a gradient of ",
                 grads[i].sizes());
}
Grads apply_in_anomaly_mode(Node& node, Grads&& grads) {
  const ParentNodeGuard parent(node.name(), node.anomaly_metadata());
  Grads results = node.apply(std::move(grads));
  if (AnomalyMode::should_check_nan()) {
    const NoGradGuard guard;
    check_no_nan(node, results);
  }
  return results;
}
/// Calls a node's backward. If it throws, the error keeps its type, and its message gains the node's name and, in
/// anomaly mode, the place where the node was made.
Grads apply_with_error_context(Node& node, Grads&& grads) {
  const auto add_context = [&](const Error& error) {
    std::string what = error.what();
    if (what.find("backward of") == std::string::npos) what = "backward of " + node.name() + ": " + what;
    if (AnomalyMode::is_enabled()) {
      what += "\n" + node.name();
      what += node.anomaly_metadata() && !node.anomaly_metadata()->stack_frames.empty()
                  ? " was recorded at:" + format_anomaly_metadata(*node.anomaly_metadata())
                  : " was recorded without anomaly mode; run the forward under it to learn where";
    }
    return what;
  };
  try {
    return AnomalyMode::is_enabled() ? apply_in_anomaly_mode(node, std::move(grads)) : node.apply(std::move(grads));
  } catch (const IndexError& error) {
    throw IndexError(add_context(error));
  } catch (const NotImplementedError& error) {
    throw NotImplementedError(add_context(error));
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(add_context(error));
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;
    throw Error(add_context(error));
  }
}

}  // namespace

void compute_dependencies(GraphTask& task, const std::vector<Edge>& roots) {
  std::vector<Node*> stack;
  const auto visit = [&](Node* node) {
    const auto [at, added] = task.nodes.try_emplace(node);
    if (added) {
      at->second.discovery_index = task.nodes.size();
      stack.push_back(node);
    }
    return &at->second;
  };
  for (const Edge& root : roots) visit(root.function.get());
  std::vector<Device> devices{roots[0].function->device()};
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    if (std::find(devices.begin(), devices.end(), node->device()) == devices.end()) devices.push_back(node->device());
    for (const Edge& edge : node->edges())
      if (edge.function) ++visit(edge.function.get())->dependencies;
  }
  task.num_devices = static_cast<int>(devices.size());
  task.uses_multiple_devices = devices.size() > 1;
}

void restrict_to_targets(GraphTask& task, const std::set<const Node*>& targets) {
  std::unordered_map<const Node*, std::vector<Node*>> consumers;
  std::vector<const Node*> stack;
  for (auto& [node, state] : task.nodes) {
    state.should_execute = false;
    state.is_grad_needed = targets.count(node) > 0;
    for (const Edge& edge : node->edges())
      if (edge.function) consumers[edge.function.get()].push_back(node);
    if (targets.count(node)) stack.push_back(node);
  }
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    for (Node* consumer : consumers[node]) {
      NodeState& state = task.nodes.at(consumer);
      state.is_grad_needed = true;
      if (!std::exchange(state.should_execute, true)) stack.push_back(consumer);
    }
  }
}

void deliver_grad(GraphTask& task, const Node& from, uint64_t sequence_nr, size_t discovery_index, uint32_t edge_index,
                  const Edge& edge, Tensor grad) {
  grad = validate_grad(from, *edge.function, edge_index, edge.input_nr, std::move(grad));
  const cuda::Streams& streams = streams_for(task, *edge.function);
  sync_grad_to_streams(grad, streams);
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.uses_multiple_devices) lock.lock();
  NodeState& state = task.nodes.at(edge.function.get());
  if (state.input_buffers.empty()) state.input_buffers.resize(edge.function->num_inputs());
  auto& incoming = state.input_buffers[edge.input_nr];
  if (!task.uses_multiple_devices && incoming.size() == 1) {
    // If a single thread runs the backward, gradients arrive in the order in which they are to be summed: adds each at
    // once.
    const cuda::StreamGuard guard(streams);
    incoming[0].grad = incoming[0].grad.add(grad);
    return;
  }
  incoming.push_back({sequence_nr, discovery_index, edge_index, std::move(grad)});
}

namespace {

bool is_reachable_from(const Node* from, const Node& to) {
  std::set<const Node*> seen{from};
  std::vector<const Node*> stack{from};
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    if (node == &to) return true;
    for (const Edge& edge : node->edges())
      if (edge.function && seen.insert(edge.function.get()).second) stack.push_back(edge.function.get());
  }
  return false;
}
/// Rethrows an exception that `node` threw. If `node` belongs to only one branch of a MultiBranchNode, calls
/// MultiBranchNode::rethrow(), which can name the branch.
[[noreturn]] void rethrow_from_branch(const GraphTask& task, const Node& node, const std::exception_ptr& exception) {
  for (const auto& [each, state] : task.nodes) {
    const auto* const join = dynamic_cast<const MultiBranchNode*>(each);
    if (!join || join->num_branches() < 2) continue;
    std::set<size_t> found;
    const size_t from_each = each->edges().size() / join->num_branches();
    for (size_t i = 0; i < each->edges().size(); ++i)
      if (each->edges()[i].function && is_reachable_from(each->edges()[i].function.get(), node))
        found.insert(i / from_each);
    if (found.size() == 1) join->rethrow(exception, *found.begin());
  }
  std::rethrow_exception(exception);
}

std::vector<NodePtr> evaluate_function(GraphTask& task, const NodePtr& node) {
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.uses_multiple_devices) lock.lock();
  NodeState state = std::move(task.nodes.at(node.get()));
  const cuda::Streams& streams = streams_for(task, *node);
  if (streams != task.context.streams) task.streams.insert(streams);
  if (lock) lock.unlock();
  const cuda::StreamGuard guard(streams);

  Grads grads(node->num_inputs());
  bool any = false;
  for (size_t s = 0; s < state.input_buffers.size(); ++s) {
    if (state.input_buffers[s].empty()) continue;
    Tensor summed_grad = sum_incoming_grads(state.input_buffers[s]);
    const auto capture = [&](const Tensor& gradient) {
      for (const auto& [slot, target] : state.captures)
        if (slot == s) *target = gradient;
    };
    // PyTorch's rule: if grad() also asks for a tensor from which this one was computed, it returns the gradient before
    // the hooks, and the hooks change only the gradient that flows on. Otherwise it returns the result of the hooks.
    if (state.should_execute) capture(summed_grad);
    grads[s] = node->run_hooks(static_cast<uint32_t>(s), std::move(summed_grad));
    if (!state.should_execute) capture(grads[s]);
    any = true;
  }
  state.input_buffers.clear();
  for (const auto& [slot, cell] : node->retained_grads())
    if (cell->defined()) sync_grad_to_streams(*cell, task.context.streams);
  for (const auto& [slot, target] : state.captures)
    if (target->defined()) sync_grad_to_streams(*target, task.context.streams);

  Grads results;
  if (any && state.should_execute) {
    results = apply_with_error_context(*node, std::move(grads));
    TANDEM_CHECK(results.size() <= node->edges().size() || node->edges().empty(), "backward of ", node->name(),
                 " returned an invalid number of gradients - got ", results.size(), ", but expected ",
                 node->edges().size());
    if (!task.retain_graph) node->release_variables();
  }
  std::vector<NodePtr> ready;
  for (uint32_t i = 0; i < node->edges().size(); ++i) {
    const Edge& edge = node->edges()[i];
    if (!edge.function) continue;
    const auto next = task.nodes.find(edge.function.get());
    // this edge is not on a path to a requested tensor
    if (next == task.nodes.end() || !next->second.is_grad_needed) continue;
    if (i < results.size() && results[i].defined())
      deliver_grad(task, *node, node->sequence_nr(), state.discovery_index, i, edge, std::move(results[i]));
    if (task.uses_multiple_devices) lock.lock();
    if (--next->second.dependencies == 0) ready.push_back(edge.function);
    if (lock) lock.unlock();
  }
  return ready;
}

}  // namespace

std::vector<NodePtr> run_node(GraphTask& task, const NodePtr& node) {
  std::optional<OpSpan> span;
  if (is_any_trace_recording_kernels()) [[unlikely]]
    span.emplace(node->edges().empty() ? node->name() : node->name() + " backward",
                 node->anomaly_metadata() ? node->anomaly_metadata()->module_path : "");
  try {
    return evaluate_function(task, node);
  } catch (...) {
    rethrow_from_branch(task, *node, std::current_exception());
  }
}

}  // namespace tandem::autograd
