// Finds the nodes that take part in a backward, runs each node with hooks and checks, and delivers gradients.
#include "tandem/autograd/graph_task.h"

#include <algorithm>
#include <typeinfo>

#include "tandem/autograd/anomaly_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/cuda/streams.h"

namespace tandem::autograd {
namespace {

/// Makes a gradient that was computed on the current streams usable on the streams `to`.
void hand_over(const Tensor& grad, const cuda::Streams& to) {
  if (RankContext::current().streams == to || !grad.is_cuda()) return;
  const cuda::Stream &made = cuda::current_stream(grad.device()), &used = cuda::stream_of(to, grad.device());
  if (made == used) return;
  used.wait_stream(made);
  grad.record_stream(used);
}

Tensor sum_in_order(std::vector<Arrival>& arrivals) {
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return a.sequence != b.sequence ? a.sequence > b.sequence : std::tie(a.visit, a.edge) < std::tie(b.visit, b.edge);
  });
  Tensor total = std::move(arrivals[0].grad);
  for (size_t i = 1; i < arrivals.size(); ++i) total = total.add(arrivals[i].grad);
  return total;
}

/// Checks a gradient where it is computed, so that errors name the backward that returned it. Converts it to the
/// tensor's dtype, and sums it over dimensions that were broadcast.
Tensor fit(const Node& from, const Node& to, uint32_t index, uint32_t slot, Tensor grad) {
  const Node::Slot& want = to.slot(slot);
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

/// @throws Error that names the node and the input if a gradient contains NaN
void check_no_nan(const Node& node, const Grads& grads) {
  for (size_t i = 0; i < grads.size(); ++i)
    TANDEM_CHECK(!grads[i].defined() || !grads[i].is_floating_point() || !grads[i].isnan().any().item<bool>(),
                 "backward of ", node.name(), " returned nan values in its ", i, "th output, a gradient of ",
                 grads[i].sizes());
}
Grads apply_traced(Node& node, Grads&& grads) {
  const MakerGuard maker(node.name(), node.forward_place());
  Grads results = node.apply(std::move(grads));
  if (AnomalyMode::should_check_nan()) {
    const NoGradGuard guard;
    check_no_nan(node, results);
  }
  return results;
}
/// Calls a node's backward. If it throws, the error keeps its type, and its message gains the node's name and, in
/// anomaly mode, the place where the node was made.
Grads apply_named(Node& node, Grads&& grads) {
  const auto named = [&](const Error& error) {
    std::string what = error.what();
    if (what.find("backward of") == std::string::npos) what = "backward of " + node.name() + ": " + what;
    if (AnomalyMode::is_enabled()) {
      what += "\n" + node.name();
      what += node.forward_place() ? " was recorded at:" + describe(*node.forward_place())
                                   : " was recorded without anomaly mode; run the forward under it to learn where";
    }
    return what;
  };
  try {
    return AnomalyMode::is_enabled() ? apply_traced(node, std::move(grads)) : node.apply(std::move(grads));
  } catch (const IndexError& error) {
    throw IndexError(named(error));
  } catch (const NotImplementedError& error) {
    throw NotImplementedError(named(error));
  } catch (const OutOfMemoryError& error) {
    throw OutOfMemoryError(named(error));
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;
    throw Error(named(error));
  }
}

}  // namespace

