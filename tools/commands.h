// The subcommands of `tandem`; main.cpp reads their options. (`tandem launch` calls run_processes of launch/ranks.h.)
#pragma once
#include "tandem/tools/demo/settings.h"

namespace tandem::benchmarks {
struct Settings;
}

namespace tandem::tools {

/// Trains under each of settings.modes, one after the other, and prints a table of the results.
void demo(DemoSettings settings);
/// The options of `tandem simulate`.
struct SimulateSettings {
  std::string cluster, json, check_skill, published;
  bool example = false;
};
/// Does one of four things. If settings.check_skill names a folder with recorded times, shows how well the model
/// predicts them. If settings.published names a file with published figures, shows predictions beside them. If
/// settings.example, prints an example of a cluster file. Otherwise predicts steps of DDP and DataParallel on the
/// cluster that the file settings.cluster describes.
void simulate(const SimulateSettings& settings);
/// The options of `tandem show`.
struct ShowSettings {
  std::string file, json;  // json: "" writes no file
};
/// Prints the tensors and other values in a file of torch.save or safetensors, and writes the list to settings.json.
void show(const ShowSettings& settings);
/// Prints the hardware of this machine and the libraries of this build. @return the number of problems found
int doctor();
void list_benchmarks();
/// Runs the benchmarks. @param command_line  the user's command line, recorded in the JSON file
/// @return the number of `overhead` rows that are slower than the baseline build
int bench(const benchmarks::Settings& settings, const std::vector<std::string>& command_line);

}  // namespace tandem::tools
