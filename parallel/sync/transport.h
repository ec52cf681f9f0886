// Transport: reduces full buckets over the ranks.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/durations.h"
#include "tandem/parallel/comm_hooks.h"
#include "tandem/parallel/sync/layout.h"

namespace tandem::nn::parallel::detail {

/// Communication times of one synchronized backward.
struct ReduceTimes {
  double communication_seconds = 0;  // total seconds of the collectives
  // seconds for which the end of backward waited; on a GPU, this includes optimizer steps made meanwhile
  double exposed_seconds = 0;
  double backward_seconds = 0;  // seconds from the beginning to the end of backward, including exposed communication
  bool has_overlap = false;     // whether the first collective began before the last gradient existed
  int64_t num_unused_parameters = 0;  // number of parameters whose gradient was expected but missing on this rank
  /// Returns the share of the communication that overlapped with backward, from 0 to 1.
  double overlapped_fraction() const {
    return communication_seconds > 0 ? std::max(0.0, 1 - exposed_seconds / communication_seconds) : 0;
  }
};

/// Reduces the buckets of a step. All ranks send the same buckets in the same order, and at the end of the step they
/// wait for them in that order.
class Transport {
 public:
  /// @param buckets  kept by reference, because buckets may be rebuilt between two steps
  Transport(distributed::ProcessGroupPtr group, const Buckets& buckets) : group_(std::move(group)), buckets_(buckets) {}
  Transport(const Transport&) = delete;
  virtual ~Transport() = default;
  /// Returns whether the last bucket's status is averaged together with its gradients, on every rank.
  virtual bool reduces_status() const { return false; }

  /// Begins a step.
  void begin_step();
  /// Releases the tensors and collectives of the last step.
  void release_last_step();
  /// Starts the reduction of a full bucket. @param about  description of the collective, for error messages
  void send_bucket(size_t bucket, std::string about);
  /// Makes the end of the step wait for `work` after all buckets. If `work` is null, has no effect.
  void send_after_buckets(distributed::WorkPtr work) { extra_work_ = std::move(work); }
  /// Returns whether this step has sent the bucket.
  bool is_sent(size_t bucket) const { return bucket < futures_.size() && futures_[bucket]; }
  /// Ends the step: waits for all buckets.
  /// @param on_bucket_reduced  if not null, called with each bucket after its reduction
  void finish_step(const std::function<void(size_t bucket)>& on_bucket_reduced);
  /// Adds the times of the last step to `times`. On a GPU this waits until the step's communication is done.
  void add_times(ReduceTimes& times) const;

 protected:
  /// Starts the reduction of a bucket and returns a future of the result. An implementation must not wait.
  virtual CommFuture reduce(size_t bucket, std::string about) = 0;
  /// Copies the result of the future into the bucket, if it is not there already. @throws Error if it does not fit
  virtual void copy_result(size_t, const Tensor&) {}

  const distributed::ProcessGroupPtr group_;
  const Buckets& buckets_;

 private:
  void wait_for_bucket(size_t bucket);

  std::vector<std::optional<CommFuture>> futures_;
  distributed::WorkPtr extra_work_;
  std::vector<distributed::WorkPtr> completed_works_;  // collectives of the last step that have completed
  double exposed_seconds_ = 0;
  cuda::Event wait_begin_{/*enable_timing=*/true}, wait_end_{/*enable_timing=*/true};
};

/// Averages the whole bucket on every rank by an all-reduce.
class AllReduceTransport final : public Transport {
 public:
  using Transport::Transport;
  bool reduces_status() const override { return true; }

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
};
/// Averages the bucket by a communication hook.
class CommHookTransport final : public Transport {
 public:
  /// @param error_prefix  name with which errors begin: "DistributedDataParallel"
  CommHookTransport(std::string error_prefix, distributed::ProcessGroupPtr group, const Buckets& buckets,
                    const std::vector<Tensor>& parameters, CommHook hook)
      : Transport(std::move(group), buckets),
        error_prefix_(std::move(error_prefix)),
        parameters_(parameters),
        hook_(std::move(hook)) {}

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
  void copy_result(size_t bucket, const Tensor& result) override;

  const std::string error_prefix_;
  const std::vector<Tensor>& parameters_;
  CommHook hook_;
};
/// Gives each rank the average of one shard of the bucket by a reduce-scatter. The bucket has as many shards as there
/// are ranks.
class ReduceScatterTransport final : public Transport {
 public:
  using Transport::Transport;

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
};

}  // namespace tandem::nn::parallel::detail
