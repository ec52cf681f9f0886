// The options of `tandem compare` and of what it can do with reports that are there already.
#pragma once

namespace CLI {
class App;
}

namespace tandem::tools {

/// Adds `compare`, with `page` and `diff` below it.
void add_compare(CLI::App& app);

}  // namespace tandem::tools
