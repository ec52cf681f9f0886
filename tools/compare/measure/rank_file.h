// How a rank that is a process tells the process which started it what it measured.
#pragma once
#include "tandem/tools/compare/measure/sample.h"

namespace tandem::tools::compare {

/// The options of `tandem compare` that a rank's process needs to do the same job under the same mode.
std::vector<std::string> arguments_of(const Mode& mode, const Job& job);
/// Writes and reads FOLDER/rank_R.json. @throws Error that names the file
void write_rank(const std::string& folder, const RankSample& sample);
RankSample read_rank(const std::string& folder, int rank);

}  // namespace tandem::tools::compare
