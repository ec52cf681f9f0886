// A ProcessGroup over a Communicator: checks the arguments, makes tensors contiguous, and runs the blocking calls in
// order on a thread and, of CUDA tensors, a stream of its own, so that they overlap with the caller.
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "tandem/core/cuda/allocator.h"
#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/run_loop.h"
#include "tandem/core/tracer.h"
#include "tandem/ops/copy.h"
#include "tandem/ops/factory.h"
#include "tandem/parallel/collectives/queued_work.h"
#include "tandem/parallel/rethrow.h"
#include "tandem/parallel/worker_thread.h"

namespace tandem::distributed {
namespace {

/// Where calls go that must not overtake each other: a thread, and a stream of every GPU that it is used with.
class Lane {
 public:
  void post(RankContext context, std::function<void()> job) { thread_.post(std::move(context), std::move(job)); }
  /// For the thread's own use.
  const cuda::Stream& stream(Device device) {
    const auto at = streams_.find(device.index());
    if (at != streams_.end()) return at->second;
    return streams_.emplace(device.index(), cuda::Stream(device, /*high_priority=*/true)).first->second;
  }

 private:
  std::map<int, cuda::Stream> streams_;
  detail::WorkerThread thread_;  // last: its jobs use the streams
};

/// A call on its way to the communicator.
struct Job {
  Call call;
  std::vector<Tensor> tensors;
  std::function<void(const Call&)> run;
  std::shared_ptr<QueuedWork> work;
  cuda::Event ready = cuda::Event();  // of CUDA tensors: what the caller's stream held at the call
  double called = 0;                  // by trace_clock(), while there is a trace
};

class QueuedGroup final : public ProcessGroup {
 public:
  QueuedGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
              std::unique_ptr<Communicator> communicator, Device device)
      : ProcessGroup(rank, size, std::move(backend), timeout, device), communicator_(std::move(communicator)) {}

