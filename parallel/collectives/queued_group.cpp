// Implements QueuedGroup, a ProcessGroup over a Communicator: checks the arguments, makes tensors contiguous, and calls
// one of the communicator's few functions for each collective.
#include <algorithm>
#include <set>

#include "tandem/autograd/ops.h"
#include "tandem/parallel/collectives/call_queue.h"

namespace tandem::distributed {
namespace {

/// Makes tensors contiguous. If the same tensor follows itself in the list, as in a send to all ranks, it is copied
/// only once.
std::vector<Tensor> make_contiguous(const std::vector<Tensor>& list) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (size_t i = 0; i < list.size(); ++i) {
    const bool again = i > 0 && list[i].defined() && list[i].is_same(list[i - 1]);
    out.push_back(again ? out.back() : list[i].defined() ? list[i].contiguous() : list[i]);
  }
  return out;
}
/// Returns a contiguous tensor for each result in `list`: the tensor itself if it is contiguous, otherwise a new one.
std::vector<Tensor> contiguous_like(const std::vector<Tensor>& list) {
  std::vector<Tensor> out;
  out.reserve(list.size());
  for (const Tensor& y : list)
    out.push_back(!y.defined() || y.is_contiguous() ? y : core::empty(y.sizes(), y.dtype(), y.device()));
  return out;
}
/// Copies the values of `contiguous`, the contiguous copy of a result, to the result y. If they are the same
/// tensor, only increments its version.
void copy_result(const Tensor& contiguous, const Tensor& y) {
  if (contiguous.is_same(y)) return y.bump_version();
  Tensor(y.detach()).copy_(contiguous);
}
/// Returns whether two outputs share an element. If one is not contiguous, only checks whether both begin at the same
/// element.
bool overlap(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0 || b.numel() == 0 || a.storage() != b.storage()) return false;
  if (!a.is_contiguous() || !b.is_contiguous()) return a.raw_data() == b.raw_data();
  const auto* const first = static_cast<const char*>(a.raw_data());
  const auto* const second = static_cast<const char*>(b.raw_data());
  return first < second + b.nbytes() && second < first + a.nbytes();
}
std::vector<Tensor> append_tensor(std::vector<Tensor> list, const Tensor& reference) {
  list.push_back(reference);
  return list;
}

class QueuedGroup final : public ProcessGroup {
 public:
  /// On a rank outside the group, `communicator` is null and `rank` is -1.
  QueuedGroup(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
              std::unique_ptr<Communicator> communicator, Device device, GroupMembersPtr members,
              std::shared_ptr<FlightLog> flight, std::string id)
      : ProcessGroup(rank, size, std::move(backend), timeout, device, members ? members->ranks : std::vector<int>(),
                     members ? members->name : std::string()),
        members_(std::move(members)),
        communicator_(std::move(communicator)),
        flight_log_(flight ? std::move(flight) : std::make_shared<FlightLog>(rank, size)),
        id_(std::move(id)) {
    if (!communicator_) return;
    flight_recorder_ = flight_log_->add_group({id_, name(), this->backend(), ranks(), rank, this->timeout()});
    call_queue_.emplace(*communicator_, rank, flight_log_, flight_recorder_);
  }
  ~QueuedGroup() override {
    call_queue_.reset();  // completes the calls in progress
    if (communicator_ && !members_) flight_log_->record_leave();
  }

  // ---- calls that the communicator implements

