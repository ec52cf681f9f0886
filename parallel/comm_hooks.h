// Communication hooks: how DistributedDataParallel averages a bucket of gradients is the program's to say.
#pragma once
#include <utility>

#include "tandem/parallel/collectives/process_group.h"

namespace tandem::nn::parallel {

/// The gradients of some parameters, all of which are there on this rank, in one flat tensor. PyTorch's
/// dist.GradBucket.
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
  /// 0, 1, ... in the order in which buckets are averaged, the same on all ranks.
  size_t index() const { return index_; }
  /// Whether it is the last of a backward.
  bool is_last() const { return is_last_; }
  /// One dimension: the gradients one after the other, with zeros between. What is written to it stays.
  const Tensor& buffer() const { return buffer_; }
  /// For each parameter its part of the buffer, with the parameter's sizes.
  const std::vector<Tensor>& gradients() const { return gradients_; }
  /// Whose gradients they are.
  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// What its collectives are about, for errors: "DDP 1: gradients, bucket 0 of 2, from fc.bias".
  const std::string& about() const { return about_; }

 private:
  size_t index_;
  bool is_last_;
  Tensor buffer_;
  std::vector<Tensor> gradients_, parameters_;
  std::string about_;
};

/// A tensor that is there when some communication is done.
class CommFuture {
 public:
  /// @param work  null where there is none
  CommFuture(distributed::WorkPtr work, Tensor tensor) : work_(std::move(work)), tensor_(std::move(tensor)) {}
  /// What `f` makes of the tensor, in the thread that waits. All ranks wait for their buckets in the same order, at the
  /// end of backward, so that `f` may communicate too.
  CommFuture then(std::function<Tensor(const Tensor&)> f) &&;
  /// Waits as Work::wait() does, and returns the tensor. @throws what the work or a `then` does
  Tensor wait();
  /// What wait() waits for; null where there is nothing.
  const distributed::WorkPtr& work() const { return work_; }

 private:
  distributed::WorkPtr work_;
  Tensor tensor_;
  std::vector<std::function<Tensor(const Tensor&)>> then_;
};

/// Starts to average a bucket, and returns the average: as many elements as the buffer, which it may be, in any
/// floating dtype. Called in backward as soon as the bucket's gradients are there, beside the rest of backward, in the
/// same order on all ranks. It should not wait.
using CommHook = std::function<CommFuture(const distributed::ProcessGroupPtr& group, const GradBucket& bucket)>;

/// What is done without a hook: the average, in the gradients' dtype.
CommFuture allreduce_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);
/// The average in float16: half of float32's bytes. Gradients beyond its range, 65504 times the number of ranks, become
/// infinite.
CommFuture fp16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);
/// The average in bfloat16: half of float32's bytes and its range, with 8 bits of precision.
CommFuture bf16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket);

}  // namespace tandem::nn::parallel
