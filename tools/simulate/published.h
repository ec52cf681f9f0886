// Reads measurements that others published, and predicts them with the cost model. data_path finds such files.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A series of published figures. `predicted` is as long as `values`, or empty.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  std::vector<int> devices;       ///< number of devices of each value, if the values are efficiencies; else empty
  std::vector<double> predicted;  ///< efficiencies under DDP
  std::string not_predicted;      ///< reason if there are no predictions, else empty
};
/// Reads a file such as benchmarks/data/published_points.json, and predicts the series that have the inputs for it.
/// @throws Error that names the file and the entry if an entry is invalid
std::vector<Published> read_published(const std::string& path);
/// Formats the published figures with the predictions beside them.
std::string as_text(const std::vector<Published>& all);

/// Returns the path of a file or folder of benchmarks/data, such as "published_points.json": the installed one if it
/// exists, else the one in the source tree of the build. The path need not exist.
std::string data_path(const std::string& name);

}  // namespace tandem::simulate
