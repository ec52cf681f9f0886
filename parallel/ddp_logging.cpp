// Implements the parts of DistributedDataParallel that choose the bucket size, return logging data, and check
// parameters.
#include "tandem/parallel/ddp_logging.h"

#include "tandem/parallel/distributed_data_parallel.h"
#include "tandem/parallel/join.h"
#include "tandem/parallel/link_probe.h"
#include "tandem/parallel/parameter_checksum.h"
#include "tandem/parallel/reducer.h"

namespace tandem::nn::parallel {

int64_t DistributedDataParallelBase::compute_bucket_cap_bytes() {
  for (const Tensor& p : parameters_when_wrapped_.values()) {
    if (!p.requires_grad()) continue;
    ++logging_.num_parameter_tensors;
    logging_.total_parameter_size_bytes += p.nbytes();
  }
  if (options_.bucket_cap_mb() != kBucketCapFromLink) return static_cast<int64_t>(options_.bucket_cap_mb() * (1 << 20));
  const detail::LinkEstimate link = detail::probe_link(ddp_name_, *group_);
  logging_.link_latency = link.latency, logging_.link_bandwidth = link.bandwidth;
  return detail::optimal_bucket_bytes(link, logging_.total_parameter_size_bytes);
}

DDPLoggingData DistributedDataParallelBase::get_ddp_logging_data() const {
  DDPLoggingData data = logging_;
  data.world_size = group_->size(), data.rank = group_->rank();
  data.backend = group_->backend(), data.device = device_.str();
  data.iteration = reducer_->iterations();
  data.bucket_sizes = reducer_->bucket_sizes();
  data.find_unused_parameters = options_.find_unused_parameters();
  data.gradient_as_bucket_view = options_.gradient_as_bucket_view();
  data.broadcast_buffers = options_.broadcast_buffers();
  data.check_parameters_every = options_.check_parameters_every();
  const detail::ReduceTimes times = reducer_->last_reduce_times();
  data.unused_parameters = times.num_unused_parameters;
  data.backward_time = times.backward_seconds;
  data.backward_comm_time = times.communication_seconds;
  data.backward_exposed_time = times.exposed_seconds;
  data.backward_compute_comm_overlap_time = std::max(0.0, times.communication_seconds - times.exposed_seconds);
  return data;
}

void DistributedDataParallelBase::check_parameters() {
  const int64_t every = options_.check_parameters_every();
  if (every == 0 || (join_ && !join_->all_ranks_active()) || ++num_forwards_ % every != 0) return;
  detail::check_same_values(ddp_name_, parameters_when_wrapped_, *group_);
}

}  // namespace tandem::nn::parallel
