// Models the time of a data-parallel GPT training step from the shape of the GPT, five parameters of the device, and
// the link.
#pragma once
#include "tandem/tools/simulate/link.h"

namespace tandem::simulate {

/// One recorded training step: a row of benchmarks/data/ddp_times/a100_data_parallel.csv.
struct GptRow {
  int num_gpus = 0, hidden_size = 0, num_heads = 0, num_layers = 0, sequence_length = 0;
  /// Samples per step over all GPUs (global_batch) and per pass of one GPU (micro_batch).
  double global_batch = 0, micro_batch = 0;
  double seconds = 0;
  /// Returns the number of passes (forward and backward) that each GPU runs per step, before gradients are all-reduced.
  double passes() const { return global_batch / (micro_batch * num_gpus); }
};
/// Reads a CSV file of recorded steps. @throws Error that names the file, and the line and the field that are invalid
std::vector<GptRow> read_gpt_rows(const std::string& path);
/// Reads a CSV file of recorded all-reduces (gpus, bytes, nanoseconds). @throws Error as read_gpt_rows does
std::vector<LinkPoint> read_all_reduces(const std::string& path);

/// Returns the number of parameters of a GPT with separate matrices for embedding and output: 12 h^2 + 13 h per layer
/// (h: hidden size), plus the two vocabulary matrices, the position embedding and the last layer norm.
double gpt_num_parameters(const GptRow& row);
/// Returns the FLOPs of one pass (forward and backward) on one GPU. The backward has twice as many FLOPs as the
/// forward.
double gpt_pass_flops(const GptRow& row);

/// Time model of a training step: seconds = passes * (layers * layer + vocabulary + fixed) + parameters * optimizer +
/// ring all-reduce of the gradients. A layer is a list of operations. Each operation takes the longest of
/// `min_op_seconds`, FLOPs / rate and bytes / bandwidth. The all-reduce does not overlap the backward, as in the
/// recorded steps.
struct GptTimeModel {
  double min_op_seconds = 0;                   ///< least seconds that an operation takes
  double flops_per_second = 0;                 ///< floating-point operations per second
  double bandwidth = 0;                        ///< bytes per second of the device's memory
  double fixed_seconds_per_pass = 0;           ///< seconds per pass that are spent outside the layers
  double optimizer_seconds_per_parameter = 0;  ///< seconds of the optimizer per parameter
  Link link;                                   ///< link over which the ring all-reduce runs
  double scale = 1;  ///< factor by which the result is multiplied, to calibrate the model with a measurement
  double seconds(const GptRow& row) const;
};
/// Fits the five device parameters to the recorded steps, by least squares of the relative errors. The link is not
/// fitted. @throws Error if there are fewer than five rows
GptTimeModel fit_gpt_time_model(const std::vector<GptRow>& rows, const Link& link);
/// Returns the seconds of a ring all-reduce of the gradients, with two bytes per parameter.
double gpt_all_reduce_seconds(const GptRow& row, int num_gpus, const Link& link);

}  // namespace tandem::simulate
