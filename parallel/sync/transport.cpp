// Implements the transports of buckets: by all-reduce, by a communication hook, and by reduce-scatter.
#include "tandem/parallel/sync/transport.h"

#include "tandem/core/internal.h"
#include "tandem/core/trace/tracer.h"
#include "tandem/ops/shape/copy.h"

namespace tandem::nn::parallel::detail {

void Transport::begin_step() {
  release_last_step();
  futures_.resize(buckets_.size());
  exposed_seconds_ = 0;
}
void Transport::release_last_step() {
  futures_.clear();
  extra_work_ = nullptr;
  completed_works_.clear();
}
void Transport::send_bucket(size_t b, std::string about) { futures_[b] = reduce(b, std::move(about)); }

void Transport::finish_step(const std::function<void(size_t)>& on_bucket_reduced) {
  const Device device = buckets_.flat_tensor(0).device();
  if (device.is_cuda()) wait_begin_.record(cuda::current_stream(device));
  for (size_t b = 0; b < buckets_.size(); ++b) {
    wait_for_bucket(b);
    if (on_bucket_reduced) on_bucket_reduced(b);
  }
  if (device.is_cuda()) wait_end_.record(cuda::current_stream(device));
}
/// Waits until the collective of bucket b is complete. For the last bucket, also waits for the collective that
/// send_after_buckets() started.
void Transport::wait_for_bucket(size_t b) {
  const PhaseSpan phase("exposed communication");
  const auto start = std::chrono::steady_clock::now();
  if (std::optional<CommFuture>& future = futures_[b]) {
    copy_result(b, future->wait());
    if (future->work()) completed_works_.push_back(future->work());
  }
  if (b + 1 == buckets_.size() && extra_work_) {
    extra_work_->wait();
    completed_works_.push_back(std::exchange(extra_work_, nullptr));
  }
  exposed_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
void Transport::add_times(ReduceTimes& times) const {
  times.exposed_seconds += exposed_seconds_;
  for (const distributed::WorkPtr& work : completed_works_) times.communication_seconds += work->elapsed_seconds();
  if (completed_works_.empty() || !buckets_.flat_tensor(0).is_cuda()) return;
  wait_end_.synchronize();
  times.exposed_seconds = wait_begin_.elapsed_time(wait_end_) / 1e3;
}

CommFuture AllReduceTransport::reduce(size_t b, std::string about) {
  return {group_->all_reduce(buckets_.flat_tensor(b), distributed::ReduceOp::AVG, std::move(about)),
          buckets_.gradients(b)};
}

CommFuture CommHookTransport::reduce(size_t b, std::string about) {
  std::vector<Tensor> gradients, parameters;
  for (const size_t i : buckets_.plan()[b]) {
    gradients.push_back(buckets_.slot(i));
    parameters.push_back(parameters_[i]);
  }
  return hook_(group_, GradBucket(b, b + 1 == buckets_.size(), buckets_.gradients(b), std::move(gradients),
                                  std::move(parameters), std::move(about)));
}
void CommHookTransport::copy_result(size_t b, const Tensor& result) {
  Tensor gradients = buckets_.gradients(b);
  const std::string wanted = "; accepted: " + std::to_string(gradients.numel()) +
                             " elements of a floating-point dtype on " + gradients.device().str() +
                             ", as many as the bucket has";
  TANDEM_CHECK(result.defined(), error_prefix_, ": the hook of bucket ", b, " returned an undefined tensor", wanted);
  TANDEM_CHECK(
      result.numel() == gradients.numel() && result.is_floating_point() && result.device() == gradients.device(),
      error_prefix_, ": the hook of bucket ", b, " returned ", result.dtype(), result.sizes(), " on ", result.device(),
      wanted);
  if (result.raw_data() != gradients.raw_data()) gradients.copy_(result.reshape({-1}));
}

CommFuture ReduceScatterTransport::reduce(size_t b, std::string about) {
  const Tensor mine = buckets_.shard(b, group_->rank());
  return {group_->reduce_scatter_tensor(mine, buckets_.flat_tensor(b), distributed::ReduceOp::AVG, std::move(about)),
          mine};
}

}  // namespace tandem::nn::parallel::detail
