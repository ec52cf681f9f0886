// backward() and grad(): chooses the threads that run the nodes of a GraphTask: the calling thread if all nodes are on
// one device, else one thread for each device.
#include "tandem/autograd/engine.h"

#include <algorithm>
#include <map>
#include <queue>
#include <thread>

#include "tandem/autograd/graph_task.h"
#include "tandem/core/autocast.h"
#include "tandem/core/cuda/streams.h"
#include "tandem/core/threads/start_thread.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/core/trace/tracer.h"

namespace tandem::autograd {
namespace {

thread_local GraphTask* current_graph_task = nullptr;
// Whether this thread belongs to DeviceWorkers. Such a thread must not wait for the others, so it runs a nested
// backward itself.
thread_local bool is_worker_thread = false;

struct NodeTask {
  NodePtr node;
  std::shared_ptr<GraphTask> graph_task;
  // The node made last has the highest priority. Exception: accumulators of leaves come first, so that their hooks
  // start early, for example a hook that all-reduces a bucket.
  friend bool operator<(const NodeTask& a, const NodeTask& b) { return a.priority() < b.priority(); }
  uint64_t priority() const { return node->edges().empty() ? ~uint64_t(0) : node->sequence_nr(); }
};

/// Threads of one rank that run the nodes of graphs over several devices, one thread for each device. They end with the
/// rank.
class DeviceWorkers : public RankExtension {
 public:
  static void push(NodeTask ready) {
    RankState& rank = ready.graph_task->context.rank_state();
    const std::shared_ptr<DeviceWorker> worker =
        rank.extension<DeviceWorkers>().get_or_create_worker(ready.node->device());
    {
      const std::lock_guard lock(worker->mutex);
      worker->queue.push(std::move(ready));
    }
    worker->wake.notify_one();
  }
  ~DeviceWorkers() override {
    for (auto& [device, worker] : workers_) {
      {
        const std::lock_guard lock(worker->mutex);
        worker->stop_requested = true;
      }
      worker->wake.notify_one();
      // A worker may destroy the rank, because it finishes a task a moment after the thread that waited for the task.
      // Then this destructor runs on the worker itself, which cannot join its own thread.
      if (worker->thread.get_id() == std::this_thread::get_id())
        worker->thread.detach();
      else
        worker->thread.join();
    }
  }

  /// Other threads may run backward until the process ends, and destructors of static objects may start one. So the
  /// workers continue, and nobody waits for them.
  void on_process_exit() override {
    const std::lock_guard lock(mutex_);
    process_is_exiting_ = true;
    for (const auto& [device, worker] : workers_) worker->thread.detach();
  }

