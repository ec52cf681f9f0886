// Transport: what happens with a full bucket.
#pragma once
#include "tandem/core/cuda/cuda.h"
#include "tandem/core/durations.h"
#include "tandem/parallel/comm_hooks.h"
#include "tandem/parallel/sync/layout.h"

namespace tandem::nn::parallel::detail {

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

/// Brings together what the ranks have of each bucket. All ranks send the same buckets in the same order; the end of
/// the step waits for them in that order.
class Transport {
 public:
  /// @param buckets  it looks at them, laid out anew between two steps too
  Transport(distributed::ProcessGroupPtr group, const Buckets& buckets) : group_(std::move(group)), buckets_(buckets) {}
  Transport(const Transport&) = delete;
  virtual ~Transport() = default;
  /// Whether all that the last bucket has behind its gradients becomes the ranks' average too.
  virtual bool carries_status() const { return false; }

  /// Begins a step.
  void start();
  /// Lets go of what the last step sent.
  void forget();
  /// Starts a bucket on its way. @param about  what for, in errors
  void send(size_t bucket, std::string about);
  /// What else the end of the step is to wait for, after all buckets.
  void send_beside(distributed::WorkPtr work) { beside_ = std::move(work); }
  /// Whether the bucket is part of the step.
  bool is_sent(size_t bucket) const { return bucket < futures_.size() && futures_[bucket]; }
  /// Ends the step: waits. @param arrived  called for each bucket once it is there, if it is not null
  void finish(const std::function<void(size_t bucket)>& arrived);
  /// Adds to `times` what the last step spent. On a GPU it waits for that to be done.
  void add_times(ReduceTimes& times) const;

 protected:
  /// Starts to bring the bucket together. It never waits.
  virtual CommFuture reduce(size_t bucket, std::string about) = 0;
  /// Takes what that gave. @throws Error when that does not fit
  virtual void take(size_t, const Tensor&) {}

  const distributed::ProcessGroupPtr group_;
  const Buckets& buckets_;

 private:
  void wait_for(size_t bucket);

  std::vector<std::optional<CommFuture>> futures_;
  distributed::WorkPtr beside_;
  std::vector<distributed::WorkPtr> done_;  // of the last step
  double exposed_ = 0;
  cuda::Event wait_begin_{/*enable_timing=*/true}, wait_end_{/*enable_timing=*/true};
};

/// Every rank gets the average of the whole bucket.
class AllReduce final : public Transport {
 public:
  using Transport::Transport;
  bool carries_status() const override { return true; }

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
};
/// A hook says what the average is.
class ReduceByHook final : public Transport {
 public:
  ReduceByHook(distributed::ProcessGroupPtr group, const Buckets& buckets, const std::vector<Tensor>& parameters,
               CommHook hook)
      : Transport(std::move(group), buckets), parameters_(parameters), hook_(std::move(hook)) {}

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
  void take(size_t bucket, const Tensor& result) override;

  const std::vector<Tensor>& parameters_;
  CommHook hook_;
};
/// Of a bucket in as many shards as there are ranks, each rank gets the average of its own.
class ReduceScatter final : public Transport {
 public:
  using Transport::Transport;

 private:
  CommFuture reduce(size_t bucket, std::string about) override;
};

}  // namespace tandem::nn::parallel::detail
