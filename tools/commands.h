// The subcommands of `tandem`; main.cpp reads their options. (`tandem launch` is run_processes.)
#pragma once
#include "tandem/tools/demo/settings.h"

namespace tandem::benchmarks {
struct Settings;
}

namespace tandem::tools {

/// Trains by the modes chosen, one after the other, and prints the table.
void demo(DemoSettings settings);
/// The options of `tandem simulate`.
struct SimulateSettings {
  std::string cluster, json, check_skill, published;
  bool example = false;
};
/// Predicts steps of DDP and DataParallel on the cluster that the file `settings.cluster` describes; or, if
/// `settings.check_skill` names a folder with recorded times, shows how well the model predicts those; if
/// `settings.published` names a file with published figures, shows predictions beside them; or prints an example of
/// such a file.
void simulate(const SimulateSettings& settings);
/// The options of `tandem show`.
struct ShowSettings {
  std::string file, json;  // json is "" if no file is to be written
};
/// Prints the tensors and other values that a file of torch.save or safetensors holds, and writes the list to the file
/// `settings.json`.
void show(const ShowSettings& settings);
/// Shows what this machine and this build have. @return the number of problems
int doctor();
void list_benchmarks();
/// command_line: as the user gave it, for the record. @return how many `overhead` rows are slower than the baseline's
int bench(const benchmarks::Settings& settings, const std::vector<std::string>& command_line);

}  // namespace tandem::tools
