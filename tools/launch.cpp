// `tandem launch -n 2 -- program args`: runs a program as the ranks of one job.
#include "tandem/tools/commands.h"
#include "tandem/tools/ranks.h"

namespace tandem::tools {
namespace {
struct Settings {
  int count = 2;
  int64_t timeout = 0;
  std::vector<std::string> command;
};
}  // namespace

void add_launch(CLI::App& app) {
  auto s = std::make_shared<Settings>();
  CLI::App* const c =
      app.add_subcommand("launch", "Run a program as several ranks: tandem launch -n 2 -- program args");
  c->add_option("-n,--ranks", s->count, "Processes to start")->capture_default_str()->check(CLI::Range(1, 1024));
  c->add_option("--timeout", s->timeout, "Seconds that the whole job may take; 0: any number")
      ->capture_default_str()
      ->check(CLI::Range(int64_t(0), int64_t(1) << 31));
  c->add_option("command", s->command, "The program and its arguments")->required();
  c->callback([s] {
    RankOptions options;
    options.timeout = std::chrono::seconds(s->timeout);
    const int status = run_processes(s->count, s->command, options);
    if (status != 0) throw CLI::RuntimeError(status);
  });
}

}  // namespace tandem::tools
