// Computes the excess memory of DataParallel's first device over the others: measured by cause, and by formula.
#pragma once
#include <optional>

#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

/// The memory of DP's first device at its peak, minus the memory of the other device with the largest peak at that
/// device's peak.
struct FirstDeviceExcess {
  int64_t bytes = 0;  // the sum of by_cause
  /// Bytes by cause, negative if the first device has less. "parameters" includes the copies that replicas hold.
  std::map<std::string, int64_t> by_cause;
};
/// Returns the excess of the first device, or nullopt unless the run is one of DP with a memory record of two devices.
std::optional<FirstDeviceExcess> compute_first_device_excess(const Run& run);
/// Returns one or two sentences: the bytes of each cause, and the change that removes the largest of them. Empty if the
/// first device does not need more than the others.
std::string explain_first_device_excess(const FirstDeviceExcess& excess);

/// Bytes that follow from the sizes of a training job alone, and that only DP's first device holds.
struct PredictedExcess {
  int64_t optimizer = 0;  // Adam's two averages: 2 P
  int64_t outputs = 0;    // the gathered outputs of the whole batch
  int64_t gradients = 0;  // gradients of the outputs
  int64_t batch = 0;      // inputs of the rows of the other devices
};
/// Returns the excess under Adam if the batch is split evenly and the first device computes the loss.
/// @param parameters  number of float32 parameters
/// @param outputs     number of float32 outputs for each row of the batch
/// @param input_bytes bytes of the inputs for each row
PredictedExcess predict_first_device_excess(int64_t parameters, int64_t outputs, int64_t input_bytes, int64_t batch,
                                            int devices);
/// Returns a sentence with the predicted excess of a full-sized network: BERT-base for "bert", GPT-2 for "gpt". Empty
/// for other models.
std::string describe_full_size(const std::string& model);

}  // namespace tandem::tools::compare
