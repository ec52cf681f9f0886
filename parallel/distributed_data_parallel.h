// DistributedDataParallel: every rank trains its own copy of a module on its own data, with averaged gradients.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/option.h"
#include "tandem/core/owned_ptr.h"
#include "tandem/core/tensor_tree.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/comm_hooks.h"
#include "tandem/parallel/ddp_logging.h"
#include "tandem/parallel/wrapper_module.h"

namespace tandem::nn::parallel {

namespace detail {
class Reducer;
struct ForwardState;
using ForwardStatePtr = std::shared_ptr<ForwardState>;
}  // namespace detail

/// Value of bucket_cap_mb that derives the bucket size from the latency and bandwidth between the ranks. They are
/// measured when the module is wrapped; get_ddp_logging_data() returns them.
constexpr double kBucketCapFromLink = -1;

/// Options of DistributedDataParallel. They correspond to the arguments of torch.nn.parallel.DistributedDataParallel.
struct DistributedDataParallelOptions {
  /// Ranks that train together; by default the default group.
  TANDEM_ARG(distributed::ProcessGroupPtr, process_group) = nullptr;
  /// If true, the buffers of rank 0 replace those of the other ranks before the first forward and before each forward
  /// that follows a synchronized one, as in PyTorch. The first forward in evaluation is such a forward. So either all
  /// ranks must evaluate, or a single rank must call the wrapped module instead of this wrapper.
  TANDEM_ARG(bool, broadcast_buffers) = true;
  /// Maximum MiB of gradients in a bucket, or kBucketCapFromLink.
  TANDEM_ARG(double, bucket_cap_mb) = 25;
  /// If true, a parameter may have no gradient in a step (see ReducerOptions).
  TANDEM_ARG(bool, find_unused_parameters) = false;
  /// If true, grad() is a view of a bucket (see ReducerOptions). Unlike in PyTorch, the default is true: it saves the
  /// memory and the copies of a second set of gradients. Pass false if you keep a p.grad() across the next backward.
  TANDEM_ARG(bool, gradient_as_bucket_view) = true;
  /// If true, the gradients of each rank are weighted by its number of examples. The average becomes sum(n_r * g_r) /
  /// sum(n_r), the gradient of the mean over the batches of all ranks, even if batches differ in size. The loss of each
  /// rank must be the mean over the rank's own batch. n_r is the first size of the first tensor passed to forward, or
  /// the value of set_weight(); forwards under no_sync() add to it. A rank without examples contributes nothing: it
  /// runs an empty batch or calls skip_batch(). Not allowed with SyncBatchNorm, whose backward already sums over the
  /// ranks' losses.
  TANDEM_ARG(bool, weighted_average) = false;
  /// If true, the graph must be the same in each step: each parameter gets as many gradients as in the first step on
  /// the same rank. A parameter may then have no gradient, at less cost per step than with find_unused_parameters. A
  /// parameter may also have several gradients, which it gets if backward runs inside backward. A change of the graph
  /// is an error that names the parameter.
  TANDEM_ARG(bool, static_graph) = false;
  /// Names, in the module, of parameters and buffers that are neither compared, nor broadcast, nor averaged. They may
  /// be on another device than the rest. Corresponds to PyTorch's _set_params_and_buffers_to_ignore_for_model.
  TANDEM_ARG_DECLARED(std::vector<std::string>, parameters_to_ignore);
  /// If n > 0, every n-th forward that autograd records compares the ranks' parameters bit by bit, through checksums.
  /// If they differ, it throws on every rank, naming the first parameter that differs and the ranks where it does. The
  /// check reads all parameters, and copies those on a GPU to the host. It ignores buffers: with broadcast_buffers they
  /// follow rank 0, otherwise each rank has its own, such as running statistics. Inside a Join, forwards for which some
  /// rank has no batch are neither compared nor counted.
  TANDEM_ARG(int64_t, check_parameters_every) = 0;
};

class Join;

/// Base class of DistributedDataParallel: the part that does not depend on the module's class.
class DistributedDataParallelBase : public detail::WrapperModule {
 public:
  /// While this guard lives, backward does not average gradients over ranks; they accumulate on each rank. The backward
  /// of the first forward after the guard averages the accumulated gradients. As in PyTorch, a backward averages or not
  /// depending on where the latest forward ran, so run both forward and backward under the guard.
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallelBase& ddp)
        : ddp_(ddp), saved_grad_sync_(std::exchange(ddp.require_backward_grad_sync_, false)) {}
    ~NoSync() { ddp_.require_backward_grad_sync_ = saved_grad_sync_; }
    NoSync(const NoSync&) = delete;

