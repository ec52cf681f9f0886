// Reducer: averages gradients over the ranks while backward still runs. It combines the classes in sync/.
#pragma once
#include <mutex>

#include "tandem/parallel/sync/gradient_tracker.h"
#include "tandem/parallel/sync/gradients.h"
#include "tandem/parallel/sync/status_exchange.h"
#include "tandem/parallel/sync/transport.h"

namespace tandem::nn::parallel::detail {

struct ReducerOptions {
  int64_t first_bucket_bytes = int64_t{1} << 20, bucket_cap_bytes = int64_t{25} << 20;
  /// If true, a parameter may have no gradient. If another rank has a gradient for it, this rank counts as having a
  /// gradient of zeros; if no rank has one, the parameter keeps its old gradient. If false, a missing gradient is an
  /// error. On the CPU the same backward throws; on a GPU the next one does, because the host does not wait for each
  /// step.
  bool find_unused_parameters = false;
  /// If true, grad() is a view of a bucket, so that gradients need no memory in addition to the buckets. A grad() kept
  /// by the program then changes in the next backward. If false, grad() is a tensor of its own, copied to the bucket
  /// and back.
  bool gradient_as_bucket_view = true;
  /// If true, the average is sum(weight * gradient) / sum(weight), where a rank's weight is the sum of the weights of
  /// its forwards. A rank of weight 0 adds nothing, even if its gradients are NaN.
  bool weighted = false;
  /// If true, every backward must add as many gradients to each parameter as the first backward did on the same rank:
  /// none, one, or several if backward runs inside backward. Missing gradients are treated as with
  /// find_unused_parameters, but only the first backward exchanges which parameters are unused. A change of the graph
  /// is an error.
  bool static_graph = false;
};

/// Averages gradients in buckets. A bucket is a flat tensor, and each grad() is a view of a bucket. A hook on each
/// gradient accumulator counts the gradients that its bucket still lacks. A full bucket is all-reduced while backward
/// goes on. Bucket k is never sent before bucket k - 1, so all ranks issue the same sequence. Hooks never wait; the end
/// of backward waits. After the first backward the buckets are rebuilt in the order in which gradients arrived on rank
/// 0.
///
/// Only a backward through a forward of the wrapper is reduced (start_backward). A backward of the module itself,
/// called without the wrapper, adds to the gradients of this rank, as a backward under no_sync() does.
///
/// A backward is expected to add a gradient to every parameter that required one in its forward. A backward with
/// `inputs` is expected to add gradients only to the parameters among the inputs, and autograd::grad() to none.
/// Gradients have no history, even under create_graph.
class Reducer {
 public:
  /// @param name  name of the DDP in descriptions of its collectives: "DDP 1"
  /// @throws Error if a parameter is also in another Reducer
  Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
          ReducerOptions options);

  /// Begins a forward. If a backward has not ended, its state is dropped.
  /// @param synchronize  whether a backward before the next forward averages gradients
  /// @throws Error if a parameter was moved to another device or dtype
  ForwardStatePtr begin_forward(bool synchronize, double weight);
  /// Makes the end of the running backward wait for all buckets. The backward goes through `forward`. Gradients that it
  /// has already added count too.
  void start_backward(const ForwardStatePtr& forward);
  /// Takes part in a backward of the other ranks, without a backward on this rank. This rank contributes zeros or, if
  /// forwards under no_sync() gave it a weight, the gradients that they accumulated. Then its gradients become the
  /// average.
  void shadow_backward();
  /// Sets the number of ranks that have gradients in the next backward; the other ranks add zeros. Ignored if
  /// options.weighted is true.
  void set_divisor(int ranks) { divisor_ = ranks; }
  /// Averages buckets with `hook` from now on. All ranks must call this between the same two steps.
  /// @throws Error if a hook is already registered, or if a backward is running
  void register_comm_hook(CommHook hook);
  /// Sets a callback for the end of each synchronized backward; null removes it. The callback gets the index of a
  /// bucket as soon as the bucket's gradients are averaged, while later buckets are in flight, and at last the number
  /// of buckets. If the averages depend on the last bucket (with weights or unused parameters, or if some ranks of a
  /// Join have no batch), only the last call is made.
  void set_bucket_callback(std::function<void(size_t bucket)> f);
  /// Returns whether set_bucket_callback() has set a callback.
  bool has_bucket_callback() const { return bucket_callback_ != nullptr; }
  /// Returns the parameters whose gradients are averaged. Buckets contain indices into this list.
  const std::vector<Tensor>& parameters() const { return gradients_.parameters(); }
  const BucketPlan& buckets() const { return gradients_.buckets().plan(); }
  /// Returns the times of the last synchronized backward. On a GPU this waits until that backward's communication is
  /// done.
  ReduceTimes last_reduce_times() const;
  /// Returns the number of synchronized backwards so far.
  int64_t iterations() const { return iterations_; }
  /// Returns the bytes of gradients in each bucket.
  std::vector<int64_t> bucket_sizes() const { return gradients_.bucket_sizes(); }

 private:
  BucketPlan make_bucket_plan(std::vector<size_t> order) const;
  void allocate_buckets(BucketPlan plan);
  void rebuild_buckets();
  void autograd_hook(size_t parameter);
  void expect_gradients(ForwardState& forward);
  void expect_gradient_of(size_t parameter);
  void begin_reduction(const std::weak_ptr<const bool>& token);
  void launch_bucket(size_t bucket, bool all_used);
  void launch_remaining_buckets(bool all_used);
  void finalize_backward();
  void complete_reduction(bool all_gradients_arrived);

  const std::string ddp_name_;
  const distributed::ProcessGroupPtr group_;
  const ReducerOptions options_;
  StatusExchange status_exchange_;
  Gradients gradients_;
  GradientTracker tracker_;
  std::unique_ptr<Transport> transport_;
  std::mutex mutex_;  // needed because a backward over several devices calls hooks from several threads
  std::function<void(size_t)> bucket_callback_;
  bool has_comm_hook_ = false;  // true if a communication hook is registered
  int divisor_;
  int64_t iterations_ = 0;
  bool has_launched_bucket_ = false;  // true if the running backward has sent a bucket
  std::chrono::steady_clock::time_point backward_start_time_, first_launch_time_, last_gradient_time_;
  ReduceTimes reduce_times_;
};

}  // namespace tandem::nn::parallel::detail
