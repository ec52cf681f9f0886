// Implements NcclCommunicator, a communicator over NCCL. Operations that NCCL lacks are composed of others.
#include "tandem/parallel/collectives/nccl/nccl.h"

#include <cstring>

#include "tandem/core/cuda/cuda.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/collectives/nccl/watchdog.h"
#include "tandem/parallel/collectives/store/exit_notice.h"
#include "tandem/parallel/collectives/store/watchdog.h"

namespace tandem::distributed {
namespace {

using nccl::Comm;
using nccl::NcclComm;
using nccl::Op;
using nccl::Result;
using nccl::Type;
using std::chrono::milliseconds;

/// NCCL type that transfers a dtype. If NCCL has no type of the same size, each element is sent as `elements_per_value`
/// NCCL elements.
struct NcclType {
  Type type;
  size_t elements_per_value = 1;
};
NcclType nccl_type(DType dtype) {
  switch (dtype) {
    case kFloat32: return {Type::float32};
    case kFloat64: return {Type::float64};
    case kFloat16: return {Type::float16};
    case kBFloat16: return {Type::bfloat16};
    case kInt64: return {Type::int64};
    case kInt32: return {Type::int32};
    case kInt16: return {Type::uint8, 2};
    case kInt8: return {Type::int8};
    default: return {Type::uint8};  // for kUInt8 and kBool
  }
}
size_t nccl_count(const Tensor& x) { return static_cast<size_t>(x.numel()) * nccl_type(x.dtype()).elements_per_value; }

/// Returns whether NCCL's reduction gives the same result as the other backends. NCCL does not reduce 16-bit integers
/// and bool, and its MIN and MAX of floating-point numbers drop NaN.
bool is_supported_by_nccl(const CollectiveCall& call) {
  if (call.dtype == kInt16 || call.dtype == kBool) return false;
  return (call.op != ReduceOp::MIN && call.op != ReduceOp::MAX) || !is_floating_point(call.dtype);
}
Op nccl_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::MIN: return Op::min;
    case ReduceOp::MAX: return Op::max;
    case ReduceOp::PRODUCT: return Op::prod;
    default: return Op::sum;  // for SUM, and for AVG, where all_reduce() and others then divide the sum
  }
}

