// DDPLoggingData: settings, buckets and times of a DistributedDataParallel.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::nn::parallel {

/// Settings, buckets and times of a DistributedDataParallel; corresponds to PyTorch's _get_ddp_logging_data. Times are
/// in seconds, for this rank's last step with a synchronized backward; 0 before the first such step. For a module on a
/// GPU, the times of forward and backward are those in which the host launched their kernels.
struct DDPLoggingData {
  /// Number of ranks in the process group, and this rank in the group.
  int world_size = 1, rank = 0;
  /// Name of the backend ("local", "gloo" or "nccl"), and device of the module.
  std::string backend, device;
  /// Number of synchronized backwards so far.
  int64_t iteration = 0;

  /// Number of parameters that require a gradient, and their size in bytes.
  int64_t num_parameter_tensors = 0, total_parameter_size_bytes = 0;
  /// Bytes of gradients in each bucket, in the order in which buckets are reduced.
  std::vector<int64_t> bucket_sizes;
  /// Maximum bytes of a bucket, and of the first bucket. A larger parameter has a bucket of its own.
  int64_t bucket_cap_bytes = 0, first_bucket_bytes = 0;
  /// Latency of an all-reduce in seconds, and bandwidth in bytes per second. They are measured if bucket_cap_mb is
  /// kBucketCapFromLink, otherwise 0.
  double link_latency = 0, link_bandwidth = 0;

  /// Values of the options of DistributedDataParallel that have the same names.
  bool find_unused_parameters = false, gradient_as_bucket_view = true, broadcast_buffers = true;
  /// Value of the option of DistributedDataParallel that has the same name.
  int64_t check_parameters_every = 0;

  /// Number of parameters that required a gradient in the last step but got none on this rank.
  int64_t unused_parameters = 0;
  /// Seconds that forward took, including the broadcast of buffers.
  double forward_time = 0;
  /// Seconds from the beginning of the backward to the completion of its last bucket.
  double backward_time = 0;
  /// Total seconds of the all-reduces.
  double backward_comm_time = 0;
  /// Seconds for which the end of backward waited for the all-reduces.
  double backward_exposed_time = 0;
  /// Seconds of the all-reduces that overlapped with backward.
  double backward_compute_comm_overlap_time = 0;
};

}  // namespace tandem::nn::parallel