void discover(GraphTask& task, const std::vector<Edge>& roots) {
  std::vector<Node*> stack;
  const auto visit = [&](Node* node) {
    const auto [at, added] = task.nodes.try_emplace(node);
    if (added) {
      at->second.visit = task.nodes.size();
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
  task.devices = static_cast<int>(devices.size());
  task.several_devices = devices.size() > 1;
}

void prune(GraphTask& task, const std::set<const Node*>& targets) {
  std::unordered_map<const Node*, std::vector<Node*>> consumers;
  std::vector<const Node*> stack;
  for (auto& [node, pending] : task.nodes) {
    pending.needed = false;
    pending.reached = targets.count(node) > 0;
    for (const Edge& edge : node->edges())
      if (edge.function) consumers[edge.function.get()].push_back(node);
    if (targets.count(node)) stack.push_back(node);
  }
  while (!stack.empty()) {
    const Node* const node = stack.back();
    stack.pop_back();
    for (Node* consumer : consumers[node]) {
      Pending& pending = task.nodes.at(consumer);
      pending.reached = true;
      if (!std::exchange(pending.needed, true)) stack.push_back(consumer);
    }
  }
}

void deliver(GraphTask& task, const Node& from, uint64_t sequence, size_t visit, uint32_t edge_number, const Edge& edge,
             Tensor grad) {
  grad = fit(from, *edge.function, edge_number, edge.input_nr, std::move(grad));
  const cuda::Streams& streams = streams_for(task, *edge.function);
  hand_over(grad, streams);
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.several_devices) lock.lock();
  Pending& pending = task.nodes.at(edge.function.get());
  if (pending.slots.empty()) pending.slots.resize(edge.function->slot_count());
  auto& arrivals = pending.slots[edge.input_nr];
  if (!task.several_devices && arrivals.size() == 1) {
    // A single thread delivers gradients in the right order, so they can be summed at once.
    const cuda::StreamGuard guard(streams);
    arrivals[0].grad = arrivals[0].grad.add(grad);
    return;
  }
  arrivals.push_back({sequence, visit, edge_number, std::move(grad)});
}

namespace {

bool leads_to(const Node* from, const Node& to) {
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
/// Rethrows an exception of a node. If the node belongs to only one branch of a JoinsBranches node, that node's
/// rethrow() throws it.
[[noreturn]] void rethrow_from(const GraphTask& task, const Node& node, const std::exception_ptr& exception) {
  for (const auto& [each, pending] : task.nodes) {
    const auto* const join = dynamic_cast<const JoinsBranches*>(each);
    if (!join || join->branches() < 2) continue;
    std::set<size_t> found;
    const size_t from_each = each->edges().size() / join->branches();
    for (size_t i = 0; i < each->edges().size(); ++i)
      if (each->edges()[i].function && leads_to(each->edges()[i].function.get(), node)) found.insert(i / from_each);
    if (found.size() == 1) join->rethrow(exception, *found.begin());
  }
  std::rethrow_exception(exception);
}

std::vector<NodePtr> run_unnamed(GraphTask& task, const NodePtr& node) {
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.several_devices) lock.lock();
  Pending pending = std::move(task.nodes.at(node.get()));
  const cuda::Streams& streams = streams_for(task, *node);
  if (streams != task.context.streams) task.streams.insert(streams);
  if (lock) lock.unlock();
  const cuda::StreamGuard guard(streams);

  Grads grads(node->slot_count());
  bool any = false;
  for (size_t s = 0; s < pending.slots.size(); ++s) {
    if (pending.slots[s].empty()) continue;
    Tensor came = sum_in_order(pending.slots[s]);
    const auto capture = [&](const Tensor& gradient) {
      for (const auto& [slot, target] : pending.captures)
        if (slot == s) *target = gradient;
    };
    // PyTorch's rule: if grad() also asks for a tensor from which this one was computed, it returns the gradient before
    // the hooks, and the hooks change only the gradient that flows on. Otherwise it returns the result of the hooks.
    if (pending.needed) capture(came);
    grads[s] = node->run_hooks(static_cast<uint32_t>(s), std::move(came));
    if (!pending.needed) capture(grads[s]);
    any = true;
  }
  pending.slots.clear();
  for (const auto& [slot, cell] : node->retained())
    if (cell->defined()) hand_over(*cell, task.context.streams);
  for (const auto& [slot, target] : pending.captures)
    if (target->defined()) hand_over(*target, task.context.streams);

  Grads results;
  if (any && pending.needed) {
    results = apply_named(*node, std::move(grads));
    TANDEM_CHECK(results.size() <= node->edges().size() || node->edges().empty(), "backward of ", node->name(),
                 " returned an invalid number of gradients - got ", results.size(), ", but expected ",
                 node->edges().size());
    if (!task.retain) node->release();
  }
  std::vector<NodePtr> ready;
  for (uint32_t i = 0; i < node->edges().size(); ++i) {
    const Edge& edge = node->edges()[i];
    if (!edge.function) continue;
    const auto next = task.nodes.find(edge.function.get());
    if (next == task.nodes.end() || !next->second.reached) continue;  // not on a path to a requested tensor
    if (i < results.size() && results[i].defined())
      deliver(task, *node, node->sequence(), pending.visit, i, edge, std::move(results[i]));
    if (task.several_devices) lock.lock();
    if (--next->second.dependencies == 0) ready.push_back(edge.function);
    if (lock) lock.unlock();
  }
  return ready;
}

}  // namespace

std::vector<NodePtr> run_node(GraphTask& task, const NodePtr& node) {
  try {
    return run_unnamed(task, node);
  } catch (...) {
    rethrow_from(task, *node, std::current_exception());
  }
}

}  // namespace tandem::autograd
