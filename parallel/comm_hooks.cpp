// Implements CommFuture and the built-in communication hooks: all-reduce, and all-reduce in half types.
#include "tandem/parallel/comm_hooks.h"

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem::nn::parallel {

CommFuture CommFuture::then(std::function<Tensor(const Tensor&)> f) && {
  callbacks_.push_back(std::move(f));
  return std::move(*this);
}
Tensor CommFuture::wait() {
  const NoGradGuard guard;
  if (work_) work_->wait();
  for (const auto& f : std::exchange(callbacks_, {})) tensor_ = f(tensor_);
  return tensor_;
}

namespace {
/// Averages a bucket in a narrower dtype. Divides the gradients before they are converted and summed, because a sum
/// over many ranks that is divided afterwards could exceed the dtype's range even if the average does not.
CommFuture average_in_dtype(DType dtype, const distributed::ProcessGroupPtr& group, const GradBucket& bucket) {
  const NoGradGuard guard;
  const Tensor narrow = Tensor(bucket.buffer()).mul_(1.0 / group->size()).to(dtype);
  return {group->all_reduce(narrow, distributed::ReduceOp::SUM, bucket.about()), narrow};
}
}  // namespace

CommFuture allreduce_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket) {
  return {group->all_reduce(bucket.buffer(), distributed::ReduceOp::AVG, bucket.about()), bucket.buffer()};
}
CommFuture fp16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket) {
  return average_in_dtype(kFloat16, group, bucket);
}
CommFuture bf16_compress_hook(const distributed::ProcessGroupPtr& group, const GradBucket& bucket) {
  return average_in_dtype(kBFloat16, group, bucket);
}

}  // namespace tandem::nn::parallel