/// Returns whether the tensors lie one after the other in memory, without gaps.
bool is_contiguous_list(const std::vector<Tensor>& list) {
  for (size_t i = 1; i < list.size(); ++i)
    if (list[i].storage() != list[0].storage() ||
        list[i].storage_offset() != list[i - 1].storage_offset() + list[i - 1].numel())
      return false;
  return true;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(Rendezvous job, Device device, milliseconds timeout)
      : rendezvous_(std::move(job)),
        store_host_{rendezvous_.server},
        lib_(nccl::library()),
        rank_(rendezvous_.rank),
        size_(rendezvous_.size),
        device_(device),
        timeout_(timeout),
        store_(rendezvous_.store),
        group_name_(rendezvous_.name),
        failure_(std::make_shared<FirstFailure>()),
        nccl_watchdog_(rendezvous_, device_, timeout_, failure_) {
    register_rank(rendezvous_);
    if (rendezvous_.watchdog_store) {
      Watchdog::Options options{.group = group_name_,
                                .rank = rendezvous_.default_group_rank(),
                                .heartbeat_interval = report_interval(timeout_)};
      options.on_failure = [this](const std::string& cause) {
        nccl_watchdog_.fail_group(cause,
                                  milliseconds(300));  // a short wait, because a lost rank never reports its call
        return failure_->what();
      };
      options.on_ranks_left = [this](const LeftRanks& left) { nccl_watchdog_.record_left_ranks(left); };
      if (rendezvous_.is_process) options.failure_reported = rendezvous_.failure_reported;
      watchdog_ = std::make_unique<Watchdog>(std::move(rendezvous_.watchdog_store), std::move(options));
    }
    wait_for_all_ranks(*store_, group_name_, rank_, size_, timeout_, {}, rendezvous_.members);
    store_host_.all_joined = true;
    comm_ = &connect(rank_, size_, group_name_ + "/nccl", "init_process_group");
    if (!rendezvous_.is_process) return;
    exit_notice_.emplace(rendezvous_, [this](bool succeeded, const std::string& why) {
      if (!succeeded) return nccl_watchdog_.fail_group(why, milliseconds(0));
      failure_->set(why);
      rendezvous_.flight_log->record_leave();
    });
  }
  ~NcclCommunicator() override {
    exit_notice_.reset();
    nccl_watchdog_.wait_until_idle();
    if (failure_->what().empty()) leave_group(*store_, group_name_, rendezvous_.default_group_rank());
    watchdog_.reset();
    store_host_.failed = !failure_->what().empty();
  }

  void all_reduce(const CollectiveCall& call, Tensor& x) override {
    if (!is_supported_by_nccl(call)) return reduce_by_all_gather(call, x, true);
    enqueue(call, "ncclAllReduce", [this, call, x](Comm comm) {
      return lib_.ncclAllReduce(x.raw_data(), x.raw_data(), nccl_count(x), nccl_type(x.dtype()).type, nccl_op(call.op),
                                comm, stream());
    });
    if (call.op == ReduceOp::AVG) run_after_group([x, n = size_]() mutable { divide_by_num_ranks(x, n); });
    bytes_sent += 2 * (size_ - 1) * x.nbytes() / size_;
  }
  void broadcast(const CollectiveCall& call, Tensor& x) override {
    enqueue(call, "ncclBroadcast", [this, call, x](Comm comm) {
      return lib_.ncclBroadcast(x.raw_data(), x.raw_data(), nccl_count(x), nccl_type(x.dtype()).type, call.root_or_peer,
                                comm, stream());
    });
    // the rank before the root is the last in the ring and sends nothing
    if (rank_ != (call.root_or_peer + size_ - 1) % size_) bytes_sent += x.nbytes();
  }
  void reduce(const CollectiveCall& call, Tensor& x) override {
    if (!is_supported_by_nccl(call)) return reduce_by_all_gather(call, x, rank_ == call.root_or_peer);
    enqueue(call, "ncclReduce", [this, call, x](Comm comm) {
      return lib_.ncclReduce(x.raw_data(), x.raw_data(), nccl_count(x), nccl_type(x.dtype()).type, nccl_op(call.op),
                             call.root_or_peer, comm, stream());
    });
    if (call.op == ReduceOp::AVG && rank_ == call.root_or_peer)
      run_after_group([x, n = size_]() mutable { divide_by_num_ranks(x, n); });
    if (rank_ != call.root_or_peer) bytes_sent += x.nbytes();
  }
  void all_gather(const CollectiveCall& call, std::vector<Tensor>& outputs, const Tensor& input) override {
    const bool whole = is_contiguous_list(outputs);
    const Tensor all = whole ? outputs[0] : core::empty({size_ * input.numel()}, input.dtype(), device_);
    gather(call, all, input);
    if (whole) return;
    run_after_group([all, outputs, n = input.numel()] {
      for (size_t r = 0; r < outputs.size(); ++r)
        copy_elements(core::try_view(core::narrow(all, 0, static_cast<int64_t>(r) * n, n), outputs[r].sizes()),
                      outputs[r]);
    });
  }
  void reduce_scatter(const CollectiveCall& call, Tensor& output, const std::vector<Tensor>& inputs) override {
    if (!is_supported_by_nccl(call)) return reduce_scatter_by_sends(call, output, inputs);
    Tensor all = inputs[0];
    if (!is_contiguous_list(inputs)) {
      const int64_t n = output.numel();
      all = core::empty({size_ * n}, output.dtype(), device_);
      for (size_t r = 0; r < inputs.size(); ++r)
        copy_elements(inputs[r],
                      core::try_view(core::narrow(all, 0, static_cast<int64_t>(r) * n, n), inputs[r].sizes()));
    }
    enqueue(call, "ncclReduceScatter", [this, call, output, all](Comm comm) {
      return lib_.ncclReduceScatter(all.raw_data(), output.raw_data(), nccl_count(output),
                                    nccl_type(output.dtype()).type, nccl_op(call.op), comm, stream());
    });
    if (call.op == ReduceOp::AVG) run_after_group([output, n = size_]() mutable { divide_by_num_ranks(output, n); });
    bytes_sent += (size_ - 1) * output.nbytes();
  }
  void all_to_all_v(const CollectiveCall& call, std::vector<Tensor>& outputs,
                    const std::vector<Tensor>& inputs) override {
    send_and_receive(call, outputs, inputs);
    for (int r = 0; r < size_; ++r)
      if (r != rank_ && call.send_numel_to(r) > 0) bytes_sent += inputs[static_cast<size_t>(r)].nbytes();
  }
  void send(const CollectiveCall& call, const Tensor& x, int tag) override {
    enqueue_on(get_pair_comm(call, tag, /*sends=*/true),
               {{call, "ncclSend", [this, x](Comm comm) {
                   return lib_.ncclSend(x.raw_data(), nccl_count(x), nccl_type(x.dtype()).type, 1, comm, stream());
                 }}});
    bytes_sent += x.nbytes();
  }
  int recv(const CollectiveCall& call, Tensor& x, int tag) override {
    enqueue_on(get_pair_comm(call, tag, /*sends=*/false),
               {{call, "ncclRecv", [this, x](Comm comm) {
                   return lib_.ncclRecv(x.raw_data(), nccl_count(x), nccl_type(x.dtype()).type, 0, comm, stream());
                 }}});
    return call.root_or_peer;
  }
  /// Blocks the host until all ranks have called it, as a barrier must.
  void barrier(const CollectiveCall& call) override {
    const Tensor one = core::empty({1}, kInt32, device_);
    const gpu::DeviceGuard guard(device_.index());
    gpu::fill_bytes_async(one.raw_data(), 0, static_cast<size_t>(one.nbytes()), stream());
    enqueue(call, "ncclAllReduce", [this, one](Comm comm) {
      return lib_.ncclAllReduce(one.raw_data(), one.raw_data(), 1, Type::int32, Op::sum, comm, stream());
    });
    cuda::current_stream(device_).synchronize();
    failure_->throw_if_set();
  }
  std::unique_ptr<Communicator> split(const std::string& name, int rank, GroupMembersPtr members,
                                      milliseconds timeout) override {
    return std::make_unique<NcclCommunicator>(rendezvous_.make_subgroup(name, rank, std::move(members), timeout),
                                              device_, timeout);
  }
  void abort(const std::string& reason) override { nccl_watchdog_.fail_group(reason); }

  void begin_group() override { in_group_call_ = true; }
  void end_group() override {
    in_group_call_ = false;
    const std::vector<NcclLaunch> group = std::exchange(group_launches_, {});
    const std::vector<std::function<void()>> callbacks = std::exchange(after_group_callbacks_, {});
    if (!group.empty()) enqueue_on(*comm_, group);
    for (const auto& f : callbacks) f();
  }
  void run_after_group(std::function<void()> f) override {
    if (in_group_call_)
      after_group_callbacks_.push_back(std::move(f));
    else
      f();
  }
  std::shared_ptr<const FirstFailure> async_failure() const override { return failure_; }
  std::shared_ptr<std::atomic<bool>> failure_reported() const override { return rendezvous_.failure_reported; }

 private:
  /// A call of the NCCL function `name`. f(comm) makes the call.
  struct NcclLaunch {
    CollectiveCall call;
    const char* name;
    std::function<Result(Comm)> f;
  };

  gpu::StreamHandle stream() const { return cuda::current_stream(device_).handle(); }

  // ---- operations that NCCL lacks

  void gather(const CollectiveCall& call, const Tensor& all, const Tensor& input) {
    enqueue(call, "ncclAllGather", [this, all, input](Comm comm) {
      return lib_.ncclAllGather(input.raw_data(), all.raw_data(), nccl_count(input), nccl_type(input.dtype()).type,
                                comm, stream());
    });
    bytes_sent += (size_ - 1) * input.nbytes();
  }
  std::vector<Tensor> split_by_rank(const Tensor& all) const {
    const int64_t n = all.numel() / size_;
    std::vector<Tensor> parts;
    for (int64_t r = 0; r < size_; ++r) parts.push_back(core::narrow(all, 0, r * n, n));
    return parts;
  }
  /// Gathers x from all ranks. If `is_receiver` is true, reduces the gathered tensors into x.
  void reduce_by_all_gather(const CollectiveCall& call, const Tensor& x, bool is_receiver) {
    const Tensor all = core::empty({size_ * x.numel()}, x.dtype(), device_);
    gather(call, all, x);
    if (!is_receiver) return;
    run_after_group([this, call, all, y = core::try_view(x, {x.numel()})]() mutable {
      reduce_in_order(split_by_rank(all), call.op, y);
    });
  }
  /// Sends inputs[r] to each rank r and receives outputs[r] from it, including r = this rank. Skips undefined and empty
  /// tensors.
  void send_and_receive(const CollectiveCall& call, const std::vector<Tensor>& outputs,
                        const std::vector<Tensor>& inputs) {
    enqueue(call, "ncclSend and ncclRecv", [this, outputs, inputs](Comm comm) {
      Result result = lib_.ncclGroupStart();
      for (int r = 0; r < size_ && result == Result::success; ++r) {
        const Tensor &in = inputs[static_cast<size_t>(r)], &out = outputs[static_cast<size_t>(r)];
        if (in.defined() && in.numel() > 0)
          result = lib_.ncclSend(in.raw_data(), nccl_count(in), nccl_type(in.dtype()).type, r, comm, stream());
        if (result == Result::success && out.defined() && out.numel() > 0)
          result = lib_.ncclRecv(out.raw_data(), nccl_count(out), nccl_type(out.dtype()).type, r, comm, stream());
      }
      const Result ended = lib_.ncclGroupEnd();
      return result == Result::success ? ended : result;
    });
  }
  /// Reduce-scatter by sends: this rank sends inputs[r] to each rank r, and reduces the tensors that it receives into
  /// output.
  void reduce_scatter_by_sends(const CollectiveCall& call, const Tensor& output, const std::vector<Tensor>& inputs) {
    const Tensor all = core::empty({size_ * output.numel()}, output.dtype(), device_);
    send_and_receive(call, split_by_rank(all), inputs);
    bytes_sent += (size_ - 1) * output.nbytes();
    run_after_group([this, call, all, y = core::try_view(output, {output.numel()})]() mutable {
      reduce_in_order(split_by_rank(all), call.op, y);
    });
  }

  // ---- calls on the GPU

  void enqueue(const CollectiveCall& call, const char* name, std::function<Result(Comm)> f) {
    if (in_group_call_)
      group_launches_.push_back({call, name, std::move(f)});
    else
      enqueue_on(*comm_, {{call, name, std::move(f)}});
  }
  /// Passes calls to the library. NCCL launches several calls as one group.
  void enqueue_on(NcclComm& comm, const std::vector<NcclLaunch>& launches) {
    for (const NcclLaunch& launch : launches) nccl_watchdog_.record_call(launch.call);
    failure_->throw_if_set();
    const Deadline deadline = deadline_after(timeout_);
    try {
      comm.call_library(launches.size() == 1 ? launches[0].name : "ncclGroupEnd", deadline, [&](Comm c) {
        if (launches.size() == 1) return launches[0].f(c);
        Result result = lib_.ncclGroupStart();
        for (size_t i = 0; i < launches.size() && result == Result::success; ++i) result = launches[i].f(c);
        const Result ended = lib_.ncclGroupEnd();
        return result == Result::success ? ended : result;
      });
    } catch (const std::exception& error) {
      fail_group(launches[0].call.str(), error);
    }
    cuda::Event end;
    end.record(cuda::current_stream(device_));
    for (const NcclLaunch& launch : launches) nccl_watchdog_.add_in_flight(launch.call, end, deadline);
  }
  [[noreturn]] void fail_group(const std::string& what, const std::exception& error) {
    nccl_watchdog_.fail_group(what + ": " + error.what());
    failure_->throw_if_set();
    throw DistributedError(error.what());
  }
  NcclComm& connect(int rank, int size, const std::string& key, const std::string& what) {
    const Deadline deadline = deadline_after(timeout_);
    try {
      nccl::UniqueId id;
      if (rank == 0) {
        const Result result = lib_.ncclGetUniqueId(&id);
        TANDEM_CHECK_AS(DistributedError, result == Result::success,
                        "ncclGetUniqueId: ", lib_.ncclGetErrorString(result));
        store_->set(key, std::string(id.internal, sizeof id.internal));
      } else {
        const std::string text = wait_for_key(key, deadline);
        TANDEM_CHECK_AS(DistributedError, text.size() == sizeof id.internal,
                        "internal error: the NCCL id in the store has ", text.size(), " bytes instead of ",
                        sizeof id.internal, "; please report it");
        std::memcpy(id.internal, text.data(), sizeof id.internal);
      }
      return nccl_watchdog_.take_ownership(NcclComm::connect(lib_, rank, size, id, device_, deadline, failure_));
    } catch (const std::exception& error) {
      fail_group(what, error);
    }
  }
  /// Waits for a key by a series of short requests, so that the NcclWatchdog can use the store in between.
  std::string wait_for_key(const std::string& key, Deadline deadline) {
    while (Clock::now() < deadline) {
      failure_->throw_if_set();
      if (const auto value = store_->find(key, milliseconds(20))) return *value;
    }
    throw DistributedError("the rank that makes the NCCL id (rank 0, or the sender) did not arrive within " +
                           std::to_string(timeout_.count()) + " ms");
  }
  /// Returns a communicator of two ranks, used only for sends with one tag in one direction. The sender is its rank 0.
  /// The host queues its calls independently of all other calls. On the GPU, however, kernels of one communicator may
  /// wait for kernels of another, because NCCL does not rule this out.
  NcclComm& get_pair_comm(const CollectiveCall& call, int tag, bool sends) {
    const int from = sends ? rank_ : call.root_or_peer, to = sends ? call.root_or_peer : rank_;
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = pair_comms_.find({from, to, tag}); at != pair_comms_.end()) return *at->second;
    }
    nccl_watchdog_.record_call(call);
    failure_->throw_if_set();
    std::ostringstream key;
    key << group_name_ << "/nccl " << from << " to " << to << " tag " << tag;
    NcclComm& made = connect(sends ? 0 : 1, 2, key.str(), call.str());
    const std::lock_guard lock(mutex_);
    return *pair_comms_.emplace(std::tuple(from, to, tag), &made).first->second;
  }

  Rendezvous rendezvous_;
  StoreHost store_host_;  // declared before nccl_watchdog_ and the others, so that it outlives them
  const nccl::Library& lib_;
  const int rank_, size_;
  const Device device_;
  const milliseconds timeout_;
  const std::shared_ptr<StoreClient> store_;
  const std::string group_name_;
  const std::shared_ptr<FirstFailure> failure_;
  nccl::NcclWatchdog nccl_watchdog_;
  NcclComm* comm_ = nullptr;  // communicator of all ranks; nccl_watchdog_ owns it

  std::mutex mutex_;  // guards pair_comms_
  // communicators from get_pair_comm(), by sender, receiver and tag
  std::map<std::tuple<int, int, int>, NcclComm*> pair_comms_;

  bool in_group_call_ =
      false;  // Only the thread that runs collectives uses in_group_call_, group_launches_ and after_group_callbacks_.
  std::vector<NcclLaunch> group_launches_;
  std::vector<std::function<void()>> after_group_callbacks_;
  std::unique_ptr<Watchdog> watchdog_;
  std::optional<ExitNotice> exit_notice_;
};

}  // namespace

ProcessGroupPtr make_nccl_group(Rendezvous job, Device device, milliseconds timeout) {
  TANDEM_CHECK(device.is_cuda(), "init_process_group: nccl was requested on ", device, "; accepted: a CUDA device");
  check_device_exists(device);
  const int rank = job.rank, size = job.size;
  if (!job.flight_log) job.flight_log = std::make_shared<FlightLog>(rank, size);
  const std::shared_ptr<FlightLog> flight = job.flight_log;
  auto communicator = std::make_unique<NcclCommunicator>(std::move(job), device, timeout);
  return make_queued_group(rank, size, "nccl", timeout, std::move(communicator), device, nullptr, flight);
}

bool is_nccl_available() { return cuda::is_available() && nccl::find_library(); }

}  // namespace tandem::distributed
