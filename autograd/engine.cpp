#include "tandem/autograd/engine.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <queue>
#include <set>
#include <thread>
#include <tuple>
#include <typeinfo>
#include <unordered_map>

#include "tandem/autograd/elementwise.h"
#include "tandem/autograd/factory.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/reduce.h"
#include "tandem/core/thread_pool.h"

namespace tandem::autograd {
namespace {

/// A gradient on its way into a slot. Those that meet are summed by descending sequence of their senders, which is the
/// order in which one thread meets them; then, for nodes that workers made at the same time, by how the graph was
/// walked, and by edge: the sum does not depend on who came first.
struct Arrival {
  uint64_t sequence;
  size_t visit;
  uint32_t edge;
  Tensor grad;
};
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
  RankContext context;
  uint64_t last_sequence = 0;  // of the nodes that workers made
  std::mutex mutex;            // guards all of the above while several devices' workers run
  std::condition_variable done;
  int outstanding = 0;  // nodes queued or running
  std::exception_ptr failure;
  std::vector<std::function<void()>> callbacks;
};
thread_local GraphTask* current_task = nullptr;
thread_local bool on_worker = false;  // such a thread must not wait for the workers: a backward inside one runs inline

struct Ready {
  NodePtr node;
  std::shared_ptr<GraphTask> task;
  // Later nodes first; accumulators at once, so that a hook on one (a bucket's) starts early.
  friend bool operator<(const Ready& a, const Ready& b) { return a.priority() < b.priority(); }
  uint64_t priority() const { return node->edges().empty() ? ~uint64_t(0) : node->sequence(); }
};

Tensor sum_in_order(std::vector<Arrival>& arrivals) {
  std::sort(arrivals.begin(), arrivals.end(), [](const Arrival& a, const Arrival& b) {
    return a.sequence != b.sequence ? a.sequence > b.sequence : std::tie(a.visit, a.edge) < std::tie(b.visit, b.edge);
  });
  Tensor total = std::move(arrivals[0].grad);
  for (size_t i = 1; i < arrivals.size(); ++i) total = total + arrivals[i].grad;
  return total;
}

/// Gradients are checked where they are made: a backward that returns another shape is named. One that was broadcast is
/// summed back.
Tensor fit(const Node& from, const Node& to, uint32_t slot, Tensor grad) {
  const Node::Slot& want = to.slot(slot);
  if (grad.sizes() != want.sizes) {
    const IntArrayRef have = grad.sizes(), wanted = want.sizes;
    bool expands = have.size() >= wanted.size();
    for (size_t i = 1; expands && i <= wanted.size(); ++i) {
      const int64_t w = wanted[wanted.size() - i];
      expands = w == 1 || w == have[have.size() - i];
    }
    TANDEM_CHECK(expands, "backward of ", from.name(), " returned a gradient of ", have, " for a tensor of ", wanted,
                 "; accepted: that shape, or one that it broadcasts to");
    grad = sum_to_size(grad, want.sizes);
  }
  if (grad.dtype() != want.dtype) grad = grad.to(want.dtype);
  TANDEM_CHECK(grad.device() == want.device, "backward of ", from.name(), " returned a gradient on ", grad.device(),
               " for a tensor on ", want.device);
  return grad;
}

void deliver(GraphTask& task, const Node& from, uint64_t sequence, size_t visit, uint32_t edge_number, const Edge& edge,
             Tensor grad) {
  grad = fit(from, *edge.node, edge.slot, std::move(grad));
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.several_devices) lock.lock();
  Pending& pending = task.nodes.at(edge.node.get());
  if (pending.slots.empty()) pending.slots.resize(edge.node->slot_count());
  auto& arrivals = pending.slots[edge.slot];
  if (!task.several_devices && arrivals.size() == 1) {
    // One thread meets them in the right order, so they need not be kept apart.
    arrivals[0].grad = arrivals[0].grad + grad;
    return;
  }
  arrivals.push_back({sequence, visit, edge_number, std::move(grad)});
}

