// DistributedDataParallel: every rank trains its own copy of a module on its own data, with averaged gradients.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/option.h"
#include "tandem/core/owned.h"
#include "tandem/core/tensor_tree.h"
#include "tandem/parallel/collectives/distributed.h"
#include "tandem/parallel/comm_hooks.h"
#include "tandem/parallel/ddp_logging.h"
#include "tandem/parallel/wrapper_module.h"

namespace tandem::nn::parallel {

namespace detail {
class Reducer;
struct Forward;
using ForwardPtr = std::shared_ptr<Forward>;
}  // namespace detail

/// Of bucket_cap_mb: the size of buckets follows from how fast the ranks' link is, which is measured when the module is
/// wrapped. get_ddp_logging_data() says what was found.
constexpr double kBucketCapFromLink = -1;

/// As the arguments of PyTorch's torch.nn.parallel.DistributedDataParallel.
struct DistributedDataParallelOptions {
  /// The default group unless given.
  TANDEM_ARG(distributed::ProcessGroupPtr, process_group) = nullptr;
  /// Whether the buffers of rank 0 replace the others' before each forward that follows one that synchronizes, the
  /// first in evaluation among them; so all ranks must evaluate, or one alone the module itself. As in PyTorch.
  TANDEM_ARG(bool, broadcast_buffers) = true;
  /// MiB of gradients that travel together, or kBucketCapFromLink.
  TANDEM_ARG(double, bucket_cap_mb) = 25;
  /// Whether a parameter may go without a gradient (see ReducerOptions).
  TANDEM_ARG(bool, find_unused_parameters) = false;
  /// Whether grad() lies in the buckets (see ReducerOptions). Unlike PyTorch's, the default is true: it saves the
  /// memory and the copies of a second set of gradients. Say false if you keep a p.grad() over the next backward.
  TANDEM_ARG(bool, gradient_as_bucket_view) = true;
  /// Whether each rank counts by its examples: gradients become sum(n_r * g_r) / sum(n_r), which is the gradient of the
  /// mean over the batches of all ranks, however uneven they are, where each rank's loss is the mean over its own. n_r
  /// is the first size of the first tensor that forward is given, or what set_weight() says; forwards under no_sync()
  /// add to it. A rank without examples adds nothing: it runs an empty batch, or calls skip_batch(). Not with
  /// SyncBatchNorm, whose backward already adds up what the ranks' losses bring it.
  TANDEM_ARG(bool, weighted_average) = false;
  /// Whether the graph is the same in each step: each parameter gets as many gradients as in the first, on each rank by
  /// itself. Then parameters may go without a gradient as under find_unused_parameters, which costs each step more; and
  /// a backward may run others, which bring a parameter several. A change is an error that names the parameter.
  TANDEM_ARG(bool, static_graph) = false;
  /// Names, as in the module, of parameters and buffers that are each rank's own affair: neither compared, nor sent,
  /// nor averaged; they may be on another device. PyTorch's _set_params_and_buffers_to_ignore_for_model.
  TANDEM_ARG_DECLARED(std::vector<std::string>, parameters_to_ignore);
  /// Where this is n > 0, every n-th forward that may lead to a backward compares the ranks' parameters by checksums,
  /// bit by bit. It throws on every rank if they have drifted apart, naming the first that did and the ranks. It reads
  /// all parameters, those on a GPU through the host. Buffers it leaves alone: broadcast, they follow rank 0; otherwise
  /// they are each rank's own, as the running statistics of its batches. In a Join it neither compares nor counts
  /// forwards that some ranks have no batch for.
  TANDEM_ARG(int64_t, check_parameters_every) = 0;
};

class Join;

/// What does not depend on the module's class.
class DistributedDataParallelBase : public detail::WrapperModule {
 public:
  /// What a forward that runs while it lives leads to does not synchronize: gradients add up on each rank. The backward
  /// of the first forward after it reduces the sums. (What counts is the latest forward before a backward, as in
  /// PyTorch: run both parts of a step inside.)
  class NoSync {
   public:
    explicit NoSync(DistributedDataParallelBase& ddp) : ddp_(ddp), saved_(std::exchange(ddp.synchronize_, false)) {}
    ~NoSync() { ddp_.synchronize_ = saved_; }
    NoSync(const NoSync&) = delete;

   private:
    DistributedDataParallelBase& ddp_;
    bool saved_;
  };
  /// Gradients are not averaged while the result lives: `{ auto guard = ddp.no_sync(); ... }`.
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }
  /// What this rank's next forward counts for, in the place of its examples: the number of tokens that the loss is the
  /// mean of, say. @throws Error without weighted_average, or unless the weight is finite and not negative
  void set_weight(double weight);
  /// A step of the other ranks in which this one has no batch: it takes part in their forward and backward, and its
  /// gradients become the mean of theirs. @throws Error without weighted_average
  void skip_batch();
  /// How buckets of gradients are averaged from now on: in fewer bits (fp16_compress_hook, bf16_compress_hook), or as
  /// the program does it. On all ranks alike, between two steps. @throws Error when there is one already
  void register_comm_hook(CommHook hook);
  /// What brings the gradients together: its plan of buckets.
  const detail::Reducer& reducer() const { return *reducer_; }
  /// Settings, buckets, and the times of the last step. On a GPU it waits for that step's communication to be done.
  [[gnu::cold]] DDPLoggingData get_ddp_logging_data() const;
  /// The ranks that train together.
  const distributed::ProcessGroupPtr& process_group() const { return group_; }
  /// Where the module is, and inputs go.
  Device device() const { return device_; }

