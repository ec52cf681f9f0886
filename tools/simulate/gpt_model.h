// A model of a data-parallel iteration of a GPT, from its shape: five figures of the device, and its link.
#pragma once
#include "tandem/tools/simulate/link.h"

namespace tandem::simulate {

/// An iteration as benchmarks/data/ddp_times/a100_data_parallel.csv records it.
struct GptRow {
  int gpus = 0, hidden = 0, heads = 0, layers = 0, sequence = 0;
  double global_batch = 0, micro_batch = 0;  ///< samples of all GPUs in a step, of one GPU in a pass
  double seconds = 0;
  /// Forwards and backwards of each GPU before the gradients are added up.
  double passes() const { return global_batch / (micro_batch * gpus); }
};
/// @throws Error that names the file, the line and the field for what cannot be read
std::vector<GptRow> read_gpt_rows(const std::string& path);
/// A table of all-reduces (gpus, bytes, nanoseconds). @throws Error likewise
std::vector<LinkPoint> read_all_reduces(const std::string& path);

/// Parameters of a GPT whose embedding and output matrix are two: 12 h^2 + 13 h for each layer, and the vocabulary's.
double gpt_parameters(const GptRow& row);
/// Multiplications and additions of one pass of one GPU, counted as FLOPs: forward and twice as much for the backward.
double gpt_pass_flops(const GptRow& row);

/// seconds = passes (layers * layer + vocabulary + fixed) + parameters * optimizer + ring all-reduce of the gradients.
/// A layer is a list of operations, each of which takes the longest of launch, FLOPs / rate and bytes / bandwidth.
/// What hides the all-reduce is left out: these rows hide none of it.
struct GptModel {
  double launch = 0;     ///< seconds of the shortest operation
  double rate = 0;       ///< FLOPs a second
  double bandwidth = 0;  ///< bytes a second of the device's memory
  double fixed = 0;      ///< seconds of a pass outside of its layers
  double optimizer = 0;  ///< seconds for each parameter
  Link link;             ///< of the ring
  double scale = 1;      ///< of everything, when one measurement of another shape calibrates the model
  double seconds(const GptRow& row) const;
};
/// The five figures that fit these rows best, by the sum of squares of the relative errors; the link is given.
GptModel fit_gpt(const std::vector<GptRow>& rows, const Link& link);
/// Seconds of the all-reduce of the gradients, two bytes for each parameter, around a ring.
double gpt_all_reduce(const GptRow& row, int gpus, const Link& link);

}  // namespace tandem::simulate