 private:
  struct DeviceWorker {
    std::mutex mutex;
    std::condition_variable wake;
    std::priority_queue<NodeTask> queue;
    bool stop_requested = false;
    std::thread thread;
  };
  std::shared_ptr<DeviceWorker> get_or_create_worker(Device device) {
    const std::lock_guard lock(mutex_);
    if (const auto at = workers_.find(device); at != workers_.end()) return at->second;
    const auto worker = std::make_shared<DeviceWorker>();
    const auto at = workers_.emplace(device, worker).first;
    try {
      worker->thread = start_thread("a device's part of backward", [worker] { thread_main(*worker); });
      if (process_is_exiting_) worker->thread.detach();
    } catch (...) {
      workers_.erase(at);
      throw;
    }
    return worker;
  }
  static void thread_main(DeviceWorker& worker) {
    is_worker_thread = true;
    for (;;) {
      std::unique_lock lock(worker.mutex);
      worker.wake.wait(lock, [&] { return worker.stop_requested || !worker.queue.empty(); });
      if (worker.queue.empty()) return;
      const NodeTask ready = worker.queue.top();
      worker.queue.pop();
      lock.unlock();
      run_node_task(ready);
    }
  }
  static void run_node_task(const NodeTask& ready) {
    GraphTask& task = *ready.graph_task;
    const ThreadContextGuard context(task.context);
    ThreadContext::current().lane = ready.node->device().index();
    GraphTask* const outer = std::exchange(current_graph_task, &task);
    std::vector<NodePtr> next;
    bool failed;
    {
      const std::lock_guard lock(task.mutex);
      failed = task.failure != nullptr;
    }
    try {
      const PhaseSpan phase("backward");
      if (!failed) next = run_node(task, ready.node);
    } catch (...) {
      const std::lock_guard lock(task.mutex);
      if (!task.failure) task.failure = std::current_exception();
    }
    current_graph_task = outer;
    {
      const std::lock_guard lock(task.mutex);
      task.outstanding_tasks += static_cast<int>(next.size());
      task.next_sequence_nr = std::max(task.next_sequence_nr, ThreadContext::current().next_sequence_nr);
    }
    for (NodePtr& node : next) push({std::move(node), ready.graph_task});
    const std::lock_guard lock(task.mutex);
    if (--task.outstanding_tasks == 0) task.done.notify_all();
  }
  std::mutex mutex_;
  std::map<Device, std::shared_ptr<DeviceWorker>> workers_;
  bool process_is_exiting_ = false;
};

void run_on_this_thread(const std::shared_ptr<GraphTask>& task, std::vector<NodePtr> ready) {
  std::priority_queue<NodeTask> queue;
  for (NodePtr& node : ready) queue.push({std::move(node), task});
  while (!queue.empty()) {
    const NodePtr node = queue.top().node;
    queue.pop();
    for (NodePtr& next : run_node(*task, node)) queue.push({std::move(next), task});
  }
}

void run_on_workers(const std::shared_ptr<GraphTask>& task, std::vector<NodePtr> ready) {
  const int cores = get_thread_share() > 0 ? get_thread_share() : get_num_threads();
  // rounded up, so that the devices' threads together use every core
  task->context.thread_share = (cores + task->num_devices - 1) / task->num_devices;
  task->outstanding_tasks = static_cast<int>(ready.size());
  for (NodePtr& node : ready) DeviceWorkers::push({std::move(node), task});
  const PhaseSpan phase("wait");
  std::unique_lock lock(task->mutex);
  task->done.wait(lock, [&] { return task->outstanding_tasks == 0; });
  uint64_t& next_sequence_nr = ThreadContext::current().next_sequence_nr;
  // Nodes that this thread records after this backward get higher sequence numbers than the nodes of the backward.
  next_sequence_nr = std::max(next_sequence_nr, task->next_sequence_nr);
  // Moves the exception out of the task: a worker may be the last owner of the task, and the exception is still used
  // here afterwards.
  if (task->failure) std::rethrow_exception(std::exchange(task->failure, nullptr));
}

/// Implements backward() and grad(). `targets`: edges whose gradients are returned in `captured` instead of
/// accumulated (grad()); `input_nodes`: nodes of the `inputs` of backward(). If `input_nodes` is empty and `captured`
/// is null, gradients accumulate into all leaves.
void execute(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain_graph, bool create_graph,
             const std::vector<Edge>& targets, std::vector<Tensor>* captured, const std::vector<NodePtr>& input_nodes) {
  TANDEM_CHECK(grad_tensors.empty() || grad_tensors.size() == tensors.size(), "backward: got ", tensors.size(),
               " tensors and ", grad_tensors.size(), " gradients; pass one gradient for each tensor, or none");
  const PhaseSpan phase("backward");  // declared before `task`, so that the span includes the destruction of the task
  const auto task = std::make_shared<GraphTask>();
  task->create_graph = create_graph;
  task->retain_graph = retain_graph.value_or(create_graph);
  const AutocastOffGuard uncast;          // a backward computes in the dtypes of its forward
  ThreadContext::current().rank_state();  // creates the state of this thread's rank now, so that workers share it
  task->context = ThreadContext::current();
  task->context.grad_enabled = create_graph;
  const AutoGradMode mode(create_graph);

  std::vector<Edge> roots;
  std::vector<Tensor> root_grads;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    TANDEM_CHECK(t.defined() && t.requires_grad(), "backward: element ", i,
                 " of tensors does not require grad and does not have a grad_fn");
    Tensor root_grad = grad_tensors.empty() ? Tensor() : grad_tensors[i];
    if (!root_grad.defined()) {
      TANDEM_CHECK(t.numel() == 1, "backward: grad can be implicitly created only for scalar outputs, got ", t.sizes(),
                   "; pass a gradient");
      root_grad = core::empty_like(t, t.dtype(), t.device()).fill_(1);
    }
    TANDEM_CHECK(root_grad.sizes() == t.sizes(), "backward: Mismatch in shape: grad_output[", i, "] has a shape of ",
                 root_grad.sizes(), " and output[", i, "] has a shape of ", t.sizes());
    roots.push_back(gradient_edge(t));
    root_grads.push_back(std::move(root_grad));
  }
  if (roots.empty()) return;
  compute_dependencies(*task, roots);
  if (captured || !input_nodes.empty()) {
    task->accumulates_into_all_leaves = false;
    for (const NodePtr& node : input_nodes) task->accumulate_grad_nodes.insert(node.get());
    std::set<const Node*> wanted;
    for (const Edge& e : targets) wanted.insert(e.function.get());
    for (const NodePtr& node : input_nodes) wanted.insert(node.get());
    restrict_to_targets(*task, wanted);
    task->is_restricted_to_targets = true;
    for (const NodePtr& node : input_nodes)
      if (const auto at = task->nodes.find(node.get()); at != task->nodes.end())
        // If an input is a leaf, its accumulator must run, because it stores the gradient. The nodes of other inputs
        // need not run.
        at->second.should_execute |= node->edges().empty();
    for (size_t i = 0; i < targets.size(); ++i)
      if (const auto at = task->nodes.find(targets[i].function.get()); at != task->nodes.end())
        at->second.captures.emplace_back(targets[i].input_nr, &(*captured)[i]);
  }
  GraphTask* const outer = std::exchange(current_graph_task, task.get());
  try {
    for (size_t i = 0; i < roots.size(); ++i)
      deliver_grad(*task, *roots[i].function, ~uint64_t(0), 0, static_cast<uint32_t>(i), roots[i], root_grads[i]);
    std::vector<NodePtr> ready;
    for (const Edge& root : roots)
      if (task->nodes.at(root.function.get()).dependencies == 0 &&
          std::none_of(ready.begin(), ready.end(), [&](const NodePtr& n) { return n == root.function; }))
        ready.push_back(root.function);
    if (is_worker_thread) task->uses_multiple_devices = false;
    if (task->uses_multiple_devices)
      run_on_workers(task, std::move(ready));
    else
      run_on_this_thread(task, std::move(ready));
    for (const auto& streams : task->streams) cuda::wait_for_streams(task->context.streams, streams);
    for (size_t i = 0; i < task->final_callbacks.size(); ++i) {
      // Moves the callback out of the vector, because it may queue others, which can reallocate the vector.
      const auto callback = std::move(task->final_callbacks[i]);
      callback();
    }
  } catch (...) {
    current_graph_task = outer;
    task->final_callbacks
        .clear();  // destroys the callbacks, so that their owners can tell that this backward has ended
    throw;
  }
  current_graph_task = outer;
}

}  // namespace

