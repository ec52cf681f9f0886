// Implements predict_ddp and predict_dp, which compute when gradients are ready, when buckets are sent, and how much of
// the communication is not hidden by the backward.
#include "tandem/tools/simulate/step.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.h"
#include "tandem/parallel/reducer.h"

namespace tandem::simulate {
namespace {

void check_non_negative(const char* name, double value) {
  TANDEM_CHECK(std::isfinite(value) && value >= 0, "step: ", name, " is ", value,
               "; accepted: a finite number of 0 or more");
}

/// Returns the buckets that DistributedDataParallel would form, as lists of indices of parameter groups.
std::vector<std::vector<size_t>> assign_buckets(const StepProfile& profile, double first, double cap) {
  std::vector<nn::parallel::detail::BucketItem> items;
  items.reserve(profile.parameters.size());
  for (const ParameterGroup& group : profile.parameters)
    items.push_back({DType::float32, kCPU, static_cast<int64_t>(group.bytes)});
  return nn::parallel::detail::plan_buckets(items, static_cast<int64_t>(std::min(first, cap)),
                                            static_cast<int64_t>(cap));
}

/// Returns for each parameter group the seconds from the start of the backward until its gradients are ready. The
/// backward starts with the last group.
std::vector<double> ready_times(const StepProfile& profile) {
  double shares = 0;
  for (const ParameterGroup& group : profile.parameters) shares += group.backward_share;
  const size_t count = profile.parameters.size();
  std::vector<double> ready(count);
  double done = 0;
  for (size_t i = count; i-- > 0;) {
    done += shares > 0 ? profile.parameters[i].backward_share / shares : 1.0 / static_cast<double>(count);
    ready[i] = done * profile.backward_seconds;
  }
  return ready;
}

}  // namespace

void check_profile(const StepProfile& p) {
  TANDEM_CHECK(std::isfinite(p.samples) && p.samples > 0, "step: samples is ", p.samples,
               "; accepted: a finite number above 0");
  check_non_negative("forward_seconds", p.forward_seconds);
  check_non_negative("backward_seconds", p.backward_seconds);
  check_non_negative("optimizer_seconds", p.optimizer_seconds);
  check_non_negative("input_bytes", p.input_bytes);
  check_non_negative("output_bytes", p.output_bytes);
  check_non_negative("loss_seconds", p.loss_seconds);
  TANDEM_CHECK(p.fixed_fraction >= 0 && p.fixed_fraction <= 1, "step: fixed_fraction is ", p.fixed_fraction,
               "; accepted: 0 to 1");
  TANDEM_CHECK(p.loss_seconds <= p.forward_seconds + p.backward_seconds, "step: loss_seconds is ", p.loss_seconds,
               " of a forward and backward of ", p.forward_seconds + p.backward_seconds,
               " s; accepted: at most as much as both together");
  for (const ParameterGroup& group : p.parameters) {
    check_non_negative("bytes of a parameter group", group.bytes);
    check_non_negative("backward_share of a parameter group", group.backward_share);
  }
}

double gradient_bytes(const StepProfile& profile) {
  double bytes = 0;
  for (const ParameterGroup& group : profile.parameters) bytes += group.bytes;
  return bytes;
}

std::vector<ParameterGroup> even_groups(double bytes, int groups) {
  TANDEM_CHECK(groups >= 1, "step: ", groups, " parameter groups; accepted: 1 or more");
  return std::vector<ParameterGroup>(static_cast<size_t>(groups), {bytes / groups, 1.0 / groups});
}

StepProfile scale_to_samples(const StepProfile& profile, double samples) {
  TANDEM_CHECK(std::isfinite(samples) && samples > 0, "step: samples is ", samples,
               "; accepted: a finite number above 0");
  StepProfile p = profile;
  const double ratio = samples / profile.samples, factor = p.fixed_fraction + (1 - p.fixed_fraction) * ratio;
  p.samples = samples;
  p.forward_seconds *= factor;
  p.backward_seconds *= factor;
  p.loss_seconds *= factor;
  p.fixed_fraction = factor > 0 ? p.fixed_fraction / factor : p.fixed_fraction;
  return p;
}

double one_device_seconds(const StepProfile& p) { return p.forward_seconds + p.backward_seconds + p.optimizer_seconds; }

DdpPrediction predict_ddp(const StepProfile& profile, const Cluster& cluster, int n, double bucket_bytes,
                          const DdpOptions& options) {
  check_profile(profile);
  check_cluster(cluster);
  TANDEM_CHECK(n >= 1, "predict_ddp: n is ", n, " devices; accepted: 1 or more");
  TANDEM_CHECK(bucket_bytes >= 1 && std::isfinite(bucket_bytes), "predict_ddp: bucket_bytes is ", bucket_bytes,
               "; accepted: a finite number of 1 or more");
  TANDEM_CHECK(options.first_bucket_bytes >= 1, "predict_ddp: first_bucket_bytes is ", options.first_bucket_bytes,
               "; accepted: 1 or more");
  TANDEM_CHECK(options.passes >= 1, "predict_ddp: passes is ", options.passes, "; accepted: 1 or more");
  DdpPrediction found;
  found.forward = options.passes * profile.forward_seconds;
  found.backward = options.passes * profile.backward_seconds;
  found.optimizer = profile.optimizer_seconds;
  if (n > 1) {
    const std::vector<double> ready = ready_times(profile);
    double lane = options.overlap ? 0 : profile.backward_seconds;  // time from which the next all-reduce can start
    for (const std::vector<size_t>& members : assign_buckets(profile, options.first_bucket_bytes, bucket_bytes)) {
      BucketTimes bucket{};
      for (const size_t i : members) {
        bucket.bytes += profile.parameters[i].bytes;
        bucket.ready = std::max(bucket.ready, ready[i]);
      }
      bucket.start = std::max(lane, bucket.ready);
      const double took = all_reduce_seconds(options.all_reduce, bucket.bytes, n, cluster);
      lane = bucket.end = bucket.start + took;
      found.communication += took;
      found.buckets.push_back(bucket);
    }
    found.exposed = found.buckets.empty() ? 0 : std::max(0.0, lane - profile.backward_seconds);
    found.hidden = std::max(0.0, found.communication - found.exposed);
  }
  found.seconds = found.forward + found.backward + found.optimizer + found.exposed;
  found.samples_per_second = n * options.passes * profile.samples / found.seconds;
  return found;
}

DpPrediction predict_dp(const StepProfile& profile, const Cluster& cluster, int n, const DpOptions& options) {
  check_profile(profile);
  check_cluster(cluster);
  TANDEM_CHECK(n >= 1 && n <= cluster.devices_per_node, "predict_dp: n is ", n, " devices; accepted: 1 to ",
               cluster.devices_per_node, ", the devices of one node, since DataParallel is one process");
  check_non_negative("replicate_seconds", options.replicate_seconds);
  TANDEM_CHECK(options.passes >= 1, "predict_dp: passes is ", options.passes, "; accepted: 1 or more");
  const Link& link = cluster.intra_node_link;
  const double bytes = gradient_bytes(profile), samples = profile.samples;
  DpPrediction found;
  found.optimizer = profile.optimizer_seconds;
  // The loss is a part of forward and backward. If it is not computed in the replicas, the first device computes it for
  // all samples.
  const double whole = profile.forward_seconds + profile.backward_seconds;
  const double fraction_in_replicas =
      n == 1 || options.loss_in_replicas || whole == 0 ? 1 : 1 - profile.loss_seconds / whole;
  // If one host thread launches the kernels of all devices one after the other, launches add up, although the kernels
  // run in parallel.
  const double launches = options.serial_launch ? 1 + (n - 1) * profile.fixed_fraction : 1;
  found.forward = profile.forward_seconds * fraction_in_replicas * launches;
  found.backward = profile.backward_seconds * fraction_in_replicas * launches;
  if (n > 1) {
    found.scatter = scatter_seconds(samples * profile.input_bytes, n, link);
    found.replicate = broadcast_seconds(options.broadcast, bytes, n, link) +
                      (options.persistent_replicas ? 0 : (n - 1) * options.replicate_seconds);
    found.reduce = broadcast_seconds(options.broadcast, bytes, n, link);
    if (options.loss_in_replicas) {
      // Each replica sends its loss and receives the gradient of the loss.
      found.gather = 2 * scatter_seconds(sizeof(float), n, link);
    } else {
      found.gather = 2 * scatter_seconds(samples * profile.output_bytes, n, link);
      found.loss = n * profile.loss_seconds;
    }
  }
  const int passes = options.passes;
  for (double* part : {&found.scatter, &found.forward, &found.gather, &found.loss, &found.backward, &found.reduce})
    *part *= passes;
  // Parameters change only in the optimizer's step, so persistent replicas receive them once per step, not in every
  // pass.
  if (!options.persistent_replicas) found.replicate *= passes;
  found.communication = found.scatter + found.replicate + found.gather + found.reduce;
  found.seconds = found.forward + found.loss + found.backward + found.optimizer + found.communication;
  found.samples_per_second = n * passes * samples / found.seconds;
  return found;
}

BucketSweep best_bucket_bytes(const StepProfile& profile, const Cluster& cluster, int n, const DdpOptions& options) {
  BucketSweep sweep;
  const double bytes = gradient_bytes(profile);
  for (double size = 64 << 10;; size *= 2) {
    const DdpPrediction p = predict_ddp(profile, cluster, n, size, options);
    sweep.points.push_back({size, p.seconds, p.exposed});
    if (sweep.points.size() == 1 || p.seconds < sweep.best.seconds) sweep.best = sweep.points.back();
    if (size >= bytes) break;
  }
  if (n > 1) {
    // Computes the all-reduce's time at two sizes. The line through these times gives the latency and the bandwidth of
    // a bucket's all-reduce.
    const double small = all_reduce_seconds(options.all_reduce, 1, n, cluster),
                 large = all_reduce_seconds(options.all_reduce, std::max(bytes, 2.0), n, cluster);
    if (large > small) sweep.estimated_bucket_bytes = std::sqrt(bytes * small * (bytes / (large - small)));
  }
  return sweep;
}

}  // namespace tandem::simulate
