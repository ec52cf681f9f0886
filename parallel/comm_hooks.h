// Communication hooks: functions by which a program replaces the way in which DistributedDataParallel averages a
// bucket.
#pragma once
#include <utility>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel {

/// The gradients of some parameters, in one flat tensor, after this rank has computed them all. Corresponds to
/// PyTorch's dist.GradBucket.
class GradBucket {
 public:
  GradBucket(size_t index, bool is_last, Tensor buffer, std::vector<Tensor> gradients, std::vector<Tensor> parameters,
             std::string about)
      : index_(index),
        is_last_(is_last),
        buffer_(std::move(buffer)),
        gradients_(std::move(gradients)),
        parameters_(std::move(parameters)),
        about_(std::move(about)) {}
  /// Index of the bucket in the order in which buckets are averaged: 0, 1, ..., equal on all ranks.
  size_t index() const { return index_; }
  /// Returns whether this is the last bucket of a backward.
  bool is_last() const { return is_last_; }
  /// One-dimensional tensor with the gradients one after the other and zeros as padding between them. A hook may write
  /// to it.
  const Tensor& buffer() const { return buffer_; }
  /// Gradient of each parameter: a view of the buffer with the parameter's sizes.
  const std::vector<Tensor>& gradients() const { return gradients_; }
  /// The parameters whose gradients are in this bucket.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Description of this bucket's collectives for error messages: "DDP 1: gradients, bucket 0 of 2, from fc.bias".
  const std::string& about() const { return about_; }

 private:
  size_t index_;
  bool is_last_;
  Tensor buffer_;
  std::vector<Tensor> gradients_, parameters_;
  std::string about_;
};

/// A future tensor: its value is ready when a collective has completed.
class CommFuture {
 public:
  /// @param work  the collective to wait for; null if `tensor` is ready
  CommFuture(distributed::WorkPtr work, Tensor tensor) : work_(std::move(work)), tensor_(std::move(tensor)) {}
  /// Adds a function that wait() applies to the tensor, in the thread that waits. All ranks wait for their buckets in
  /// the same order, at the end of backward, so `f` may call collectives too.
  CommFuture then(std::function<Tensor(const Tensor&)> f) &&;
  /// Waits as Work::wait() does, and returns the tensor. @throws the exceptions of the work and of the functions given
  /// to then()
  Tensor wait();
  /// Returns the collective that wait() waits for; null if there is none.
  const distributed::WorkPtr& work() const { return work_; }

 private:
  distributed::WorkPtr work_;
  Tensor tensor_;
  std::vector<std::function<Tensor(const Tensor&)>> callbacks_;
};

/// Function that starts to average a bucket and returns a future of the average. The average must have as many elements
/// as the buffer, in any floating dtype; it may be the buffer itself. DistributedDataParallel calls the hook as soon as
/// the bucket's gradients exist, while backward goes on, in the same order on all ranks. The hook should not wait for
/// communication.
using CommHook = std::function<CommFuture(const distributed::ProcessGroupPtr& group, const GradBucket& bucket)>;

/// Averages the bucket in the gradients' dtype, as DistributedDataParallel does without a hook.
CommFuture allreduce_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);
/// Averages the bucket in float16, which halves the bytes of float32. Gradients beyond 65504 times the number of ranks
/// become infinite.
CommFuture fp16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);
/// Averages the bucket in bfloat16, which halves the bytes of float32. It has the range of float32 and 8 bits of
/// precision.
CommFuture bf16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);

}  // namespace tandem::nn::parallel