void backward(TensorList tensors, TensorList grad_tensors, std::optional<bool> retain_graph, bool create_graph,
              TensorList inputs) {
  if (grad_tensors.size() == 1 && !grad_tensors[0].defined()) grad_tensors = {};
  std::vector<NodePtr> input_nodes;
  for (const Tensor& input : inputs) {
    TANDEM_CHECK(input.defined() && input.requires_grad(),
                 "backward: One of the differentiated Tensors does not require grad: input ", input_nodes.size());
    input.retain_grad();  // Has no effect on leaves, whose accumulator stores the gradient.
    input_nodes.push_back(gradient_edge(input).function);
  }
  execute(tensors, grad_tensors, retain_graph, create_graph, {}, nullptr, input_nodes);
}

variable_list grad(TensorList outputs, TensorList inputs, TensorList grad_outputs, std::optional<bool> retain_graph,
                   bool create_graph, bool allow_unused) {
  std::vector<Edge> targets;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TANDEM_CHECK(inputs[i].requires_grad(), "grad: One of the differentiated Tensors does not require grad: input ", i);
    targets.push_back(gradient_edge(inputs[i]));
  }
  variable_list captured(inputs.size());
  execute(outputs, grad_outputs, retain_graph, create_graph, targets, &captured, {});
  for (size_t i = 0; i < captured.size(); ++i)
    TANDEM_CHECK(captured[i].defined() || allow_unused,
                 "grad: One of the differentiated Tensors appears to not have been used in the graph. Set "
                 "allow_unused=True if this is the desired behavior: input ",
                 i);
  return captured;
}

bool Node::task_should_compute_output(size_t input) const {
  if (!needs_grad(input)) return false;
  if (!current_graph_task || !current_graph_task->is_restricted_to_targets) return true;
  const auto at = current_graph_task->nodes.find(edges()[input].function.get());
  return at != current_graph_task->nodes.end() && at->second.is_grad_needed;
}

bool detail::should_accumulate_grad(const AccumulateGrad& leaf) {
  return current_graph_task &&
         (current_graph_task->accumulates_into_all_leaves || current_graph_task->accumulate_grad_nodes.count(&leaf));
}

bool detail::is_backward_running() { return current_graph_task != nullptr; }

void detail::queue_callback(std::function<void()> callback) {
  TANDEM_CHECK(current_graph_task, "queue_callback: Final callbacks can only be installed during backward pass");
  const std::lock_guard lock(current_graph_task->mutex);
  current_graph_task->final_callbacks.push_back(std::move(callback));
}

}  // namespace tandem::autograd
