// The options of `tandem compare` and of what it can do with reports that are there already.
#pragma once
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tandem::tools {

/// Adds `compare`, with `page` and `diff` below it.
/// @param command_line  as the user gave it, for the report
void add_compare(CLI::App& app, std::vector<std::string> command_line);

}  // namespace tandem::tools
