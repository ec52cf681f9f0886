// The options of `tandem explain`.
#pragma once

namespace CLI {
class App;
}

namespace tandem::tools {

void add_explain(CLI::App& app);

}  // namespace tandem::tools
