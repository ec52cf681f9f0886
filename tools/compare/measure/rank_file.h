// Passes a rank's measurements from its process, through a file, to the process that started the rank.
#pragma once
#include "tandem/tools/compare/measure/sample.h"

namespace tandem::tools::compare {

/// Returns the command-line options with which `tandem compare` runs one rank of `job` under `mode`.
std::vector<std::string> make_rank_arguments(const Mode& mode, const Job& job);
/// Write and read the file FOLDER/rank_R.json, where R is the rank. The file has all fields of the sample except
/// allocator_peaks, flat_bytes, flat_parameter_bytes, devices and owned_blocks.
/// @throws Error that names the file, if it cannot be written or opened
void write_rank_sample(const std::string& folder, const RankSample& sample);
RankSample read_rank_sample(const std::string& folder, int rank);

}  // namespace tandem::tools::compare
