// Reads measurements published by others, and predicts them with the cost model. data_path finds the files with the
// measurements.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A series of published measurements. `predicted` has the same length as `values`, or is empty.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  std::vector<int> devices;       ///< number of devices for each value if the values are efficiencies, else empty
  std::vector<double> predicted;  ///< predicted efficiencies under DDP
  std::string not_predicted;      ///< reason why there are no predictions, else ""
};
/// Reads a file such as benchmarks/data/published_points.json. Predicts each series whose entry contains the inputs of
/// the cost model.
/// @throws Error that names the file and the entry if an entry is invalid
std::vector<Published> read_published(const std::string& path);
/// Formats the published measurements with the predictions beside them.
std::string as_text(const std::vector<Published>& all);

/// Returns the path of a file or folder of benchmarks/data, such as "published_points.json". Prefers the installed
/// copy; if there is none, returns the path in the source tree from which the program was built. The path need not
/// exist.
std::string data_path(const std::string& name);

}  // namespace tandem::simulate
