// Reducer: averages gradients over the ranks while backward still runs. What DistributedDataParallel is made of.
#pragma once
#include <mutex>

#include "tandem/parallel/sync/agreement.h"
#include "tandem/parallel/sync/arrivals.h"
#include "tandem/parallel/sync/gradients.h"
#include "tandem/parallel/sync/transport.h"

namespace tandem::nn::parallel::detail {

struct ReducerOptions {
  int64_t first_bucket_bytes = int64_t{1} << 20, bucket_bytes = int64_t{25} << 20;
  /// Whether a parameter may go without a gradient: then it is averaged as zeros where another rank has one, and left
  /// alone where none has. Otherwise it is an error: on the CPU of that backward, on a GPU, where the host does not
  /// wait for each step, of the next.
  bool find_unused_parameters = false;
  /// Whether grad() lies in a bucket, so that gradients need no memory beside the buckets; one that somebody keeps then
  /// changes with the next backward. Otherwise it is a tensor of its own, copied to the bucket and back.
  bool gradient_as_bucket_view = true;
  /// Whether a rank's gradients count by the weight of its forwards: then the average is sum(weight * gradient) /
  /// sum(weight). A rank without weight adds nothing, whatever its gradients are.
  bool weighted = false;
  /// Whether every backward brings each parameter as many gradients as the first, on each rank by itself: 0, or several
  /// where backward runs inside backward. What a rank has no gradient for is averaged as zeros where another has one,
  /// and left alone where none has. Only the first backward has more to send than usual; a change is an error.
  bool static_graph = false;
};

/// Gradients live in buckets, flat tensors whose parts are the parameters' grad() (layout). A hook on each accumulator
/// counts down its bucket (arrivals). A full bucket is all-reduced while backward goes on, bucket k never before k - 1,
/// so that all ranks issue the same sequence (transport). Hooks never wait; the end of backward does. After the first
/// backward the buckets are rebuilt in the order of gradients on rank 0.
///
/// Only a backward through a forward of the wrapper is reduced (start_backward). A backward of the module itself,
/// called without its wrapper, adds to the gradients of this rank, as a backward under no_sync() does.
///
/// A backward is expected to add a gradient to every parameter that required one in its forward; a backward to `inputs`
/// only to the parameters among the inputs; autograd::grad() to none. Gradients have no history, even under
/// create_graph.
class Reducer {
 public:
  /// @param name   of whom it works for, in errors and in what its collectives are about: "DDP 1"
  /// @throws Error naming a parameter that another reducer has
  Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
          ReducerOptions options);

  /// For a forward: whether the backwards to come synchronize, and that none is under way. @throws Error naming a
  /// parameter that went to another device or dtype
  ForwardPtr begin(bool synchronize, double weight);
  /// Makes the end of the running backward, one through `forward`, wait for all buckets. Earlier gradients count too.
  void start_backward(const ForwardPtr& forward);
  /// Takes part in a backward of the other ranks that this one has none for: it adds zeros, or what has come together
  /// here without synchronization if that has a weight, and its gradients become the average.
  void shadow_backward();
  /// Without weights, of the next backward: how many ranks have a gradient; the others add zeros.
  void divide_by(int ranks) { divisor_ = ranks; }
  /// How buckets are averaged from now on; on all ranks, between two steps. @throws Error when there is a hook already
  void register_comm_hook(CommHook hook);
  /// Called in the end of each backward that synchronizes: with 0, 1, ... as soon as the gradients of that bucket are
  /// the average, while later ones are under way, then with the number of buckets. Where the last bucket decides what
  /// an average is (weights, who uses what), only the latter. Null ends it.
  void set_after_bucket(std::function<void(size_t bucket)> f);
  /// Whether there is somebody to call.
  bool has_after_bucket() const { return after_bucket_ != nullptr; }
  /// Those that it averages, by the numbers that it has for them.
  const std::vector<Tensor>& parameters() const { return gradients_.parameters(); }
  const BucketPlan& buckets() const { return gradients_.buckets().plan(); }
  /// Of the last backward that synchronized. On a GPU it waits for that to be done.
  ReduceTimes last_times() const;
  /// Backwards that synchronized so far.
  int64_t iterations() const { return iterations_; }
  /// Of each bucket, the bytes of its gradients.
  std::vector<int64_t> bucket_sizes() const { return gradients_.bucket_sizes(); }

 private:
  BucketPlan plan(std::vector<size_t> order) const;
  void lay_out(BucketPlan plan);
  void rebuild_buckets();
  void on_gradient(size_t parameter);
  void expect(Forward& forward);
  void expect_one(size_t parameter);
  void start(const std::weak_ptr<const bool>& token);
  void launch(size_t bucket, bool all_used);
  void launch_rest(bool all_used);
  void finish();
  void complete(bool all_came);

  const std::string name_;
  const distributed::ProcessGroupPtr group_;
  const ReducerOptions options_;
  Agreement agreement_;
  Gradients gradients_;
  Arrivals arrivals_;
  std::unique_ptr<Transport> transport_;
  std::mutex mutex_;  // a graph over several devices has several threads
  std::function<void(size_t)> after_bucket_;
  bool hooked_ = false;  // by a communication hook
  int divisor_;
  int64_t iterations_ = 0;
  bool launched_ = false;  // something, in the backward under way
  std::chrono::steady_clock::time_point backward_start_, first_launch_, last_gradient_;
  ReduceTimes times_;
};

}  // namespace tandem::nn::parallel::detail
