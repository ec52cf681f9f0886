// Strong and weak scaling: predicted steps of DDP and DataParallel over numbers of devices.
#pragma once
#include <optional>

#include "tandem/tools/simulate/step.h"

namespace tandem::simulate {

/// How the modes run.
struct Modes {
  double bucket_bytes = 25 << 20;
  DdpOptions ddp;
  DpOptions dp;
};
/// One number of devices. An efficiency is that of the devices' throughput: 1 if n devices do n times what one does.
struct ScalingRow {
  int devices = 0;
  double samples = 0;  ///< of each device
  DdpPrediction ddp;
  double ddp_efficiency = 0;
  std::optional<DpPrediction> dp;  ///< none for more devices than a node has
  double dp_efficiency = 0;
};
/// Weak scaling: each device has profile.samples, whatever their number.
std::vector<ScalingRow> predict_weak(const StepProfile& profile, const Cluster& cluster,
                                     const std::vector<int>& devices, const Modes& modes);
/// Strong scaling: all devices share a batch of `global_batch` samples; numbers of devices above it are left out. One
/// device is taken to do the batch in passes of profile.samples, since it would not hold all at once.
std::vector<ScalingRow> predict_strong(const StepProfile& profile, const Cluster& cluster,
                                       const std::vector<int>& devices, double global_batch, const Modes& modes);
/// 2, 4, 8, ... 1024.
std::vector<int> usual_devices();

}  // namespace tandem::simulate