   private:
    DistributedDataParallelBase& ddp_;
    bool saved_grad_sync_;
  };
  /// Returns a guard; gradients are not averaged while it lives: `{ auto guard = ddp.no_sync(); ... }`.
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }
  /// Sets the weight of this rank's next forward instead of its number of examples, for example to the number of tokens
  /// that the loss averages over. @throws Error without weighted_average, or if the weight is not finite or is negative
  void set_weight(double weight);
  /// Takes part in a step in which the other ranks have a batch and this rank has none. Joins their forward and
  /// backward; the gradients of this rank become the ranks' average. @throws Error without weighted_average
  void skip_batch();
  /// Averages buckets with `hook` from now on, for example in fewer bits (fp16_compress_hook, bf16_compress_hook). All
  /// ranks must call this between the same two steps. @throws Error if a hook is already registered
  void register_comm_hook(CommHook hook);
  /// Returns the reducer that averages the gradients, with its plan of buckets.
  const detail::Reducer& reducer() const { return *reducer_; }
  /// Returns the settings, the buckets and the times of the last step. On a GPU this waits until the step's
  /// communication is done.
  [[gnu::cold]] DDPLoggingData get_ddp_logging_data() const;
  /// Returns the group of ranks that train together.
  const distributed::ProcessGroupPtr& process_group() const { return group_; }
  /// Returns the device of the module; inputs are moved to it.
  Device device() const { return device_; }

  ~DistributedDataParallelBase() override;

 protected:
  DistributedDataParallelBase(const std::shared_ptr<Module>& module, const DistributedDataParallelOptions& options);
  /// Begins a forward. Returns the state that its backward needs, or nullptr if autograd does not record the forward,
  /// or if activation checkpointing runs it a second time.
  /// @param examples  number of examples in the batch
  detail::ForwardStatePtr pre_forward(int64_t examples);
  /// Ends a forward: registers hooks on its outputs, so that a backward through them averages gradients.
  /// @param outputs  tensors that the forward returned
  void post_forward(const detail::ForwardStatePtr& forward, const std::vector<Tensor>& outputs);
  /// Returns the generator that the forward on this rank uses. Rank r draws from random-number stream r of the device,
  /// so dropout differs between ranks even with the same seed.
  Generator& generator() const { return default_generator(device_, static_cast<uint64_t>(group_->rank())); }

  template <class T> decltype(auto) move_to_device(T&& argument) const {
    if constexpr (TensorTree<std::decay_t<T>>::kHasTensors) {
      std::decay_t<T> copy = std::forward<T>(argument);
      tandem::detail::visit_tensors(copy, [this](Tensor& t) { t = t.defined() ? t.to(device_) : t; });
      return copy;
    } else {
      return std::forward<T>(argument);
    }
  }

 private:
  void register_output_hook(const Tensor& output, const detail::ForwardStatePtr& forward) const;
  friend class Join;
  friend class StepInBackward;
  /// Returns the parameters or buffers without those that options_.parameters_to_ignore() names.
  NamedParameters remove_ignored_parameters(const NamedParameters& all) const;
  void check_parameters_to_ignore() const;
  void check_parameters_unchanged() const;
  void check_parameters();
  /// Returns the maximum bytes of a bucket according to the options; for kBucketCapFromLink, measures the link, which
  /// is a collective. Also sets the members of logging_ that describe the parameters and the link.
  [[gnu::cold]] int64_t compute_bucket_cap_bytes();
  void check_same_model() const;
  /// Returns the parameters and buffers that one rank broadcasts: rank 0 when the module is wrapped, and a rank that
  /// ended last at the end of a Join.
  std::vector<Tensor> module_states() const;
  /// Copies the values of `tensors` on rank `source` to `tensors` on the other ranks, with one message per dtype.
  void broadcast_tensors(const std::vector<Tensor>& tensors, const std::string& about, int source = 0) const;
  void sync_buffers(int source);

  distributed::ProcessGroupPtr group_;
  DistributedDataParallelOptions options_;
  Device device_;
  std::string ddp_name_;      // name with the number of this object in its process group: "DDP 1" is the first
  DDPLoggingData logging_;    // settings, and the time of the last forward; get_ddp_logging_data() adds the rest
  int64_t num_forwards_ = 0;  // number of forwards that check_parameters() has counted
  std::chrono::steady_clock::time_point forward_start_time_;
  std::shared_ptr<Module> wrapped_module_;
  NamedParameters parameters_when_wrapped_;
  std::vector<bool> frozen_when_wrapped_;
  std::vector<Tensor> buffers_to_sync_;
  tandem::detail::OwnedPtr<detail::Reducer> reducer_;
  // points to null after this object is destroyed; shared with hooks, which may outlive it
  std::shared_ptr<detail::Reducer*> reducer_handle_;
  bool require_backward_grad_sync_ = true, buffers_may_differ_ = true;
  std::optional<double> next_weight_;
  Join* join_ = nullptr;  // Join that this module is in; null if there is none
  int buffer_source_rank_ =
      0;  // in a Join: rank that ran the last forward, whose buffers are broadcast before the next one
};