  ~DistributedDataParallelBase() override;

 protected:
  DistributedDataParallelBase(const std::shared_ptr<Module>& module, const DistributedDataParallelOptions& options);
  /// Returns what the backward of this forward is to know. @param examples  that it is given
  detail::ForwardPtr before_forward(int64_t examples);
  /// @param outputs  tensors that it returned
  void after_forward(const detail::ForwardPtr& forward, const std::vector<Tensor>& outputs);
  /// What this rank's forward draws from: rank r has stream r, so that dropout differs between ranks seeded alike.
  Generator& generator() const { return default_generator(device_, static_cast<uint64_t>(group_->rank())); }

  template <class T> decltype(auto) moved(T&& argument) const {
    if constexpr (TensorTree<std::decay_t<T>>::kHolds) {
      std::decay_t<T> copy = std::forward<T>(argument);
      tandem::detail::visit_tensors(copy, [this](Tensor& t) { t = t.defined() ? t.to(device_) : t; });
      return copy;
    } else {
      return std::forward<T>(argument);
    }
  }

 private:
  void watch(const Tensor& output, const detail::ForwardPtr& forward) const;
  friend class Join;
  friend class StepInBackward;
  /// Without those to ignore.
  NamedParameters kept(const NamedParameters& all) const;
  void check_ignored() const;
  void check_unchanged() const;
  void check_parameters();
  /// Those of a bucket, by the options.
  [[gnu::cold]] int64_t bucket_bytes();
  void check_same_model() const;
  /// Parameters and buffers, for all that is sent of them.
  std::vector<Tensor> model() const;
  /// Copies of that rank's values, in as few messages as there are dtypes.
  void broadcast(const std::vector<Tensor>& tensors, const std::string& about, int source = 0) const;
  void send_buffers(int source);

  distributed::ProcessGroupPtr group_;
  DistributedDataParallelOptions options_;
  Device device_;
  std::string number_;      // "DDP 1", the first of its group
  DDPLoggingData logging_;  // what does not change, and the time of the last forward
  int64_t forwards_ = 0;    // that may lead to a backward
  std::chrono::steady_clock::time_point forward_start_;
  std::shared_ptr<Module> wrapped_;
  NamedParameters parameters_when_wrapped_;
  std::vector<bool> frozen_when_wrapped_;
  std::vector<Tensor> buffers_to_follow_;
  tandem::detail::Owned<detail::Reducer> reducer_;
  std::shared_ptr<detail::Reducer*> watched_;  // for hooks that may outlive this
  bool synchronize_ = true, buffers_may_differ_ = true;
  std::optional<double> next_weight_;
  Join* join_ = nullptr;  // that this is in
  int buffers_from_ = 0;  // in a Join: the rank whose last forward counted
};

/// Wraps a module, given as its handle or shared pointer:
///
///     DistributedDataParallel ddp(net);
///     loss(ddp(x), target).backward();  // gradients are the ranks' average when it returns
///
/// Construction, forward and backward are collective: every rank must do them, in the same order. A backward averages
/// gradients if it passes through an output of this wrapper's forward, or through a gradient of one that was taken with
/// create_graph. A backward of the module itself, `net(x).sum().backward()`, adds to this rank's gradients alone, as
/// under no_sync(). Outputs are the tensors in the return value of forward. If no output has a history (forward returns
/// a struct without tensor_parts(), or keeps its loss in a member), or if an output is a leaf, then every backward that
/// reaches the module's parameters averages, until the next forward.
/// @throws Error when the ranks' modules differ, naming the first parameter that does, or when the module's tensors are
/// on several devices, or a parameter is in another DistributedDataParallel that still lives; forward() throws when the
/// module's parameters were exchanged, moved, or unfrozen since: then wrap the module again. Freezing parameters and
/// unfreezing them again is fine: a backward reduces the parameters that required a gradient in its forward.
template <class M> class DistributedDataParallel : public DistributedDataParallelBase {
 public:
  explicit DistributedDataParallel(M module, const DistributedDataParallelOptions& options = {})
      : DistributedDataParallelBase(pointer(module), options), module_(std::move(module)) {}

  /// Calls the module, hooks included, on inputs moved to its device: tensors, and vectors, tuples, pairs, optionals
  /// and maps of them, and structs with tensor_parts() (core/tensor_tree.h).
  template <class... Args> auto forward(Args&&... args) { return forward_of_moved(moved(std::forward<Args>(args))...); }
  /// Calls forward(args...), with the hooks of this wrapper around it.
  template <class... Args> auto operator()(Args&&... args) {
    return tandem::detail::call_module(*this, std::forward<Args>(args)...);
  }
  /// The module, as it was given.
  M& module() { return module_; }

 private:
  template <class... Args> auto forward_of_moved(Args&&... args) {
    std::optional<int64_t> examples;
    const auto count = [&](const Tensor& t) {
      if (!examples && t.defined()) examples = t.dim() > 0 ? t.size(0) : 1;
    };
    (tandem::detail::visit_tensors(args, count), ...);
    const detail::ForwardPtr forward = before_forward(examples.value_or(1));
    const GeneratorGuard guard(generator());
    auto output = tandem::detail::call_module(*module_, std::forward<Args>(args)...);
    after_forward(forward, tandem::detail::tensors_of(output));
    return output;
  }
  static std::shared_ptr<Module> pointer(const M& module) {
    if constexpr (requires { module.ptr(); })
      return module.ptr();
    else
      return module;
  }
  M module_;
};

}  // namespace tandem::nn::parallel
