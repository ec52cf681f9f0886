// Reducer: averages gradients over the ranks while backward still runs.
#pragma once
#include <chrono>
#include <map>
#include <mutex>

#include "tandem/autograd/node.h"
#include "tandem/core/cuda/cuda.h"
#include "tandem/nn/module.h"
#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel::detail {

/// Of one parameter, what decides its bucket.
struct BucketItem {
  DType dtype;
  Device device;
  int64_t bytes;
};
/// Groups parameters, in reverse order, into buckets of one dtype and device and at most `cap` bytes (the first:
/// `first_cap`, so that communication starts early); a larger parameter has its own. The last bucket, whose gradients
/// come last and which nothing hides, is split so that it too has at most `first_cap`.
std::vector<std::vector<size_t>> plan_buckets(const std::vector<BucketItem>& items, int64_t first_cap, int64_t cap);

struct ReducerOptions {
  int64_t first_bucket_bytes = int64_t{1} << 20, bucket_bytes = int64_t{25} << 20;
  /// Whether a parameter may go without a gradient: then it is averaged as zeros where another rank has one, and left
  /// alone where none has. Otherwise it is an error: on the CPU of that backward, on a GPU, where the host does not
  /// wait for each step, of the next.
  bool find_unused_parameters = false;
  /// Whether grad() lies in a bucket, so that gradients need no memory beside the buckets; one that somebody keeps then
  /// changes with the next backward. Otherwise it is a tensor of its own, copied to the bucket and back.
  bool gradient_as_bucket_view = true;
};

/// By parameter: whether it took part in a forward as one that requires a gradient.
using Learning = std::shared_ptr<const std::vector<bool>>;

/// What one synchronized backward spent on communication.
struct ReduceTimes {
  double communication = 0;  // seconds that the all-reduces took, one after the other
  double exposed = 0;        // seconds that backward waited for them at its end
  double backward = 0;       // seconds from its beginning to its end, that waiting included
  bool overlapped = false;   // the first all-reduce began before the last gradient existed
  int64_t unused = 0;        // parameters that were expected to get a gradient, and got none on this rank
  /// The part of the communication that backward hid, 0 to 1.
  double hidden_share() const { return communication > 0 ? std::max(0.0, 1 - exposed / communication) : 0; }
};

/// Gradients live in buckets, flat tensors whose parts are the parameters' grad(). A hook on each accumulator counts
/// down its bucket; a full one is all-reduced beside the backward, bucket k never before k - 1, so that all ranks issue
/// the same sequence. Hooks never wait; the end of backward does.
///
/// A backward is expected to bring a gradient to the parameters that required one in its forward, and that it adds
/// gradients to: autograd::grad() does so for none, a backward to `inputs` for those. Gradients have no history, under
/// create_graph neither.
class Reducer {
 public:
  /// @param name   of whom it works for, in errors and in what its collectives are about: "DDP 1"
  /// @throws Error naming a parameter that another reducer has
  Reducer(std::string name, const NamedParameters& parameters, distributed::ProcessGroupPtr group,
          ReducerOptions options);
  Reducer(const Reducer&) = delete;  // the hooks know its address
  ~Reducer();                        // takes them away

  /// For a forward: whether the backwards to come synchronize, and that none is under way: what one that failed left is
  /// forgotten. @throws Error naming a parameter that went to another device or dtype
  Learning begin(bool synchronize);
  /// In a backward through that forward: from now on its end waits for all buckets. The first gradient does it too.
  void start_backward(const Learning& learning);
  const std::vector<std::vector<size_t>>& buckets() const { return plan_; }
  /// Of the last backward that synchronized. On a GPU it waits for that to be done.
  ReduceTimes last_times() const;
  /// Backwards that synchronized so far.
  int64_t iterations() const { return iterations_; }
  /// Of each bucket, the bytes of its gradients.
  std::vector<int64_t> bucket_sizes() const;

 private:
  struct Bucket {
    Tensor flat;          // the gradients of its parameters, one after the other, with zeros between
    size_t pending = 0;   // gradients that have not arrived in this backward
    bool in_use = false;  // a gradient of it is expected
    distributed::WorkPtr work;
  };
  void take_parameters();
  void on_gradient(size_t parameter);
  void expect_locked(const std::vector<bool>& learning);
  void expect_one(size_t parameter);
  void to_slot(size_t parameter);
  void launch_full_buckets();
  void launch(size_t bucket);
  void finish();
  void fill_what_did_not_arrive();
  void wait_for_all();
  void hand_back();
  void check_used();
  bool is_short(const Tensor& used) const;
  std::vector<bool> used_on_any_rank(const std::vector<bool>& used) const;

  const std::string name_;
  std::vector<std::string> names_;
  std::vector<Tensor> parameters_, slots_;  // slots_: their places in the buckets
  std::vector<std::shared_ptr<autograd::AccumulateGrad>> accumulators_;
  std::vector<unsigned> hooks_;
  const distributed::ProcessGroupPtr group_;
  const ReducerOptions options_;
  std::vector<std::vector<size_t>> plan_;
  std::vector<size_t> bucket_of_;
  std::vector<Bucket> buckets_;
  Tensor all_used_;  // the last bucket's extra element: 1 where every parameter got a gradient, averaged with the rest

  std::mutex mutex_;  // a graph over several devices has several threads
  bool synchronize_ = true, running_ = false, launched_ = false;
  Learning learning_;                   // of the last forward
  std::vector<bool> expected_;          // of the backward under way
  std::vector<bool> arrived_;           // in the backward under way
  std::vector<bool> used_;              // since the ranks had the same gradients, so under no_sync() too
  std::vector<bool> averaged_;          // by the backward that ends
  std::map<size_t, Tensor> untouched_;  // gradients as they were, in case that no rank adds to them
  size_t next_ = 0;                     // bucket to launch
  int64_t iterations_ = 0;
  std::chrono::steady_clock::time_point backward_start_, first_launch_, last_gradient_;
  ReduceTimes times_;
  std::vector<distributed::WorkPtr> done_;  // of the last backward
  // On a GPU, of the last backward; see Note [Unused parameters on a GPU].
  cuda::Event wait_begin_{/*enable_timing=*/true}, wait_end_{/*enable_timing=*/true}, used_known_;
  Tensor all_used_here_;         // page-locked, where all_used_ is copied
  bool used_under_way_ = false;  // until that is looked at
  std::vector<bool> last_used_;
};

}  // namespace tandem::nn::parallel::detail
