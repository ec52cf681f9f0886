// DDPLoggingData: settings, buckets and times of a DistributedDataParallel.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::nn::parallel {

/// Corresponds to PyTorch's _get_ddp_logging_data. Times are seconds of this rank's last step with a synchronized
/// backward; 0 before the first one. For a module on a GPU, the times of forward and backward are the times in which
/// the host launched their kernels.
struct DDPLoggingData {
  /// Size of the process group and this rank in it.
  int world_size = 1, rank = 0;
  /// Name of the backend, "local", "gloo" or "nccl", and device of the module.
  std::string backend, device;
  /// Number of synchronized backwards so far.
  int64_t iteration = 0;

  /// Number and bytes of the parameters that require a gradient.
  int64_t num_parameter_tensors = 0, total_parameter_size_bytes = 0;
  /// Bytes of gradients, in the order in which buckets are reduced.
  std::vector<int64_t> bucket_sizes;
  /// Maximum bytes of a bucket, and of the first bucket. A larger parameter has a bucket to itself.
  int64_t bucket_cap_bytes = 0, first_bucket_bytes = 0;
  /// Measured if bucket_cap_mb is kBucketCapFromLink, otherwise 0: latency of an all-reduce in seconds, and bandwidth
  /// in bytes per second.
  double link_latency = 0, link_bandwidth = 0;

  /// Values of the options of the same names.
  bool find_unused_parameters = false, gradient_as_bucket_view = true, broadcast_buffers = true;
  /// Value of the option of the same name.
  int64_t check_parameters_every = 0;

  /// Number of parameters that required a gradient in the last step but got none on this rank.
  int64_t unused_parameters = 0;
  /// Seconds of the forward, including the broadcast of buffers.
  double forward_time = 0;
  /// Seconds from the beginning of the backward to the completion of its last bucket.
  double backward_time = 0;
  /// Sum of the seconds of the all-reduces.
  double backward_comm_time = 0;
  /// Part of backward_comm_time for which the end of backward waited.
  double backward_exposed_time = 0;
  /// Part of backward_comm_time that overlapped with backward.
  double backward_compute_comm_overlap_time = 0;
};

}  // namespace tandem::nn::parallel
