// Models the time of a data-parallel GPT iteration from the GPT's shape, five figures of the device, and the link.
#pragma once
#include "tandem/tools/simulate/link.h"

namespace tandem::simulate {

/// One recorded iteration: a row of benchmarks/data/ddp_times/a100_data_parallel.csv.
struct GptRow {
  int gpus = 0, hidden = 0, heads = 0, layers = 0, sequence = 0;
  double global_batch = 0, micro_batch = 0;  ///< samples per step over all GPUs; per pass of one GPU
  double seconds = 0;
  /// Returns the passes (forward and backward) of each GPU per step, before the all-reduce of the gradients.
  double passes() const { return global_batch / (micro_batch * gpus); }
};
/// Reads a CSV file of iterations. @throws Error that names the file, and the line and field that is invalid
std::vector<GptRow> read_gpt_rows(const std::string& path);
/// Reads a CSV file of all-reduces (gpus, bytes, nanoseconds). @throws Error as read_gpt_rows
std::vector<LinkPoint> read_all_reduces(const std::string& path);

/// Returns the number of parameters of a GPT with separate embedding and output matrices: 12 h^2 + 13 h per layer, plus
/// the vocabulary's matrices and the position embedding.
double gpt_parameters(const GptRow& row);
/// Returns the FLOPs of one pass on one GPU; the backward has twice the FLOPs of the forward.
double gpt_pass_flops(const GptRow& row);

/// Time model of an iteration: seconds = passes (layers * layer + vocabulary + fixed) + parameters * optimizer + ring
/// all-reduce of the gradients. A layer is a list of operations; each takes the largest of launch, FLOPs / rate and
/// bytes / bandwidth. No part of the all-reduce is hidden behind the backward, as in the recorded rows.
struct GptModel {
  double launch = 0;     ///< seconds of the shortest operation
  double rate = 0;       ///< FLOPs a second
  double bandwidth = 0;  ///< bytes a second of the device's memory
  double fixed = 0;      ///< seconds per pass outside the layers
  double optimizer = 0;  ///< seconds per parameter
  Link link;             ///< link of the ring
  double scale = 1;      ///< factor of the result, if a measurement of another shape calibrates the model
  double seconds(const GptRow& row) const;
};
/// Fits the five figures to the rows by least squares of the relative errors; the link is given.
GptModel fit_gpt(const std::vector<GptRow>& rows, const Link& link);
/// Returns the seconds of a ring all-reduce of the gradients, with two bytes per parameter.
double gpt_all_reduce(const GptRow& row, int gpus, const Link& link);

}  // namespace tandem::simulate