/// Calls a node's backward; an error keeps its type and gains the node's name.
Grads apply_named(Node& node, Grads&& grads) {
  const auto named = [&](const Error& error) {
    const std::string what = error.what();
    return what.find("backward of") == std::string::npos ? "backward of " + node.name() + ": " + what : what;
  };
  try {
    return node.apply(std::move(grads));
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

/// Runs one node and returns those that became ready.
std::vector<NodePtr> run_node(GraphTask& task, const NodePtr& node) {
  std::unique_lock lock(task.mutex, std::defer_lock);
  if (task.several_devices) lock.lock();
  Pending pending = std::move(task.nodes.at(node.get()));
  if (lock) lock.unlock();

  Grads grads(node->slot_count());
  bool any = false;
  for (size_t s = 0; s < pending.slots.size(); ++s) {
    if (pending.slots[s].empty()) continue;
    grads[s] = node->run_hooks(static_cast<uint32_t>(s), sum_in_order(pending.slots[s]));
    any = true;
  }
  pending.slots.clear();
  for (const auto& [slot, target] : pending.captures) *target = grads[slot];

  Grads results;
  if (any && pending.needed) {
    results = apply_named(*node, std::move(grads));
    TANDEM_CHECK(results.size() <= node->edges().size() || node->edges().empty(), "backward of ", node->name(),
                 " returned ", results.size(), " gradients for ", node->edges().size(), " inputs");
    if (!task.retain) node->release();
  }
  std::vector<NodePtr> ready;
  for (uint32_t i = 0; i < node->edges().size(); ++i) {
    const Edge& edge = node->edges()[i];
    if (!edge.node) continue;
    const auto next = task.nodes.find(edge.node.get());
    if (next == task.nodes.end() || !next->second.reached) continue;  // not on a path to what was asked for
    if (i < results.size() && results[i].defined())
      deliver(task, *node, node->sequence(), pending.visit, i, edge, std::move(results[i]));
    if (task.several_devices) lock.lock();
    if (--next->second.dependencies == 0) ready.push_back(edge.node);
    if (lock) lock.unlock();
  }
  return ready;
}

/// The threads of one rank that run nodes of graphs over several devices, one per device.
class Workers {
 public:
  static Workers& instance() {
    static Workers workers;
    return workers;
  }
  void push(Ready ready) {
    Worker& worker = worker_for(ready.task->context.rank.get(), ready.node->device());
    {
      const std::lock_guard lock(worker.mutex);
      worker.queue.push(std::move(ready));
    }
    worker.wake.notify_one();
  }
  ~Workers() {
    for (auto& [key, worker] : workers_) {
      {
        const std::lock_guard lock(worker.mutex);
        worker.stop = true;
      }
      worker.wake.notify_one();
      worker.thread.join();
    }
  }

 private:
  struct Worker {
    std::mutex mutex;
    std::condition_variable wake;
    std::priority_queue<Ready> queue;
    bool stop = false;
    std::thread thread;
  };
  Worker& worker_for(RankState* rank, Device device) {
    const std::lock_guard lock(mutex_);
    Worker& worker = workers_[{rank, device}];
    if (!worker.thread.joinable()) worker.thread = std::thread([&worker] { serve(worker); });
    return worker;
  }
  static void serve(Worker& worker) {
    on_worker = true;
    for (;;) {
      std::unique_lock lock(worker.mutex);
      worker.wake.wait(lock, [&] { return worker.stop || !worker.queue.empty(); });
      if (worker.queue.empty()) return;
      const Ready ready = worker.queue.top();
      worker.queue.pop();
      lock.unlock();
      run(ready);
    }
  }
  static void run(const Ready& ready) {
    GraphTask& task = *ready.task;
    const RankContextGuard context(task.context);
    GraphTask* const outer = std::exchange(current_task, &task);
    std::vector<NodePtr> next;
    bool failed;
    {
      const std::lock_guard lock(task.mutex);
      failed = task.failure != nullptr;
    }
    try {
      if (!failed) next = run_node(task, ready.node);
    } catch (...) {
      const std::lock_guard lock(task.mutex);
      if (!task.failure) task.failure = std::current_exception();
    }
    current_task = outer;
    {
      const std::lock_guard lock(task.mutex);
      task.outstanding += static_cast<int>(next.size());
      task.last_sequence = std::max(task.last_sequence, RankContext::current().next_sequence);
    }
    for (NodePtr& node : next) instance().push({std::move(node), ready.task});
    const std::lock_guard lock(task.mutex);
    if (--task.outstanding == 0) task.done.notify_all();
  }
  std::mutex mutex_;
  std::map<std::pair<RankState*, Device>, Worker> workers_;
};

/// Counts how many edges lead into each node that is reachable from the roots.
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
  for (const Edge& root : roots) visit(root.node.get());
  Device first = roots[0].node->device();
  while (!stack.empty()) {
    Node* const node = stack.back();
    stack.pop_back();
    task.several_devices |= !(node->device() == first);
    for (const Edge& edge : node->edges())
      if (edge.node) ++visit(edge.node.get())->dependencies;
  }
}

/// Marks `targets` as reached, and the nodes on a path to one of them as such that run. Without recursion.
void prune(GraphTask& task, const std::set<const Node*>& targets) {
  std::unordered_map<const Node*, std::vector<Node*>> consumers;
  std::vector<const Node*> stack;
  for (auto& [node, pending] : task.nodes) {
    pending.needed = false, pending.reached = targets.count(node) > 0;
    for (const Edge& edge : node->edges())
      if (edge.node) consumers[edge.node.get()].push_back(node);
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

void run_on_this_thread(const std::shared_ptr<GraphTask>& task, std::vector<NodePtr> ready) {
  std::priority_queue<Ready> queue;
  for (NodePtr& node : ready) queue.push({std::move(node), task});
  while (!queue.empty()) {
    const NodePtr node = queue.top().node;
    queue.pop();
    for (NodePtr& next : run_node(*task, node)) queue.push({std::move(next), task});
  }
}

void run_on_workers(const std::shared_ptr<GraphTask>& task, std::vector<NodePtr> ready) {
  task->outstanding = static_cast<int>(ready.size());
  for (NodePtr& node : ready) Workers::instance().push({std::move(node), task});
  std::unique_lock lock(task->mutex);
  task->done.wait(lock, [&] { return task->outstanding == 0; });
  uint64_t& next_sequence = RankContext::current().next_sequence;
  next_sequence = std::max(next_sequence, task->last_sequence);  // what is recorded from now on comes later
  if (task->failure) std::rethrow_exception(task->failure);
}

/// `targets`: edges whose gradients are returned instead of accumulated; `accumulate_into`: accumulators that may run.
void execute(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain, bool create,
             const std::vector<Edge>& targets, std::vector<Tensor>* captured, const std::vector<NodePtr>& only) {
  TANDEM_CHECK(grad_tensors.empty() || grad_tensors.size() == tensors.size(), "backward: ", tensors.size(),
               " tensors but ", grad_tensors.size(), " gradients");
  const auto task = std::make_shared<GraphTask>();
  task->create = create;
  task->retain = retain.value_or(create);
  RankContext::current().state();  // so that workers share this rank's
  task->context = RankContext::current();
  task->context.grad_enabled = create;
  const AutoGradMode mode(create);

  std::vector<Edge> roots;
  std::vector<Tensor> seeds;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TANDEM_CHECK(t.defined() && t.requires_grad(), "backward: tensor ", i,
                 " does not require a gradient and has no history");
    Tensor seed = grad_tensors.empty() ? Tensor() : grad_tensors[i];
    if (!seed.defined()) {
      TANDEM_CHECK(t.numel() == 1, "backward: the tensor is ", t.sizes(),
                   "; without a gradient argument it must have one element");
      seed = ones(t.sizes(), t.options());
    }
    TANDEM_CHECK(seed.sizes() == t.sizes(), "backward: the gradient is ", seed.sizes(), " for a tensor of ", t.sizes());
    roots.push_back(gradient_edge(t));
    seeds.push_back(seed);
  }
  if (roots.empty()) return;
  discover(*task, roots);
  if (captured || !only.empty()) {
    std::set<const Node*> wanted;
    for (const Edge& e : targets) wanted.insert(e.node.get());
    for (const NodePtr& node : only) wanted.insert(node.get());
    prune(*task, wanted);
    for (const NodePtr& node : only)
      if (const auto at = task->nodes.find(node.get()); at != task->nodes.end())
        at->second.needed |= node->edges().empty();  // an accumulator runs; elsewhere the gradient's arrival is enough
    for (size_t i = 0; i < targets.size(); ++i)
      if (const auto at = task->nodes.find(targets[i].node.get()); at != task->nodes.end())
        at->second.captures.emplace_back(targets[i].slot, &(*captured)[i]);
  }
  GraphTask* const outer = std::exchange(current_task, task.get());
  try {
    for (size_t i = 0; i < roots.size(); ++i)
      deliver(*task, *roots[i].node, ~uint64_t(0), 0, static_cast<uint32_t>(i), roots[i], seeds[i]);
    std::vector<NodePtr> ready;
    for (const Edge& root : roots)
      if (task->nodes.at(root.node.get()).dependencies == 0 &&
          std::none_of(ready.begin(), ready.end(), [&](const NodePtr& n) { return n == root.node; }))
        ready.push_back(root.node);
    if (on_worker) task->several_devices = false;
    if (task->several_devices)
      run_on_workers(task, std::move(ready));
    else
      run_on_this_thread(task, std::move(ready));
    for (size_t i = 0; i < task->callbacks.size(); ++i) {
      const auto callback = std::move(task->callbacks[i]);  // it may queue another, which may move them all
      callback();
    }
  } catch (...) {
    current_task = outer;
    throw;
  }
  current_task = outer;
}

}  // namespace

void backward(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain_graph, bool create_graph,
              TensorList inputs) {
  if (grad_tensors.size() == 1 && !grad_tensors[0].defined()) grad_tensors = {};
  std::vector<NodePtr> only;
  for (const Tensor& input : inputs) {
    TANDEM_CHECK(input.defined() && input.requires_grad(), "backward: input ", only.size(),
                 " does not require a gradient");
    input.retain_grad();  // of a leaf the accumulator does it
    only.push_back(gradient_edge(input).node);
  }
  execute(tensors, grad_tensors, retain_graph, create_graph, {}, nullptr, only);
}

variable_list grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  std::vector<Edge> targets;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TANDEM_CHECK(inputs[i].requires_grad(), "grad: input ", i, " does not require a gradient");
    targets.push_back(gradient_edge(inputs[i]));
  }
  variable_list captured(inputs.size());
  execute(outputs, grad_outputs, retain_graph, create_graph, targets, &captured, {});
  for (size_t i = 0; i < captured.size(); ++i)
    TANDEM_CHECK(captured[i].defined() || allow_unused, "grad: the outputs do not depend on input ", i,
                 "; pass allow_unused=true for an undefined gradient");
  return captured;
}

void queue_callback(std::function<void()> callback) {
  TANDEM_CHECK(current_task, "queue_callback: no backward is running on this thread");
  const std::lock_guard lock(current_task->mutex);
  current_task->callbacks.push_back(std::move(callback));
}

}  // namespace tandem::autograd
