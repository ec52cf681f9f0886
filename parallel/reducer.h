// Reducer: averages gradients over the ranks while backward still runs.
#pragma once
#include <map>
#include <mutex>

#include "tandem/autograd/node.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/durations.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/bucket_plan.h"
#include "tandem/parallel/collectives/process_group.h"
#include "tandem/parallel/comm_hooks.h"

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

/// What the backwards through a forward are to know of it.
struct Forward {
  std::shared_ptr<const std::vector<bool>> learning;  // by parameter: whether it requires a gradient there
  double weight = 0;                                  // until a backward through it has counted that
  uint64_t first_node = 0;                            // sequence number that its first node got
  // Some output cannot say when a backward goes through it: none is a tensor with a history, or one is a leaf. Then
  // each backward of the module's parameters until the next forward is taken for one of this forward.
  bool unwatched = false;
};
using ForwardPtr = std::shared_ptr<Forward>;

/// What one synchronized backward spent on communication.
struct ReduceTimes {
  double communication = 0;  // seconds that the all-reduces took, one after the other
  double exposed = 0;        // seconds that backward waited for them at its end; on a GPU, with steps made meanwhile
  double backward = 0;       // seconds from its beginning to its end, that waiting included
  bool overlapped = false;   // the first all-reduce began before the last gradient existed
  int64_t unused = 0;        // parameters that were expected to get a gradient, and got none on this rank
  /// The part of the communication that backward hid, 0 to 1.
  double hidden_share() const { return communication > 0 ? std::max(0.0, 1 - exposed / communication) : 0; }
};

/// Gradients live in buckets, flat tensors whose parts are the parameters' grad(). A hook on each accumulator counts
/// down its bucket. A full bucket is all-reduced while backward goes on, bucket k never before k - 1, so that all ranks
/// issue the same sequence. Hooks never wait; the end of backward does. After the first backward the buckets are
/// rebuilt in the order of gradients on rank 0.
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
  Reducer(const Reducer&) = delete;  // the hooks know its address
  ~Reducer();                        // takes them away

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
  const std::vector<Tensor>& parameters() const { return parameters_; }
  const BucketPlan& buckets() const { return buckets_.plan(); }
  /// Of the last backward that synchronized. On a GPU it waits for that to be done.
  ReduceTimes last_times() const;
  /// Backwards that synchronized so far.
  int64_t iterations() const { return iterations_; }
  /// Of each bucket, the bytes of its gradients.
  std::vector<int64_t> bucket_sizes() const;

 private:
  /// A bucket in the backward under way.
  struct Progress {
    size_t pending = 0;   // gradients that have not arrived
    bool in_use = false;  // a gradient of it is expected
    std::optional<CommFuture> future;
  };
  void take_parameters();
  BucketPlan plan(std::vector<size_t> order) const;
  void make_buckets(BucketPlan plan);
  void rebuild_buckets();
  /// Whether a rank may go without a gradient in this backward; under static_graph in the first.
  bool allows_unused() const {
    return options_.static_graph ? used_anywhere_.empty() : options_.find_unused_parameters;
  }
  std::vector<bool> as_expected() const;
  /// Whether gradients live in the buckets.
  bool are_views() const { return options_.gradient_as_bucket_view && !is_alone_; }
  void on_gradient(size_t parameter);
  bool is_running();
  void forget_backward();
  void expect_locked(Forward& forward);
  void expect_one(size_t parameter);
  void start();
  void to_slot(size_t parameter);
  void launch_full_buckets();
  void launch(size_t bucket, bool all_used);
  void launch_rest(bool all_used);
  void agree_on_unit();
  void weigh(size_t bucket);
  CommFuture run_hook(size_t bucket, std::string about);
  void finish();
  void complete(bool all_arrived);
  void fill(size_t parameter);
  void wait_for_all(bool in_order);
  void wait_for(size_t bucket);
  void take_result(size_t bucket, const Tensor& result);
  void rescale();
  void hand_back(size_t bucket);
  void check_used();
  bool is_short(const Tensor& used) const;
  std::vector<bool> used_on_any_rank(const std::vector<bool>& used) const;

  const std::string name_;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_;
  std::vector<std::shared_ptr<autograd::AccumulateGrad>> accumulators_;
  std::vector<unsigned> hooks_;
  const distributed::ProcessGroupPtr group_;
  const ReducerOptions options_;
  CommHook hook_;
  std::function<void(size_t)> after_bucket_;
  Buckets buckets_;
  bool is_alone_ = false;  // one rank, whose gradients are the average as they are
  // What is averaged beside the gradients, in the last bucket if its dtype is exact enough for weights.
  Tensor status_apart_;  // undefined where it is in the last bucket
  Tensor all_used_;      // an element: 1 where every parameter got a gradient
  Tensor rank_weight_;   // another one, if there are weights: that of this rank, then their mean
  distributed::WorkPtr status_work_;

  std::mutex mutex_;  // a graph over several devices has several threads
  bool synchronize_ = true, running_ = false, launched_ = false;
  std::weak_ptr<const bool> under_way_;  // lives as long as the backward under way
  ForwardPtr forward_;                   // the last
  std::vector<Progress> progress_;       // by bucket
  std::vector<bool> expected_;           // of the backward under way
  std::vector<int> arrivals_;            // of gradients, in the backward under way
  std::vector<int> known_arrivals_;      // of a static graph, once there was a backward
  std::vector<bool> used_anywhere_;      // of a static graph: on any rank, once there was a backward
  std::vector<bool> used_;               // since the ranks had the same gradients, so under no_sync() too
  std::vector<bool> averaged_;           // by the backward that ends
  std::map<size_t, Tensor> untouched_;   // gradients as they were, in case that no rank adds to them
  double weight_ = 0;                    // of the forwards since the ranks had the same gradients
  double unit_ = 1;                      // of weights, near their mean: scaled gradients stay in a half type's range
  bool unit_known_;                      // there is one, or no weights
  int divisor_;
  size_t next_ = 0;                        // bucket to launch
  bool order_wanted_, order_due_ = false;  // until the first backward; from then to the next forward
  std::vector<size_t> order_;              // in which gradients came
  int64_t iterations_ = 0;
  std::chrono::steady_clock::time_point backward_start_, first_launch_, last_gradient_;
  ReduceTimes times_;
  std::vector<distributed::WorkPtr> done_;  // of the last backward
  // On a GPU, of the last backward; see Note [Unused parameters on a GPU].
  cuda::Event wait_begin_{/*enable_timing=*/true}, wait_end_{/*enable_timing=*/true}, used_known_;
  Tensor all_used_here_;         // page-locked, where all_used_ is copied
  Tensor last_all_used_;         // where it was copied last
  bool used_under_way_ = false;  // until that is looked at
  std::vector<bool> last_used_;
};

}  // namespace tandem::nn::parallel::detail
