// `tandem bench`: times operations and training steps, here and in peers, side by side.
#include <unistd.h>

#include <cstdio>

#include "tandem/benchmarks/report.h"
#include "tandem/core/algorithms.h"
#include "tandem/core/thread_pool.h"
#include "tandem/tools/commands.h"

namespace tandem::tools {
namespace {

using namespace tandem::benchmarks;

/// On a terminal, one line that is redrawn.
void show_progress(double part) {
  if (!isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, part < 1 ? "\r%3.0f %%" : "\r      \r", 100 * part);
  std::fflush(stderr);
}

}  // namespace

void list_benchmarks() {
  for (const Benchmark& b : all_benchmarks()) std::printf("%s\n", b.name.c_str());
}

void bench(const Settings& settings, const std::vector<std::string>& command_line) {
  const std::vector<Benchmark> all = all_benchmarks();
  const std::vector<Case> cases = settings.cases.empty() ? select(all, settings.filter) : select(all, settings.cases);
  const Device device(settings.device);
  check_device_exists(device);
  set_device(device);
  set_float32_matmul_precision(settings.precision);
  if (settings.threads > 0) set_num_threads(settings.threads);
  std::vector<std::unique_ptr<Program>> programs;
  programs.push_back(std::make_unique<OwnProgram>());
  for (const std::string& peer : settings.peers)
    programs.push_back(
        std::make_unique<PeerProgram>(peer_command(peer, get_num_threads(), settings.device, settings.precision)));
  for (const auto& program : programs)
    std::printf("%s %s%s", program->name().c_str(), program->version().c_str(), program == programs.back() ? "" : ", ");
  std::printf("; %d thread(s), %d samples of %g s\n", get_num_threads(), settings.repeats, settings.seconds);
  std::fflush(stdout);
  const std::vector<Row> rows = run(cases, programs, settings, show_progress);
  std::printf("%s", table(rows).c_str());
  if (!settings.json.empty()) write_json(settings.json, rows, programs, settings, command_line);
}

}  // namespace tandem::tools