  WorkPtr all_reduce(const Tensor& x, ReduceOp op, const About& about) override {
    CollectiveCall call = make_collective_call("all_reduce", x, about);
    set_op(call, op);
    return start_in_place(std::move(call), x,
                          [this](const CollectiveCall& c, Tensor& y) { communicator_->all_reduce(c, y); });
  }
  WorkPtr broadcast(const Tensor& x, int src, const About& about) override {
    CollectiveCall call = make_collective_call("broadcast", x, about);
    set_root_or_peer(call, src);
    return start_in_place(std::move(call), x,
                          [this](const CollectiveCall& c, Tensor& y) { communicator_->broadcast(c, y); });
  }
  WorkPtr reduce(const Tensor& x, int dst, ReduceOp op, const About& about) override {
    CollectiveCall call = make_collective_call("reduce", x, about);
    set_op(call, op);
    set_root_or_peer(call, dst);
    return start_in_place(std::move(call), x,
                          [this](const CollectiveCall& c, Tensor& y) { communicator_->reduce(c, y); });
  }
  WorkPtr all_gather(const std::vector<Tensor>& outputs, const Tensor& input, const About& about) override {
    return all_gather_list("all_gather", outputs, input, about);
  }
  WorkPtr all_gather_into_tensor(const Tensor& output, const Tensor& input, const About& about) override {
    const CollectiveCall call = make_collective_call("all_gather_into_tensor", input, {});
    check_tensor(call.name, output);
    return all_gather_list(call.name, split_for_ranks("output", call, output, input), input, about);
  }
  WorkPtr reduce_scatter(const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                         const About& about) override {
    return reduce_scatter_list("reduce_scatter", output, inputs, op, about);
  }
  WorkPtr reduce_scatter_tensor(const Tensor& output, const Tensor& input, ReduceOp op, const About& about) override {
    const CollectiveCall call = make_collective_call("reduce_scatter_tensor", output, {});
    check_tensor(call.name, input);
    return reduce_scatter_list(call.name, output, split_for_ranks("input", call, input, output), op, about);
  }
  WorkPtr barrier(const About& about) override {
    check_member("barrier");
    TANDEM_CHECK(!call_queue_->is_coalescing(), "barrier: a barrier cannot be coalesced; call end_coalescing first");
    CollectiveCall call{.name = "barrier",
                        .about = about.text,
                        .device = device(),
                        .group = members_,
                        .file = about.file,
                        .line = about.line};
    return call_queue_->enqueue_collective(
        {std::move(call), {}, [this](const CollectiveCall& c, QueuedWork&) { communicator_->barrier(c); }});
  }

  // ---- calls that are an exchange

  WorkPtr gather(const std::vector<Tensor>& outputs, const Tensor& input, int dst, const About& about) override {
    CollectiveCall call = make_collective_call("gather", input, about);
    set_root_or_peer(call, dst);
    check_list_at_root(call, "outputs", outputs, input);
    std::vector<Tensor> sends(static_cast<size_t>(size()));
    sends[static_cast<size_t>(dst)] = input;
    return enqueue_all_to_all_v(std::move(call), outputs, std::move(sends));
  }
  WorkPtr gather_into_tensor(const Tensor& output, const Tensor& input, int dst, const About& about) override {
    CollectiveCall call = make_collective_call("gather_into_tensor", input, about);
    set_root_or_peer(call, dst);
    std::vector<Tensor> receives, sends(static_cast<size_t>(size()));
    if (rank() == dst) {
      TANDEM_CHECK(output.defined(), call.name, ": output must be specified on the destination rank ", dst,
                   ", with room for all ranks' inputs");
      check_same_dtype_and_device(call, "tensors", output, input);
      receives = split_for_ranks("output", call, output, input);
    }
    sends[static_cast<size_t>(dst)] = input;
    return enqueue_all_to_all_v(std::move(call), std::move(receives), std::move(sends));
  }
  WorkPtr scatter(const Tensor& output, const std::vector<Tensor>& inputs, int src, const About& about) override {
    CollectiveCall call = make_collective_call("scatter", output, about);
    set_root_or_peer(call, src);
    check_list_at_root(call, "inputs", inputs, output);
    std::vector<Tensor> receives(static_cast<size_t>(size()));
    receives[static_cast<size_t>(src)] = output;
    return enqueue_all_to_all_v(std::move(call), std::move(receives), inputs);
  }
  WorkPtr all_to_all(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                     const About& about) override {
    check_member("all_to_all");
    for (const auto* list : {&outputs, &inputs})
      TANDEM_CHECK(list->size() == static_cast<size_t>(size()), "all_to_all: ", list == &outputs ? "output" : "input",
                   " tensor list size ", list->size(), " does not match world size ", size());
    CollectiveCall call = make_collective_call("all_to_all", inputs[0], about);
    call.numel = -1;
    for (const auto* list : {&outputs, &inputs})
      for (const Tensor& t : *list)
        check_same_dtype_and_device(call, list == &outputs ? "outputs" : "inputs", t, inputs[0]);
    check_no_aliasing(call, outputs, inputs);
    return enqueue_all_to_all_v(std::move(call), outputs, inputs);
  }
  WorkPtr all_to_all_single(const Tensor& output, const Tensor& input, const std::vector<int64_t>& output_split_sizes,
                            const std::vector<int64_t>& input_split_sizes, const About& about) override {
    CollectiveCall call = make_collective_call("all_to_all_single", input, about);
    call.numel = -1;
    check_tensor(call.name, output);
    check_same_dtype_and_device(call, "tensors", output, input);
    const std::vector<Tensor> receives = split_rows(call, "output", output, output_split_sizes),
                              sends = split_rows(call, "input", input, input_split_sizes);
    check_no_aliasing(call, receives, sends);
    return enqueue_all_to_all_v(std::move(call), receives, sends);
  }

