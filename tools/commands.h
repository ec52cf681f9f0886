// The subcommands of `tandem`: each adds itself to the command line and runs when chosen.
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tandem::tools {

void add_demo(CLI::App& app);
/// command_line: as the user gave it, for the record.
void add_bench(CLI::App& app, std::vector<std::string> command_line);
void add_doctor(CLI::App& app);
void add_launch(CLI::App& app);
/// Where FashionMNIST's files are: `asked` if not empty, else the Debian package's folder, also under TANDEM_DATA_ROOT.
/// Empty when there are none.
std::string find_fashion_mnist(const std::string& asked);

}  // namespace tandem::tools
