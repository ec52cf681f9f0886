// Declares the functions that run the subcommands of `tandem`. main.cpp parses the command line and calls them.
// (`tandem launch` calls run_processes of launch/ranks.h.)
#pragma once
#include "tandem/tools/demo/settings.h"

namespace tandem::benchmarks {
struct Settings;
}

namespace tandem::tools {

/// Trains once under each training mode in settings.modes (single, dp, ddp_...), and prints a table of the results.
void demo(DemoSettings settings);
/// The options of `tandem simulate`.
struct SimulateSettings {
  std::string cluster, json, check_skill, published;
  bool example = false;
};
/// Does one of four things. If settings.check_skill names a folder with recorded times, prints how well the model
/// predicts these times. If settings.published names a file with published measurements, prints them with the model's
/// predictions. If settings.example is set, prints an example of a cluster file. Otherwise predicts training steps of
/// DDP and DataParallel on the cluster that the file settings.cluster describes.
void simulate(const SimulateSettings& settings);
/// The options of `tandem show`.
struct ShowSettings {
  std::string file, json;  // json: "" writes no file
};
/// Prints the tensors and other values in a file written by torch.save or in the safetensors format, and writes the
/// list to settings.json.
void show(const ShowSettings& settings);
/// Prints the hardware of this machine and the libraries of this build. @return the number of problems found
int doctor();
void list_benchmarks();
/// Runs the benchmarks. @param command_line  the user's command line, recorded in the JSON file
/// @return the number of `overhead` benchmarks in which this build is slower than the baseline build; 0 without one
int bench(const benchmarks::Settings& settings, const std::vector<std::string>& command_line);

}  // namespace tandem::tools
