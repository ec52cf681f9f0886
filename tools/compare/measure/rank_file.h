// Passes the sample of a rank's process, in a file, to the process that started the rank.
#pragma once
#include "tandem/tools/compare/measure/sample.h"

namespace tandem::tools::compare {

/// Returns the options with which `tandem compare` runs one rank of the job under the mode.
std::vector<std::string> arguments_of(const Mode& mode, const Job& job);
/// Write and read FOLDER/rank_R.json. @throws Error that names the file
void write_rank(const std::string& folder, const RankSample& sample);
RankSample read_rank(const std::string& folder, int rank);

}  // namespace tandem::tools::compare
