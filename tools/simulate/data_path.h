// Where the data of others lies that the cost model is compared with.
#pragma once
#include <string>

namespace tandem::simulate {

/// A file or folder of benchmarks/data, "published_points.json" say: where the command is installed, else in the
/// sources that it was built from. It need not exist.
std::string data_path(const std::string& name);

}  // namespace tandem::simulate
