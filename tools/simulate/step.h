// Predicts one training step under DistributedDataParallel and under DataParallel: what is computed, what is sent, and
// how much of the sending the backward hides.
#pragma once
#include <vector>

#include "tandem/tools/simulate/collectives.h"

namespace tandem::simulate {

/// A layer's parameters, or one tensor of them.
struct ParameterGroup {
  double bytes = 0;  ///< of its gradients
  double backward_share =
      0;  ///< what part of the backward's time is this layer's; the groups' shares are scaled to sum to 1
};

/// What one device takes for a step on its own share of the batch, without any communication.
struct StepProfile {
  double samples = 1;            ///< of one device, which the times are for
  double forward_seconds = 0;    ///< on those samples, with the loss
  double backward_seconds = 0;   ///< likewise
  double optimizer_seconds = 0;  ///< whatever the number of samples
  /// The part of forward and of backward that fewer samples would not shorten: launching kernels, reading weights. 0
  /// to 1.
  double fixed_fraction = 0;
  std::vector<ParameterGroup> parameters;  ///< in the order of the forward; the backward has them in reverse
  double input_bytes = 0;                  ///< of one sample, which DataParallel scatters
  double output_bytes = 0;                 ///< of one sample, which DataParallel gathers when the loss is outside
  /// Of the forward and backward: computing the loss of one device's samples. DataParallel with the loss outside of the
  /// replicas does it for all samples on the first device.
  double loss_seconds = 0;
};
/// @throws Error that names the field for negative or infinite numbers, no samples, and a fixed_fraction outside [0, 1]
void check_profile(const StepProfile& profile);
/// Bytes of all gradients.
double gradient_bytes(const StepProfile& profile);
/// As many groups of equal size and share: what to assume where only the number of parameters is known.
std::vector<ParameterGroup> even_groups(double bytes, int groups);
/// The same step on another number of samples: times are fixed_fraction + (1 - fixed_fraction) samples /
/// profile.samples of what they were. @throws Error for samples that are not positive
StepProfile with_samples(const StepProfile& profile, double samples);
/// Forward, backward and optimizer on one device.
double single_seconds(const StepProfile& profile);

struct DdpOptions {
  AllReduce all_reduce = AllReduce::fastest;
  double first_bucket_bytes = 1 << 20;  ///< of the first bucket and the last; as Tandem's reducer has them
  bool overlap = true;                  ///< whether buckets are sent while the backward runs
  int passes = 1;                       ///< forwards and backwards whose gradients are added up before they are sent
};
/// A bucket of the backward, in order of its sending. Times count from the start of the (last) backward.
struct BucketTimes {
  double bytes, ready, start, end;
};
/// A step of DDP. communication = hidden + exposed; seconds = compute and exposed.
struct DdpPrediction {
  double forward = 0, backward = 0, optimizer = 0;  ///< seconds, of all passes
  double communication = 0, hidden = 0, exposed = 0;
  double seconds = 0, samples_per_second = 0;
  std::vector<BucketTimes> buckets;
};
/// A step of DDP on the first n devices, each of which has profile.samples. Buckets have at most bucket_bytes, are
/// filled as Tandem's reducer fills them, and are reduced one after the other (one communication lane), each when it is
/// full.
/// @throws Error for n < 1, bucket_bytes that are not positive, a bad profile or cluster
DdpPrediction predict_ddp(const StepProfile& profile, const Cluster& cluster, int n, double bucket_bytes,
                          const DdpOptions& options = {});

struct DpOptions {
  Broadcast broadcast = Broadcast::flat;  ///< how parameters go out, and gradients come back
  bool persistent_replicas = true;        ///< false: replicas are built anew each step, at replicate_seconds each
  double replicate_seconds = 0;           ///< host time to build one replica
  bool loss_inside = false;               ///< whether replicas compute the loss of their samples
  int passes = 1;  ///< forwards and backwards before the optimizer; gradients come back after each
  /// Whether one host thread launches for all devices: the fixed part of forward and backward then takes n times as
  /// long.
  bool serial_launch = false;
};
/// A step of DataParallel in its parts, of all passes, which follow one another.
struct DpPrediction {
  double scatter = 0, replicate = 0, forward = 0, gather = 0, loss = 0, backward = 0, reduce = 0, optimizer = 0;
  double communication = 0;  ///< scatter + replicate + gather + reduce: nothing hides any of it
  double seconds = 0, samples_per_second = 0;
};
/// A step of DataParallel over n devices of one node, each of which has profile.samples; only the first one steps.
/// @throws Error for n outside 1 to cluster.devices_per_node (DataParallel is one process), a bad profile or cluster
DpPrediction predict_dp(const StepProfile& profile, const Cluster& cluster, int n, const DpOptions& options = {});

/// A step's time for one bucket size.
struct BucketPoint {
  double bucket_bytes = 0, seconds = 0, exposed = 0;
};
/// What bucket sizes do: the sweep, its best, and sqrt(S B a), the estimate of docs/simulate.md.
struct BucketSweep {
  std::vector<BucketPoint> points;
  BucketPoint best;
  double estimate = 0;
};
/// predict_ddp for bucket sizes from 64 KiB to the whole model, each twice the one before.
BucketSweep best_bucket_bytes(const StepProfile& profile, const Cluster& cluster, int n,
                              const DdpOptions& options = {});

}  // namespace tandem::simulate