  // ---- point-to-point calls

  WorkPtr send(const Tensor& x, int dst, int tag, const About& about) override {
    CollectiveCall call = make_p2p_call("send", x, dst, about);
    const auto run = [this, x, tag](const CollectiveCall& c, QueuedWork&) {
      communicator_->send(c, x.contiguous(), tag);
    };
    return call_queue_->enqueue_p2p({std::move(call), {x}, run}, tag, /*sends=*/true);
  }
  WorkPtr recv(const Tensor& x, int src, int tag, const About& about) override {
    return enqueue_recv(make_p2p_call("recv", x, src, about), x, tag);
  }
  WorkPtr recv_anysource(const Tensor& x, int tag, const About& about) override {
    TANDEM_CHECK_AS(NotImplementedError, backend() != "nccl",
                    "recv_anysource: NCCL cannot receive from any rank; use recv with a source, or a group over gloo");
    return enqueue_recv(make_collective_call("recv_anysource", x, about), x, tag);
  }

  // ---- group management

  void start_coalescing() override {
    check_member("start_coalescing");
    call_queue_->start_coalescing();
  }
  void end_coalescing() override {
    if (call_queue_) call_queue_->end_coalescing();
  }
  void abort(const std::string& reason) override {
    check_member("abort");
    communicator_->abort(reason);
  }
  int64_t bytes_sent() const override { return communicator_ ? communicator_->total_bytes_sent() : 0; }
  ProcessGroupPtr make_subgroup(const std::vector<int>& ranks, const GroupOptions& options) override {
    check_member("make_subgroup");
    TANDEM_CHECK(std::set<int>(ranks.begin(), ranks.end()).size() == ranks.size(), "make_subgroup: ranks list ",
                 "must not contain duplicate entries, got a ", GroupMembers{"", ranks}.str());
    auto members = std::make_shared<GroupMembers>(GroupMembers{options.name, {}});
    for (const int r : ranks) {
      TANDEM_CHECK(r >= 0 && r < size(), "make_subgroup: Rank ", r, " is out of range. Valid ranks are 0 to ",
                   size() - 1, " (world_size=", size(), ")");
      members->ranks.push_back(this->ranks()[static_cast<size_t>(r)]);
    }
    const std::string number = std::to_string(++num_subgroups_) + "." + std::to_string(ranks.empty() ? -1 : ranks[0]);
    const int count = static_cast<int>(ranks.size());
    const auto at = std::find(ranks.begin(), ranks.end(), rank());
    const int subgroup_rank = at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
    const auto timeout = options.timeout == kNoTimeout ? this->timeout() : options.timeout;
    std::unique_ptr<Communicator> communicator;
    if (subgroup_rank >= 0) communicator = communicator_->split(number, subgroup_rank, members, timeout);
    return make_queued_group(subgroup_rank, count, backend(), timeout, std::move(communicator), device(), members,
                             flight_log_, id_ + "/" + number);
  }

