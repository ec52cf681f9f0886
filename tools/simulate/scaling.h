// Strong and weak scaling: predicted steps of DDP and DataParallel for several numbers of devices.
#pragma once
#include <optional>

#include "tandem/tools/simulate/step.h"

namespace tandem::simulate {

/// Settings of DDP and DataParallel.
struct ModeOptions {
  double bucket_bytes = 25 << 20;
  DdpOptions ddp;
  DpOptions dp;
};
/// Predictions for one number of devices, n. Efficiency is the throughput divided by n times the throughput of one
/// device.
struct ScalingRow {
  int devices = 0;
  double samples = 0;  ///< samples per step of each device
  DdpPrediction ddp;
  double ddp_efficiency = 0;
  std::optional<DpPrediction> dp;  ///< nullopt if n exceeds the devices of a node
  double dp_efficiency = 0;
};
/// Predicts weak scaling: each device processes profile.samples samples, for any number of devices.
std::vector<ScalingRow> predict_weak(const StepProfile& profile, const Cluster& cluster,
                                     const std::vector<int>& devices, const ModeOptions& modes);
/// Predicts strong scaling: all devices together process a batch of `global_batch` samples. Skips numbers of devices
/// above global_batch. One device alone processes the batch in several passes of profile.samples, because the whole
/// batch may not fit in its memory.
std::vector<ScalingRow> predict_strong(const StepProfile& profile, const Cluster& cluster,
                                       const std::vector<int>& devices, double global_batch, const ModeOptions& modes);
/// Returns the powers of two from 2 to 1024.
std::vector<int> default_device_counts();

}  // namespace tandem::simulate
