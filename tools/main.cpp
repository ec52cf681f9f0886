// The `tandem` command.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "tandem/tools/commands.h"

namespace {

int run(int argc, char** argv) {
  CLI::App app("Tandem: a tensor and autograd engine");
  app.require_subcommand(1);
  tandem::tools::add_demo(app);
  tandem::tools::add_doctor(app);
  tandem::tools::add_launch(app);
#if TANDEM_HAS_BENCHMARKS
  tandem::tools::add_bench(app, {argv, argv + argc});
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::cout) return status;
  std::fprintf(stderr, "tandem: cannot write to the standard output: %s\n", std::strerror(errno));
  return 1;
}
