// The `tandem` command.
#include <cstdio>
#include <exception>

#include "tandem/tools/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Tandem: a tensor and autograd engine");
  app.require_subcommand(1);
  tandem::tools::add_demo(app);
  tandem::tools::add_doctor(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 1;
  }
}