 private:
  void check_member(const char* name) const {
    TANDEM_CHECK(communicator_, name, ": this rank is not in the ", members_->str(), "; only its ranks may call this");
  }
  void check_tensor(const char* name, const Tensor& x) const {
    check_member(name);
    TANDEM_CHECK(x.defined(), name, ": the tensor is undefined; accepted: a defined tensor");
    TANDEM_CHECK(device().is_cpu() || x.device() == device(), name, ": the tensor is on ", x.device(), "; this rank's ",
                 backend(), " group accepts only tensors on ", device());
    TANDEM_CHECK(!x.requires_grad() || !is_grad_enabled() || x.is_leaf(), name,
                 ": the tensor has a grad_fn, but a collective is not recorded by autograd; call detach() first");
  }
  CollectiveCall make_collective_call(const char* name, const Tensor& x, const About& about) const {
    check_tensor(name, x);
    return {.name = name,
            .about = about.text,
            .dtype = x.dtype(),
            .device = x.device(),
            .numel = x.numel(),
            .group = members_,
            .shape = x.sizes(),
            .file = about.file,
            .line = about.line};
  }
  CollectiveCall make_p2p_call(const char* name, const Tensor& x, int other, const About& about) const {
    CollectiveCall call = make_collective_call(name, x, about);
    TANDEM_CHECK(other >= 0 && other < size(), name, ": rank ", other, " is not in the group; accepted: 0 to ",
                 size() - 1);
    call.root_or_peer = other;
    const char* const role = std::string_view(name) == "send" ? "destination" : "source";
    TANDEM_CHECK(other != rank(), name, ": Invalid ", role, " rank: ", role,
                 " rank should not be the same as the rank of the current process (", other, ")");
    return call;
  }
  void set_op(CollectiveCall& call, ReduceOp op) const {
    TANDEM_CHECK(op != ReduceOp::AVG || is_floating_point(call.dtype), call.name, ": AVG of ", call.dtype,
                 "; accepted: a floating-point dtype");
    call.is_reduction = true;
    call.op = op;
  }
  void set_root_or_peer(CollectiveCall& call, int other) const {
    TANDEM_CHECK(other >= 0 && other < size(), call.name, ": invalid root rank: ", other, "; accepted: 0 to ",
                 size() - 1, ", the ranks of the group");
    call.root_or_peer = other;
  }
  /// Checks that t has the dtype of `reference`, and that both are on the same GPU or both on the CPU.
  void check_same_dtype_and_device(const CollectiveCall& call, const char* what, const Tensor& t,
                                   const Tensor& reference) const {
    check_tensor(call.name, t);
    TANDEM_CHECK(t.dtype() == reference.dtype(), call.name,
                 ": Invalid usage of tensors with different dtypes: one of the ", what, " is ", t.dtype(), t.sizes(),
                 ", another tensor ", reference.dtype(), reference.sizes(), "; accepted: one dtype for all");
    TANDEM_CHECK(t.device() == reference.device() || (t.is_cpu() && reference.is_cpu()), call.name,
                 ": tensors should be on the same device, but one of the ", what, " is on ", t.device(),
                 " and another tensor on ", reference.device(), "; accepted: all on one GPU, or all on CPUs");
  }
  void check_list_length(const CollectiveCall& call, const char* what, const std::vector<Tensor>& list) const {
    if (list.size() == static_cast<size_t>(size())) return;
    const std::string_view name = call.name;
    if (name == "all_gather")
      TANDEM_FAIL(name, ": invalid output tensor list at index 0 (expected length ", size(), ", got ", list.size(),
                  ")");
    TANDEM_CHECK(name != "reduce_scatter", name, ": invalid input tensor list size, must be world size: there are ",
                 list.size(), " inputs for ", size(), " ranks");
    const char* const list_name = what == std::string_view("outputs") ? "output" : "input";
    TANDEM_FAIL(name, ": Incorrect ", list_name, " list size ", list.size(), ". ",
                list_name[0] == 'o' ? "Output" : "Input", " list size should be ", size(),
                ", same as size of the process group.");
  }
  void check_tensor_list(const CollectiveCall& call, const char* what, const std::vector<Tensor>& list,
                         const Tensor& reference) const {
    check_list_length(call, what, list);
    for (size_t i = 0; i < list.size(); ++i) {
      check_same_dtype_and_device(call, what, list[i], reference);
      TANDEM_CHECK(list[i].sizes() == reference.sizes(), call.name, ": invalid tensor size at index ", i, " (expected ",
                   reference.sizes(), ", got ", list[i].sizes(), ")");
    }
  }
  void check_list_at_root(const CollectiveCall& call, const char* what, const std::vector<Tensor>& list,
                          const Tensor& reference) const {
    if (rank() == call.root_or_peer) return check_tensor_list(call, what, list, reference);
    TANDEM_CHECK(list.empty(), call.name, ": requires empty ", what == std::string_view("outputs") ? "output" : "input",
                 " on non-root: rank ", rank(), " has ", list.size(), " ", what, "; accepted: ", size(), " on rank ",
                 call.root_or_peer, ", and none elsewhere");
  }
  /// Splits `whole` into one part per rank, each with the shape of `reference`.
  std::vector<Tensor> split_for_ranks(const char* what, const CollectiveCall& call, const Tensor& whole,
                                      const Tensor& reference) const {
    std::vector<int64_t> stacked = {size()}, concatenated(reference.sizes().begin(), reference.sizes().end());
    stacked.insert(stacked.end(), concatenated.begin(), concatenated.end());
    if (!concatenated.empty()) concatenated[0] *= size();
    const bool is_stacked = whole.sizes() == IntArrayRef(stacked);
    TANDEM_CHECK(is_stacked || (reference.dim() > 0 && whole.sizes() == IntArrayRef(concatenated)), call.name, ": the ",
                 what, " is ", whole.sizes(), ", and a rank's part ", reference.sizes(),
                 "; accepted: ", IntArrayRef(concatenated), " or ", IntArrayRef(stacked));
    std::vector<Tensor> list;
    const Tensor values = whole.detach();
    for (int64_t r = 0; r < size(); ++r)
      list.push_back(is_stacked ? values.select(0, r) : values.narrow(0, r * reference.size(0), reference.size(0)));
    return list;
  }
  /// Splits the rows of x: sizes[r] rows for each rank r.
  std::vector<Tensor> split_rows(const CollectiveCall& call, const char* what, const Tensor& x,
                                 std::vector<int64_t> sizes) const {
    TANDEM_CHECK(x.dim() > 0, call.name, ": Dimension specified as 0 but tensor has no dimensions: the ", what,
                 " is a scalar");
    const int64_t all = x.size(0);
    if (sizes.empty()) {
      TANDEM_CHECK(all % size() == 0, call.name, ": Tensor's dim 0 does not divide equally across group size: the ",
                   what, " has ", all, " rows for ", size(), " ranks; accepted: a multiple of ", size(), ", or ", what,
                   "_split_sizes");
      sizes.assign(static_cast<size_t>(size()), all / size());
    }
    int64_t sum = 0;
    bool negative = false;
    for (const int64_t n : sizes) sum += n >= 0 ? n : all + 1, negative = negative || n < 0;
    const bool right_count = sizes.size() == static_cast<size_t>(size());
    TANDEM_CHECK(right_count && sum == all, call.name, ": ",
                 !right_count ? "Number of tensor splits not equal to group size"
                 : negative   ? "Split sizes must be non-negative"
                              : "Split sizes doesn't match total dim 0 size",
                 ": ", what, "_split_sizes are ", IntArrayRef(sizes), " for ", all, " rows; accepted: ", size(),
                 " counts that add up to ", all);
    std::vector<Tensor> list;
    const Tensor values = x.detach();
    for (int64_t first = 0; const int64_t n : sizes) list.push_back(values.narrow(0, first, n)), first += n;
    return list;
  }
  /// Checks that no output shares storage with an input: other ranks read the inputs while this rank writes its
  /// outputs.
  static void check_no_aliasing(const CollectiveCall& call, const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& inputs) {
    for (const Tensor& y : outputs)
      for (const Tensor& x : inputs)
        TANDEM_CHECK(y.numel() == 0 || x.numel() == 0 || y.storage() != x.storage(), call.name,
                     ": an output shares storage with an input; accepted: an output with its own storage");
  }