  WorkPtr all_reduce(const Tensor& x, ReduceOp op, std::string about) override {
    Call call = collective("all_reduce", x, std::move(about));
    set_op(call, op);
    return start(call, {x},
                 [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->all_reduce(c, y); }); });
  }
  WorkPtr broadcast(const Tensor& x, int src, std::string about) override {
    Call call = collective("broadcast", x, std::move(about));
    set_other(call, src);
    return start(call, {x},
                 [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->broadcast(c, y); }); });
  }
  WorkPtr reduce(const Tensor& x, int dst, ReduceOp op, std::string about) override {
    Call call = collective("reduce", x, std::move(about));
    set_op(call, op);
    set_other(call, dst);
    return start(call, {x}, [this, x](const Call& c) { in_place(x, [&](Tensor& y) { communicator_->reduce(c, y); }); });
  }
  WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, std::string about) override {
    const Call call = collective("all_gather", input, std::move(about));
    check_list(call, "outputs", outputs, input);
    std::vector<Tensor> tensors = outputs;
    tensors.push_back(input);
    return start(call, std::move(tensors), [this, outputs, input](const Call& c) {
      std::vector<Tensor> dense;
      dense.reserve(outputs.size());
      for (const Tensor& y : outputs)
        dense.push_back(y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device()));
      communicator_->all_gather(c, dense, input.contiguous());
      communicator_->then([dense, outputs] {
        for (size_t r = 0; r < outputs.size(); ++r) hand_over(dense[r], outputs[r]);
      });
    });
  }
  WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                         std::string about) override {
    Call call = collective("reduce_scatter", output, std::move(about));
    set_op(call, op);
    check_list(call, "inputs", inputs, output);
    std::vector<Tensor> tensors = inputs;
    tensors.push_back(output);
    return start(call, std::move(tensors), [this, output, inputs](const Call& c) {
      std::vector<Tensor> dense;
      dense.reserve(inputs.size());
      for (const Tensor& x : inputs) dense.push_back(x.contiguous());
      in_place(output, [&](Tensor& y) { communicator_->reduce_scatter(c, y, dense); });
    });
  }
  WorkPtr send(const Tensor& x, int dst, int tag) override {
    Job job{peer_call("send", x, dst), {x}, {}, {}};
    job.run = [this, x, tag](const Call& c) { communicator_->send(c, x.contiguous(), tag); };
    return start_on(peer_lane(dst, tag, true), std::move(job));
  }
  WorkPtr recv(const Tensor& x, int src, int tag) override {
    Job job{peer_call("recv", x, src), {x}, {}, {}};
    job.run = [this, x, tag](const Call& c) {
      Tensor dense = x.is_contiguous() ? x : x.detach().contiguous();
      communicator_->recv(c, dense, tag);
      hand_over(dense, x);
    };
    return start_on(peer_lane(src, tag, false), std::move(job));
  }
  WorkPtr barrier() override {
    {
      const std::lock_guard lock(mutex_);
      TANDEM_CHECK(!coalescing_, "barrier: start_coalescing was called; call end_coalescing first");
    }
    Call call;
    call.name = "barrier";
    call.device = device();
    return start(call, {}, [this](const Call& c) { communicator_->barrier(c); });
  }
  void start_coalescing() override {
    const std::lock_guard lock(mutex_);
    TANDEM_CHECK(!coalescing_, "start_coalescing: it was called already; call end_coalescing first");
    coalescing_ = true;
  }
  void end_coalescing() override {
    const std::lock_guard lock(mutex_);
    coalescing_ = false;
    if (!held_.empty()) post(lane_, std::exchange(held_, {}));
  }
  void abort(const std::string& reason) override { communicator_->abort(reason); }
  int64_t bytes_sent() const override { return communicator_->total_sent(); }

 private:
  void check_tensor(const char* name, const Tensor& x) const {
    TANDEM_CHECK(x.defined(), name, ": the tensor is undefined");
    TANDEM_CHECK(device().is_cpu() || x.device() == device(), name, ": the tensor is on ", x.device(), "; ", backend(),
                 " takes tensors on ", device(), " alone, the device of this rank's group");
    TANDEM_CHECK(!x.requires_grad() || !is_grad_enabled() || x.is_leaf(), name,
                 ": the tensor has a gradient history, which a collective would lose; detach it first");
  }
  Call collective(const char* name, const Tensor& x, std::string about) const {
    check_tensor(name, x);
    Call call{.name = name, .sequence = 0, .about = std::move(about), .dtype = x.dtype()};
    call.device = x.device(), call.numel = x.numel();
    return call;
  }
  Call peer_call(const char* name, const Tensor& x, int other) {
    Call call = collective(name, x, {});
    set_other(call, other);
    TANDEM_CHECK(other != rank(), name, ": rank ", other, " is this rank itself; accepted: another rank");
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
                   t.dtype(), t.sizes(), ", another tensor ", one.dtype(), one.sizes(),
                   "; accepted: all of one dtype and shape");
      TANDEM_CHECK(t.device() == one.device() || (t.is_cpu() && one.is_cpu()), call.name, ": one of the ", what,
                   " is on ", t.device(), ", another tensor on ", one.device(), "; accepted: all on one GPU, or none");
    }
  }
  /// y takes the values of dense, unless it is that itself.
  static void hand_over(const Tensor& dense, const Tensor& y) {
    if (dense.is_same(y)) return y.bump_version();
    Tensor(y.detach()).copy_(dense);
  }
  template <class F> void in_place(const Tensor& x, F&& f) {
    Tensor dense = x.is_contiguous() ? x : x.detach().contiguous();
    f(dense);
    communicator_->then([dense, x] { hand_over(dense, x); });
  }
  /// A collective whose arguments are accepted: one that was refused leaves this rank in step with the others.
  WorkPtr start(Call call, std::vector<Tensor> tensors, std::function<void(const Call&)> run) {
    const std::lock_guard lock(mutex_);
    call.sequence = ++sequence_;
    return start_on(lane_, {std::move(call), std::move(tensors), std::move(run), {}});
  }
  WorkPtr start_on(Lane& lane, Job job) {
    check_not_recorded(job.call.name, "other ranks take part in a collective");
    RankContext::current().state().collectives.fetch_add(1, std::memory_order_relaxed);
    job.work = std::make_shared<QueuedWork>(job.call.device, communicator_->failure(), communicator_->told());
    if (job.call.device.is_cuda()) job.ready.record(cuda::current_stream(job.call.device));
    if (current_tracer()) job.called = trace_clock();
    WorkPtr work = job.work;
    std::vector<Job> jobs;
    jobs.push_back(std::move(job));
    if (&lane == &lane_ && coalescing_)
      held_.push_back(std::move(jobs[0]));
    else
      post(lane, std::move(jobs));
    return work;
  }
  void post(Lane& lane, std::vector<Job> jobs) {
    RankContext context;  // without the rank, which owns this group
    context.grad_enabled = false;
    context.thread_share = RankContext::current().thread_share;
    context.observer = RankContext::current().observer;
    context.tracer = RankContext::current().tracer;
    lane.post(std::move(context), [this, &lane, jobs = std::move(jobs)] { serve(lane, jobs); });
  }
  void serve(Lane& lane, const std::vector<Job>& jobs) {
    std::optional<gpu::DeviceGuard> device;  // a thread without one takes up memory of the first GPU
    std::list<cuda::StreamGuard> guards;
    std::exception_ptr error;
    const Job* at = &jobs[0];
    const double start = current_tracer() ? trace_clock() : 0;
    try {
      for (const Job& job : jobs) {
        if (job.call.device.is_cuda()) {
          if (!device) device.emplace(job.call.device.index());
          const cuda::Stream& stream = lane.stream(job.call.device);
          guards.emplace_back(stream);
          job.ready.wait(stream);
          for (const Tensor& t : job.tensors) t.record_stream(stream);
        }
        job.work->begin();
      }
      if (jobs.size() > 1) communicator_->begin_group();
      for (const Job& job : jobs) at = &job, job.run(job.call);
    } catch (...) {
      error = std::current_exception();
    }
    if (jobs.size() > 1) try {
        communicator_->end_group();
      } catch (...) {
        if (!error) error = std::current_exception();
      }
    // The other ranks wait for what will not come. An error of the group's own it has already.
    if (error)
      communicator_->abort("rank " + std::to_string(rank()) + " failed in " + at->call.str() + ": " +
                           detail::what_of(error));
    for (const Job& job : jobs) trace(job, start);
    for (const Job& job : jobs) job.work->finish(error);
    while (!guards.empty()) guards.pop_back();  // each restores what was before it
  }
  /// In the trace, if one is on. Of CUDA tensors: when the host had put it on the stream.
  static void trace(const Job& job, double start) {
    Tracer* const tracer = current_tracer();
    if (!tracer) return;
    const Call& call = job.call;
    TraceEvent event{.kind = TraceEvent::Kind::communication, .name = call.name};
    if (!call.about.empty()) event.name.append(", ").append(call.about);
    event.device = call.device;
    event.queued = job.called, event.start = start, event.end = trace_clock();
    event.bytes = std::max<int64_t>(call.numel, 0) * element_size(call.dtype);
    tracer->add(std::move(event));
  }
  /// Sends of one tag go in order; others do not wait for them.
  Lane& peer_lane(int peer, int tag, bool sends) {
    const std::lock_guard lock(mutex_);
    return peers_.try_emplace({peer, tag, sends}).first->second;
  }

  std::unique_ptr<Communicator> communicator_;
  std::mutex mutex_;  // guards what follows, and the order of collectives
  int64_t sequence_ = 0;
  bool coalescing_ = false;
  std::vector<Job> held_;  // by start_coalescing
  std::map<std::tuple<int, int, bool>, Lane> peers_;
  Lane lane_;
};

}  // namespace

ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator, Device device) {
  return std::make_shared<QueuedGroup>(rank, size, std::move(backend), timeout, std::move(communicator), device);
}

}  // namespace tandem::distributed
