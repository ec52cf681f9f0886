// Predicts one training step under DistributedDataParallel and under DataParallel: computation, communication, and the
// part of the communication that the backward hides.
#pragma once
#include <vector>

#include "tandem/tools/simulate/collectives.h"

namespace tandem::simulate {

/// Parameters of a layer, or one parameter tensor of a layer.
struct ParameterGroup {
  double bytes = 0;  ///< bytes of the group's gradients
  /// Share of the backward's time spent on this group; the shares are scaled so that their sum is 1.
  double backward_share = 0;
};

/// Times that one device takes for its share of a step, without communication.
struct StepProfile {
  double samples = 1;            ///< number of samples per pass of one device, for which the times were measured
  double forward_seconds = 0;    ///< seconds of the forward and the loss, on `samples`
  double backward_seconds = 0;   ///< seconds of the backward, on `samples`
  double optimizer_seconds = 0;  ///< seconds of the optimizer, for any number of samples
  /// Fraction (0 to 1) of forward and backward that does not depend on the number of samples, such as kernel launches
  /// and reading weights.
  double fixed_fraction = 0;
  std::vector<ParameterGroup> parameters;  ///< groups in the order of the forward; the backward runs in reverse
  double input_bytes = 0;                  ///< bytes of one input sample, which DataParallel scatters
  /// Bytes of one sample's output, which DataParallel gathers if the loss is not computed in the replicas.
  double output_bytes = 0;
  /// Part of forward and backward that computes the loss of one device's samples. If the loss is not computed in the
  /// replicas, DataParallel computes it for all samples on the first device.
  double loss_seconds = 0;
};
/// Checks that a profile is valid.
/// @throws Error that names the field if a number is negative or infinite, samples is 0, fixed_fraction is outside
/// [0, 1], or loss_seconds is more than forward and backward together
void check_profile(const StepProfile& profile);
/// Returns the total bytes of the gradients.
double gradient_bytes(const StepProfile& profile);
/// Splits `bytes` into `groups` groups with equal bytes and backward_share. Used if only the total number of parameters
/// is known.
std::vector<ParameterGroup> even_groups(double bytes, int groups);
/// Returns the profile for another number of samples. Multiplies times by f + (1 - f) * samples / profile.samples,
/// where f is fixed_fraction. @throws Error if `samples` is not positive
StepProfile scale_to_samples(const StepProfile& profile, double samples);
/// Returns the seconds of forward, backward and optimizer on one device, without communication.
double one_device_seconds(const StepProfile& profile);

struct DdpOptions {
  AllReduce all_reduce = AllReduce::fastest;
  /// Maximum size of the first and the last bucket, as in DistributedDataParallel.
  double first_bucket_bytes = 1 << 20;
  bool overlap = true;  ///< whether buckets are all-reduced while the backward runs
  int passes = 1;       ///< number of forwards and backwards before the gradients are reduced
};
/// The all-reduce of one bucket. Times are seconds from the start of the last backward.
struct BucketTimes {
  double bytes, ready, start, end;
};
/// A predicted step of DDP, in seconds. communication = hidden + exposed; seconds = computation + exposed.
struct DdpPrediction {
  double forward = 0, backward = 0, optimizer = 0;  ///< seconds, summed over all passes
  double communication = 0, hidden = 0, exposed = 0;
  double seconds = 0, samples_per_second = 0;
  std::vector<BucketTimes> buckets;
};
/// Predicts a step of DDP on the first n devices, each of which processes profile.samples samples. Buckets have at most
/// bucket_bytes, and parameters are assigned to them as in DistributedDataParallel. Buckets are all-reduced one after
/// the other, each as soon as it is full.
/// @throws Error if n or bucket_bytes is less than 1, or if the profile or the cluster is invalid
DdpPrediction predict_ddp(const StepProfile& profile, const Cluster& cluster, int n, double bucket_bytes,
                          const DdpOptions& options = {});

struct DpOptions {
  Broadcast broadcast = Broadcast::flat;  ///< algorithm for broadcasting parameters and for reducing gradients
  /// If true, the replicas receive the parameters once per step. If false, each pass builds new replicas, each of which
  /// takes replicate_seconds.
  bool persistent_replicas = true;
  double replicate_seconds = 0;   ///< seconds that the host takes to build one replica
  bool loss_in_replicas = false;  ///< whether the replicas compute the loss of their samples
  /// Number of forwards and backwards per step; gradients are reduced after each of them.
  int passes = 1;
  /// Whether one host thread launches the kernels of all devices. If so, the part of forward and backward that does not
  /// depend on the number of samples (StepProfile::fixed_fraction) takes n times as long on n devices.
  bool serial_launch = false;
};
/// A predicted step of DataParallel. Its parts run one after the other; each part is summed over all passes. `loss` is
/// 0 if the replicas compute the loss; then forward and backward contain it.
struct DpPrediction {
  double scatter = 0, replicate = 0, forward = 0, gather = 0, loss = 0, backward = 0, reduce = 0, optimizer = 0;
  double communication = 0;  ///< scatter + replicate + gather + reduce; no part is hidden
  double seconds = 0, samples_per_second = 0;
};
/// Predicts a step of DataParallel over n devices of one node, each of which processes profile.samples samples. Only
/// the first device runs the optimizer.
/// @throws Error if n is less than 1 or more than cluster.devices_per_node (DataParallel runs in one process), or if
/// the profile or the cluster is invalid
DpPrediction predict_dp(const StepProfile& profile, const Cluster& cluster, int n, const DpOptions& options = {});

/// Predicted time of a step with one bucket size.
struct BucketPoint {
  double bucket_bytes = 0, seconds = 0, exposed = 0;
};
/// Predicted step times for several bucket sizes, the best of them, and the estimate sqrt(S * B * a) of the best size,
/// which docs/simulate.md derives.
struct BucketSweep {
  std::vector<BucketPoint> points;
  BucketPoint best;
  double estimated_bucket_bytes = 0;
};
/// Calls predict_ddp for bucket sizes from 64 KiB to the whole model, each twice the previous one.
BucketSweep best_bucket_bytes(const StepProfile& profile, const Cluster& cluster, int n,
                              const DdpOptions& options = {});

}  // namespace tandem::simulate
