// Predicts one training step under DistributedDataParallel and under DataParallel: computation, communication, and the
// part of the communication that the backward hides.
#pragma once
#include <vector>

#include "tandem/tools/simulate/collectives.h"

namespace tandem::simulate {

/// A layer's parameters, or one tensor of them.
struct ParameterGroup {
  double bytes = 0;           ///< bytes of the gradients
  double backward_share = 0;  ///< share of the backward's time; the groups' shares are scaled to sum to 1
};

/// Times of one device for a step on its share of the batch, without communication.
struct StepProfile {
  double samples = 1;            ///< samples per pass of one device, to which the times apply
  double forward_seconds = 0;    ///< seconds of the forward and the loss, on `samples`
  double backward_seconds = 0;   ///< seconds of the backward, on `samples`
  double optimizer_seconds = 0;  ///< seconds of the optimizer, for any number of samples
  /// Fraction (0 to 1) of forward and backward that does not depend on the samples: kernel launches, reading of
  /// weights.
  double fixed_fraction = 0;
  std::vector<ParameterGroup> parameters;  ///< groups in the order of the forward; the backward runs in reverse
  double input_bytes = 0;                  ///< bytes of one sample, which DataParallel scatters
  double output_bytes = 0;  ///< bytes of one sample's output; gathered if the loss is outside the replicas
  /// Part of forward and backward that computes the loss of one device's samples. If the loss is outside the replicas,
  /// DataParallel computes it for all samples on the first device.
  double loss_seconds = 0;
};
/// Checks a profile. @throws Error that names the field if a number is negative or infinite, samples is 0, or
/// fixed_fraction is outside [0, 1]
void check_profile(const StepProfile& profile);
/// Returns the bytes of all gradients.
double gradient_bytes(const StepProfile& profile);
/// Splits `bytes` into `groups` groups of equal size and share, if only the number of parameters is known.
std::vector<ParameterGroup> even_groups(double bytes, int groups);
/// Returns the profile for another number of samples. Times are multiplied by fixed_fraction + (1 - fixed_fraction)
/// samples / profile.samples. @throws Error if `samples` is not positive
StepProfile with_samples(const StepProfile& profile, double samples);
/// Returns the seconds of forward, backward and optimizer on one device.
double single_seconds(const StepProfile& profile);

struct DdpOptions {
  AllReduce all_reduce = AllReduce::fastest;
  double first_bucket_bytes = 1 << 20;  ///< cap of the first bucket and the last, as in Tandem's reducer
  bool overlap = true;                  ///< whether buckets are sent while the backward runs
  int passes = 1;                       ///< forwards and backwards before the gradients are reduced
};
/// One bucket's all-reduce, in the order of sending. Times count from the start of the (last) backward.
struct BucketTimes {
  double bytes, ready, start, end;
};
/// A predicted step of DDP. communication = hidden + exposed; seconds = computation + exposed.
struct DdpPrediction {
  double forward = 0, backward = 0, optimizer = 0;  ///< seconds, of all passes
  double communication = 0, hidden = 0, exposed = 0;
  double seconds = 0, samples_per_second = 0;
  std::vector<BucketTimes> buckets;
};
/// Predicts a step of DDP on the first n devices, with profile.samples samples on each. Buckets have at most
/// bucket_bytes, are filled as in Tandem's reducer, and are reduced one after the other, each as soon as it is full.
/// @throws Error if n or bucket_bytes is less than 1, or the profile or cluster is invalid
DdpPrediction predict_ddp(const StepProfile& profile, const Cluster& cluster, int n, double bucket_bytes,
                          const DdpOptions& options = {});

struct DpOptions {
  Broadcast broadcast = Broadcast::flat;  ///< algorithm that sends parameters out and reduces gradients
  bool persistent_replicas = true;        ///< false: each step builds new replicas, at replicate_seconds each
  double replicate_seconds = 0;           ///< host time to build one replica
  bool loss_inside = false;               ///< whether replicas compute the loss of their samples
  int passes = 1;                         ///< forwards and backwards per step; gradients are reduced after each
  /// Whether one host thread launches the kernels of all devices. If so, the fixed part of forward and backward takes n
  /// times as long.
  bool serial_launch = false;
};
/// A predicted step of DataParallel: its consecutive parts, each summed over all passes.
struct DpPrediction {
  double scatter = 0, replicate = 0, forward = 0, gather = 0, loss = 0, backward = 0, reduce = 0, optimizer = 0;
  double communication = 0;  ///< scatter + replicate + gather + reduce; none of it is hidden
  double seconds = 0, samples_per_second = 0;
};
/// Predicts a step of DataParallel over n devices of one node, with profile.samples samples on each. Only the first
/// device runs the optimizer.
/// @throws Error if n is outside 1 to cluster.devices_per_node (DataParallel is one process), or the profile or cluster
/// is invalid
DpPrediction predict_dp(const StepProfile& profile, const Cluster& cluster, int n, const DpOptions& options = {});

/// The time of a step with one bucket size.
struct BucketPoint {
  double bucket_bytes = 0, seconds = 0, exposed = 0;
};
/// Step times over bucket sizes, the best of them, and sqrt(S B a), the estimate of docs/simulate.md.
struct BucketSweep {
  std::vector<BucketPoint> points;
  BucketPoint best;
  double estimate = 0;
};
/// Calls predict_ddp for bucket sizes from 64 KiB to the whole model, each twice the one before.
BucketSweep best_bucket_bytes(const StepProfile& profile, const Cluster& cluster, int n,
                              const DdpOptions& options = {});

}  // namespace tandem::simulate
