// Measurements that others published, the place of their files, and the cost model's predictions of them.
#pragma once
#include <string>
#include <vector>

namespace tandem::simulate {

/// A series of published figures. `predicted` is as long as `values`, or empty.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  std::vector<int> devices;       ///< of each value where the values are efficiencies, else empty
  std::vector<double> predicted;  ///< efficiencies under DDP
  std::string not_predicted;      ///< why not; empty where they are
};
/// Reads a file such as benchmarks/data/published_points.json, and predicts what can be.
/// @throws Error that names the file and the entry for what cannot be read
std::vector<Published> read_published(const std::string& path);
/// A table of both.
std::string as_text(const std::vector<Published>& all);

/// A file or folder of benchmarks/data, "published_points.json" say: where the command is installed, else in the
/// sources that it was built from. It need not exist.
std::string data_path(const std::string& name);

}  // namespace tandem::simulate
