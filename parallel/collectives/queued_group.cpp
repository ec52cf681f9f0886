// A ProcessGroup over a Communicator: checks the arguments, makes tensors contiguous, and runs the blocking calls in
// order on a thread of its own, so that they overlap with the caller.
#include <map>
#include <tuple>

#include "tandem/autograd/copy.h"
#include "tandem/autograd/factory.h"
#include "tandem/parallel/collectives/communicator.h"
#include "tandem/parallel/rethrow.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {
namespace {

class QueuedWork final : public Work {
 public:
  bool is_completed() const override {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  double seconds() const override {
    const std::lock_guard lock(mutex_);
    return seconds_;
  }
  void wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });  // the communicator's waits end within the timeout
    if (failure_) detail::rethrow_named(failure_, "");
  }
  void run(const std::function<void()>& f) {
    const auto start = std::chrono::steady_clock::now();
    std::exception_ptr failure;
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    failure_ = failure;
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    done_ = true;
    changed_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  double seconds_ = 0;
  std::exception_ptr failure_;
};

class QueuedGroup final : public ProcessGroup {
 public:
  QueuedGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
              std::unique_ptr<Communicator> communicator)
      : ProcessGroup(rank, size, std::move(backend), timeout), communicator_(std::move(communicator)) {}

  WorkPtr all_reduce(const Tensor& x, ReduceOp op, std::string about) override {
    Call call = collective("all_reduce", x, std::move(about));
    set_op(call, op);
    return start(call, [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->all_reduce(c, y); }); });
  }
  WorkPtr broadcast(const Tensor& x, int src, std::string about) override {
    Call call = collective("broadcast", x, std::move(about));
    set_other(call, src);
    return start(call, [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->broadcast(c, y); }); });
  }
  WorkPtr reduce(const Tensor& x, int dst, ReduceOp op, std::string about) override {
    Call call = collective("reduce", x, std::move(about));
    set_op(call, op);
    set_other(call, dst);
    return start(call, [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->reduce(c, y); }); });
  }
  WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, std::string about) override {
    const Call call = collective("all_gather", input, std::move(about));
    check_list(call, "outputs", outputs, input);
    return start(call, [this, outputs, input](const Call& c) {
      std::vector<Tensor> dense;
      dense.reserve(outputs.size());
      for (const Tensor& y : outputs)
        dense.push_back(y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device()));
      communicator_->all_gather(c, dense, input.contiguous());
      for (size_t r = 0; r < outputs.size(); ++r) hand_over(dense[r], outputs[r]);
    });
  }
  WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                         std::string about) override {
    Call call = collective("reduce_scatter", output, std::move(about));
    set_op(call, op);
    check_list(call, "inputs", inputs, output);
    return start(call, [this, output, inputs](const Call& c) {
      std::vector<Tensor> dense;
      dense.reserve(inputs.size());
      for (const Tensor& x : inputs) dense.push_back(x.contiguous());
      in_place(output, [&](Tensor& y) { communicator_->reduce_scatter(c, y, dense); });
    });
  }
  WorkPtr send(const Tensor& x, int dst, int tag) override {
    const Call call = peer_call("send", x, dst);
    return start_on(peer_thread(dst, tag, true),
                    [this, call, x, tag] { communicator_->send(call, x.contiguous(), tag); });
  }
  WorkPtr recv(const Tensor& x, int src, int tag) override {
    const Call call = peer_call("recv", x, src);
    return start_on(peer_thread(src, tag, false), [this, call, x, tag] {
      in_place(x, [&](Tensor& dense) { communicator_->recv(call, dense, tag); });
    });
  }
  WorkPtr barrier() override {
    Call call;
    call.name = "barrier";
    return start(call, [this](const Call& c) { communicator_->barrier(c); });
  }
  void abort(const std::string& reason) override { communicator_->abort(reason); }
  int64_t bytes_sent() const override { return communicator_->bytes_sent; }

 private:
  void check_tensor(const char* name, const Tensor& x) const {
    TANDEM_CHECK(x.defined(), name, ": the tensor is undefined");
    TANDEM_CHECK(x.device().is_cpu(), name, ": the tensor is on ", x.device(), "; ", backend(),
                 " takes tensors on virtual CPU devices");
    TANDEM_CHECK(!x.requires_grad() || !is_grad_enabled() || x.is_leaf(), name,
                 ": the tensor has a history, which a collective would cut; detach it first");
  }
  Call collective(const char* name, const Tensor& x, std::string about) const {
    check_tensor(name, x);
    return {.name = name, .sequence = 0, .about = std::move(about), .dtype = x.dtype(), .numel = x.numel()};
  }
  Call peer_call(const char* name, const Tensor& x, int other) {
    check_tensor(name, x);
    Call call{.name = name, .sequence = 0, .about = {}, .dtype = x.dtype(), .numel = x.numel()};
    set_other(call, other);
    TANDEM_CHECK(other != rank(), name, ": rank ", other, " is this rank itself; accepted: another one");
    return call;
  }
  void set_op(Call& call, ReduceOp op) const {
    TANDEM_CHECK(op != ReduceOp::AVG || is_floating_point(call.dtype), call.name, ": AVG of ", call.dtype,
                 "; accepted: a floating-point dtype");
    call.reduces = true;
    call.op = op;
  }
  void set_other(Call& call, int other) const {
    TANDEM_CHECK(other >= 0 && other < size(), call.name, ": rank ", other, " of a group of ", size(),
                 "; accepted: 0 to ", size() - 1);
    call.other = other;
  }
  void check_list(const Call& call, const char* what, const std::vector<Tensor>& list, const Tensor& one) const {
    TANDEM_CHECK(list.size() == static_cast<size_t>(size()), call.name, ": there are ", list.size(), " ", what, " for ",
                 size(), " ranks; accepted: one for each");
    for (const Tensor& t : list) {
      check_tensor(call.name, t);
      TANDEM_CHECK(t.sizes() == one.sizes() && t.dtype() == one.dtype(), call.name, ": one of the ", what, " is ",
                   t.dtype(), t.sizes(), ", another tensor ", one.dtype(), one.sizes(), "; accepted: all alike");
    }
  }
  /// y takes the values of dense, unless it is that itself.
  static void hand_over(const Tensor& dense, const Tensor& y) {
    if (dense.is_same(y)) return y.bump_version();
    Tensor(y.detach()).copy_(dense);
  }
  template <class F> static void in_place(const Tensor& x, F&& f) {
    Tensor dense = x.is_contiguous() ? x : x.detach().contiguous();
    f(dense);
    hand_over(dense, x);
  }
  /// A collective whose arguments are accepted: one that was refused leaves this rank in step with the others.
  WorkPtr start(Call call, std::function<void(const Call&)> run) {
    const std::lock_guard lock(mutex_);
    call.sequence = ++sequence_;
    return start_on(thread_, [call = std::move(call), run = std::move(run)] { run(call); });
  }
  WorkPtr start_on(detail::WorkerThread& thread, std::function<void()> run) {
    RankState& state = RankContext::current().state();
    state.collectives.fetch_add(1, std::memory_order_relaxed);
    RankContext context;  // without the rank, which owns this group
    context.grad_enabled = false;
    context.thread_share = RankContext::current().thread_share;
    auto work = std::make_shared<QueuedWork>();
    thread.post(std::move(context), [work, run = std::move(run)] { work->run(run); });
    return work;
  }
  /// Sends of one tag go in order; others do not wait for them.
  detail::WorkerThread& peer_thread(int peer, int tag, bool sends) {
    const std::lock_guard lock(mutex_);
    return peers_.try_emplace({peer, tag, sends}).first->second;
  }

  std::unique_ptr<Communicator> communicator_;
  std::mutex mutex_;  // guards the two below, and the order of collectives
  int64_t sequence_ = 0;
  std::map<std::tuple<int, int, bool>, detail::WorkerThread> peers_;
  detail::WorkerThread thread_;
};

}  // namespace

ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator) {
  return std::make_shared<QueuedGroup>(rank, size, std::move(backend), timeout, std::move(communicator));
}

}  // namespace tandem::distributed