  /// Checks that no two elements of the outputs share memory, because each is written with its own value.
  static void check_outputs_distinct(const CollectiveCall& call, const std::vector<Tensor>& outputs) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Tensor& y = outputs[i];
      if (!y.defined() || y.numel() == 0) continue;
      TANDEM_CHECK(!may_overlap(y.sizes(), y.strides()), call.name, ": the output is ", y.sizes(), " with strides ",
                   y.strides(),
                   ", so some of its elements share memory; accepted: a tensor without such elements, for example the ",
                   "result of contiguous()");
      for (size_t k = 0; k < i; ++k)
        TANDEM_CHECK(!outputs[k].defined() || !overlap(outputs[k], y), call.name, ": outputs ", k, " and ", i,
                     " share memory; each output needs its own memory");
    }
  }

  /// Queues f(call, x). If x is not contiguous, f gets a contiguous copy, whose values are then copied to x.
  template <class F> WorkPtr start_in_place(CollectiveCall call, const Tensor& x, const F& f) {
    check_outputs_distinct(call, {x});
    return call_queue_->enqueue_collective(
        {std::move(call), {x}, [this, x, f](const CollectiveCall& c, QueuedWork&) { run_in_place(c, x, f); }});
  }
  template <class F> void run_in_place(const CollectiveCall& call, const Tensor& x, const F& f) {
    Tensor contiguous = x.is_contiguous() ? x : x.detach().contiguous();
    f(call, contiguous);
    communicator_->run_after_group([contiguous, x] { copy_result(contiguous, x); });
  }
  /// Runs f(call, outputs). Outputs that are not contiguous are replaced by contiguous tensors, whose values are then
  /// copied to them.
  template <class F>
  void run_with_contiguous_outputs(const CollectiveCall& call, const std::vector<Tensor>& outputs, const F& f) {
    std::vector<Tensor> there = contiguous_like(outputs);
    f(call, there);
    communicator_->run_after_group([there, outputs] {
      for (size_t r = 0; r < outputs.size(); ++r)
        if (outputs[r].defined()) copy_result(there[r], outputs[r]);
    });
  }
  WorkPtr all_gather_list(const char* name, const std::vector<Tensor>& outputs, const Tensor& input,
                          const About& about) {
    CollectiveCall call = make_collective_call(name, input, about);
    check_list_length(call, "outputs", outputs);
    for (const Tensor& y : outputs) check_same_dtype_and_device(call, "outputs", y, input);
    check_outputs_distinct(call, outputs);
    const auto alike = [&](const Tensor& y) { return y.sizes() == input.sizes(); };
    if (!std::all_of(outputs.begin(), outputs.end(), alike)) return all_gather_uneven(std::move(call), outputs, input);
    const auto run = [this, outputs, input](const CollectiveCall& c, QueuedWork&) {
      run_with_contiguous_outputs(c, outputs, [&](const CollectiveCall&, std::vector<Tensor>& ys) {
        communicator_->all_gather(c, ys, input.contiguous());
      });
    };
    return call_queue_->enqueue_collective({std::move(call), append_tensor(outputs, input), run});
  }
  WorkPtr all_gather_uneven(CollectiveCall call, const std::vector<Tensor>& outputs, const Tensor& input) {
    const Tensor& own = outputs[static_cast<size_t>(rank())];
    TANDEM_CHECK(own.sizes() == input.sizes(), call.name, ": invalid tensor size at index ", rank(), " (expected ",
                 input.sizes(), ", got ", own.sizes(), "); the output for each rank must have the size of its input");
    call.name = "all_gather of several sizes";
    call.numel = 0;
    for (const Tensor& y : outputs) call.numel += y.numel();
    return enqueue_all_to_all_v(std::move(call), outputs, std::vector<Tensor>(outputs.size(), input));
  }
  WorkPtr reduce_scatter_list(const char* name, const Tensor& output, const std::vector<Tensor>& inputs, ReduceOp op,
                              const About& about) {
    CollectiveCall call = make_collective_call(name, output, about);
    set_op(call, op);
    check_tensor_list(call, "inputs", inputs, output);
    check_outputs_distinct(call, {output});
    const auto run = [this, output, inputs](const CollectiveCall& c, QueuedWork&) {
      run_in_place(c, output, [&](const CollectiveCall&, Tensor& y) {
        communicator_->reduce_scatter(c, y, make_contiguous(inputs));
      });
    };
    return call_queue_->enqueue_collective({std::move(call), append_tensor(inputs, output), run});
  }
  /// Queues an exchange. An empty list of inputs (outputs) means that this rank sends (receives) nothing.
  WorkPtr enqueue_all_to_all_v(CollectiveCall call, std::vector<Tensor> outputs, std::vector<Tensor> inputs) {
    const auto prepare = [this](std::vector<Tensor>& list, std::vector<int64_t>& counts) {
      list.resize(static_cast<size_t>(size()));
      for (const Tensor& t : list) counts.push_back(t.defined() ? t.numel() : 0);
    };
    prepare(outputs, call.recv_numels);
    prepare(inputs, call.send_numels);
    TANDEM_CHECK(call.send_numel_to(rank()) == call.recv_numel_from(rank()), call.name, ": this rank sends itself ",
                 call.send_numel_to(rank()), " elements, but receives ", call.recv_numel_from(rank()),
                 " from itself; both must be equal");
    check_outputs_distinct(call, outputs);
    std::vector<Tensor> tensors;
    for (const auto* list : {&outputs, &inputs})
      std::copy_if(list->begin(), list->end(), std::back_inserter(tensors),
                   [](const Tensor& t) { return t.defined(); });
    const auto run = [this, outputs, inputs](const CollectiveCall& c, QueuedWork&) {
      run_with_contiguous_outputs(c, outputs, [&](const CollectiveCall&, std::vector<Tensor>& ys) {
        communicator_->all_to_all_v(c, ys, make_contiguous(inputs));
      });
    };
    return call_queue_->enqueue_collective({std::move(call), std::move(tensors), run});
  }
  WorkPtr enqueue_recv(CollectiveCall call, const Tensor& x, int tag) {
    check_outputs_distinct(call, {x});
    const auto run = [this, x, tag](const CollectiveCall& c, QueuedWork& work) {
      Tensor contiguous = x.is_contiguous() ? x : x.detach().contiguous();
      work.set_source(communicator_->recv(c, contiguous, tag));
      copy_result(contiguous, x);
    };
    return call_queue_->enqueue_p2p({std::move(call), {x}, run}, tag, /*sends=*/false);
  }

  const GroupMembersPtr members_;
  const std::unique_ptr<Communicator> communicator_;
  const std::shared_ptr<FlightLog> flight_log_;
  const std::string id_;
  std::shared_ptr<FlightRecorder> flight_recorder_;
  int num_subgroups_ = 0;
  std::optional<CallQueue> call_queue_;  // last member: its thread uses communicator_
};

}  // namespace

ProcessGroupPtr make_queued_group(int rank, int size, std::string backend, std::chrono::milliseconds timeout,
                                  std::unique_ptr<Communicator> communicator, Device device, GroupMembersPtr members,
                                  std::shared_ptr<FlightLog> flight, std::string id) {
  return std::make_shared<QueuedGroup>(rank, size, std::move(backend), timeout, std::move(communicator), device,
                                       std::move(members), std::move(flight), std::move(id));
}

}  // namespace tandem::distributed
