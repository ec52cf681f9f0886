// `tandem bench`: times operations and training steps, here and in peers, side by side.
#include <unistd.h>

#include <cstdio>

#include "tandem/benchmarks/report.h"
#include "tandem/core/thread_pool.h"
#include "tandem/tools/commands.h"

namespace tandem::tools {
namespace {

using namespace tandem::benchmarks;

void list() {
  for (const Benchmark& b : all_benchmarks()) std::printf("%s\n", b.name.c_str());
}

/// On a terminal, one line that is redrawn.
void show_progress(double part) {
  if (!isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, part < 1 ? "\r%3.0f %%" : "\r      \r", 100 * part);
  std::fflush(stderr);
}

void bench(const Settings& settings, const std::vector<std::string>& command_line) {
  const std::vector<Benchmark> all = all_benchmarks();
  const std::vector<Case> cases = select(all, settings.filter);
  if (settings.threads > 0) set_num_threads(settings.threads);
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<OwnProgram>());
  for (const std::string& peer : settings.peers)
    programs.push_back(std::make_unique<PeerProgram>(peer_command(peer, get_num_threads())));
  for (const auto& program : programs)
    std::printf("%s %s%s", program->name().c_str(), program->version().c_str(), program == programs.back() ? "" : ", ");
  std::printf("; %d thread(s), %d samples of %g s\n", get_num_threads(), settings.repeats, settings.seconds);
  std::fflush(stdout);
  const std::vector<Row> rows = run(cases, programs, settings, show_progress);
  std::printf("%s", table(rows).c_str());
  if (!settings.json.empty()) write_json(settings.json, rows, programs, settings, command_line);
}

}  // namespace

void add_bench(CLI::App& app, std::vector<std::string> command_line) {
  struct Options : Settings {
    std::string markdown;
    bool list = false;
  };
  auto s = std::make_shared<Options>();
  CLI::App* const c = app.add_subcommand("bench", "Time operations and training steps, here and in peers");
  c->add_option("--filter", s->filter, "Only benchmarks whose name contains this, or one of these parted by commas");
  c->add_flag("--list", s->list, "Print the benchmarks' names");
  c->add_option("--repeats", s->repeats, "Samples of each benchmark")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  c->add_option("--seconds", s->seconds, "How long a sample should take")
      ->capture_default_str()
      ->check(CLI::Range(1e-6, 3600.0));
  c->add_option("--threads", s->threads, "Threads of every program; all usable cores unless given")
      ->check(CLI::Range(1, 1024));
  CLI::Option* const peers =
      c->add_option("--peers", s->peers, "Peers to run interleaved, parted by commas; all unless named")
          ->delimiter(',')
          ->expected(0, -1);
  c->add_option("--json", s->json, "Write every sample, the machine and the settings");
  c->add_option("--markdown", s->markdown, "Print a table of a file that --json wrote, and run nothing");
  c->callback([s, peers, command_line = std::move(command_line)] {
    if (s->list) return list();
    if (!s->markdown.empty()) {
      std::printf("%s", markdown(s->markdown, s->filter).c_str());
      return;
    }
    if (peers->count() > 0 && (s->peers.empty() || s->peers[0].empty())) s->peers = peer_names();
    bench(*s, command_line);
  });
}

}  // namespace tandem::tools