/// Trains one module on several ranks with averaged gradients. The module is given by handle or shared pointer:
///
///     DistributedDataParallel ddp(net);
///     loss(ddp(x), target).backward();  // when backward() returns, gradients are the ranks' average
///
/// Construction, forward and backward are collective: every rank must run them in the same order. A backward averages
/// gradients if it passes through an output of this wrapper's forward, or through a gradient of an output that was
/// computed with create_graph. A backward of the module itself, `net(x).sum().backward()`, only adds to this rank's
/// gradients, as under no_sync(). The outputs are the tensors in the return value of forward. If no output has a
/// history (forward returns a struct without tensor_parts(), or stores its loss in a member), or if an output is a
/// leaf, then every backward that reaches the module's parameters averages gradients, until the next forward.
/// @throws Error if the ranks' modules differ, naming the first parameter that does; if the module's tensors are on
/// several devices; or if a parameter is in another DistributedDataParallel that still exists. forward() throws if the
/// module's parameters have been replaced, moved or unfrozen since it was wrapped; then wrap the module again.
/// Parameters that required a gradient when the module was wrapped may be frozen and unfrozen: a backward averages the
/// parameters that required a gradient in its forward.
template <class M> class DistributedDataParallel : public DistributedDataParallelBase {
 public:
  explicit DistributedDataParallel(M module, const DistributedDataParallelOptions& options = {})
      : DistributedDataParallelBase(module_pointer(module), options), module_(std::move(module)) {}

  /// Moves the inputs to the module's device and calls the module, hooks included. Inputs may be tensors, vectors,
  /// tuples, pairs, optionals and maps of tensors, and structs with tensor_parts() (core/tensor_tree.h).
  template <class... Args> auto forward(Args&&... args) {
    return forward_on_device(move_to_device(std::forward<Args>(args))...);
  }
  /// Calls forward(args...) with the hooks of this wrapper.
  template <class... Args> auto operator()(Args&&... args) {
    return tandem::detail::call_module(*this, std::forward<Args>(args)...);
  }
  /// Returns the module as it was passed to the constructor.
  M& module() { return module_; }

 private:
  template <class... Args> auto forward_on_device(Args&&... args) {
    std::optional<int64_t> examples;
    const auto count = [&](const Tensor& t) {
      if (!examples && t.defined()) examples = t.dim() > 0 ? t.size(0) : 1;
    };
    (tandem::detail::visit_tensors(args, count), ...);
    const detail::ForwardStatePtr forward = pre_forward(examples.value_or(1));
    const GeneratorGuard guard(generator());
    auto output = tandem::detail::call_module(*module_, std::forward<Args>(args)...);
    post_forward(forward, tandem::detail::collect_tree_tensors(output));
    return output;
  }
  static std::shared_ptr<Module> module_pointer(const M& module) {
    if constexpr (requires { module.ptr(); })
      return module.ptr();
    else
      return module;
  }
  M module_;
};

}  // namespace tandem::nn::parallel
