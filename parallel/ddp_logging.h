// What a DistributedDataParallel says about itself: its settings, its buckets, and the times of the last step.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::nn::parallel {

/// As PyTorch's _get_ddp_logging_data. Times are seconds, of this rank's last step whose backward synchronized; 0
/// before there was one. Of a module on a GPU forward and backward are the times in which the host put them on the
/// GPU's queue.
struct DDPLoggingData {
  /// Of the process group.
  int world_size = 1, rank = 0;
  /// "local", "gloo" or "nccl", and where the module is.
  std::string backend, device;
  /// Backwards that synchronized.
  int64_t iteration = 0;

  /// Of the parameters that require a gradient.
  int64_t num_parameter_tensors = 0, total_parameter_size_bytes = 0;
  /// Bytes of gradients, in the order in which buckets are reduced.
  std::vector<int64_t> bucket_sizes;
  /// The most that a bucket, and the first of them, may have; a larger parameter has a bucket of its own.
  int64_t bucket_cap_bytes = 0, first_bucket_bytes = 0;
  /// Where bucket_cap_mb is kBucketCapFromLink: seconds that an all-reduce takes whatever its size, and bytes in a
  /// second; otherwise 0.
  double link_latency = 0, link_bandwidth = 0;

  /// As the options of these names.
  bool find_unused_parameters = false, gradient_as_bucket_view = true, broadcast_buffers = true;
  /// As the option.
  int64_t check_parameters_every = 0;

  /// Of the parameters that required a gradient, how many got none on this rank.
  int64_t unused_parameters = 0;
  /// Of the forward, with the broadcast of buffers.
  double forward_time = 0;
  /// From the beginning of the backward to the arrival of its last bucket.
  double backward_time = 0;
  /// Of the all-reduces, one after the other.
  double backward_comm_time = 0;
  /// What of it the backward waited for at its end.
  double backward_exposed_time = 0;
  /// The rest of it, which the backward hid.
  double backward_compute_comm_overlap_time = 0;
};

}  // namespace tandem::nn::parallel
