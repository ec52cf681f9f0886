// Implements predict_strong and predict_weak, which compute a row of predictions for each number of devices.
#include "tandem/tools/simulate/scaling.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/error.h"

namespace tandem::simulate {
namespace {

/// Predicts steps on n devices. @param share  profile of a pass on one device
/// @param alone  samples per second of one device alone
ScalingRow predict_row(const StepProfile& share, const Cluster& cluster, int n, int passes, double alone,
                       const ModeOptions& modes) {
  ScalingRow row;
  row.devices = n;
  DdpOptions options = modes.ddp;
  options.passes = passes;
  row.samples = share.samples * passes;
  row.ddp = predict_ddp(share, cluster, n, modes.bucket_bytes, options);
  row.ddp_efficiency = row.ddp.samples_per_second / (n * alone);
  if (n <= cluster.devices_per_node) {
    DpOptions dp = modes.dp;
    dp.passes = passes;
    row.dp = predict_dp(share, cluster, n, dp);
    row.dp_efficiency = row.dp->samples_per_second / (n * alone);
  }
  return row;
}

}  // namespace

std::vector<ScalingRow> predict_weak(const StepProfile& profile, const Cluster& cluster,
                                     const std::vector<int>& devices, const ModeOptions& modes) {
  check_profile(profile);
  const int passes = modes.ddp.passes;
  const double alone = passes * profile.samples /
                       (passes * (profile.forward_seconds + profile.backward_seconds) + profile.optimizer_seconds);
  std::vector<ScalingRow> rows;
  rows.reserve(devices.size());
  for (const int n : devices) rows.push_back(predict_row(profile, cluster, n, passes, alone, modes));
  return rows;
}

std::vector<ScalingRow> predict_strong(const StepProfile& profile, const Cluster& cluster,
                                       const std::vector<int>& devices, double global_batch, const ModeOptions& modes) {
  check_profile(profile);
  TANDEM_CHECK(std::isfinite(global_batch) && global_batch >= 1, "strong scaling: global_batch is ", global_batch,
               " samples; accepted: a finite number of 1 or more");
  const double passes = global_batch / profile.samples;
  TANDEM_CHECK(passes <= 1e9, "strong scaling: global_batch is ", global_batch, " samples and a device takes ",
               profile.samples, " at once; accepted: a global_batch of at most 1e9 times that");
  const double alone =
      global_batch / (passes * (profile.forward_seconds + profile.backward_seconds) + profile.optimizer_seconds);
  std::vector<ScalingRow> rows;
  for (const int n : devices) {
    const double share = global_batch / n;
    if (share < 1) continue;
    const double needed = std::max(1.0, std::ceil(share / profile.samples));
    rows.push_back(
        predict_row(scale_to_samples(profile, share / needed), cluster, n, static_cast<int>(needed), alone, modes));
  }
  return rows;
}

std::vector<int> default_device_counts() { return {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}; }

}  // namespace tandem::simulate
