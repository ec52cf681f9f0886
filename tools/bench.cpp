// `tandem bench`: times operations and training steps in Tandem and in other frameworks (PyTorch, LibTorch), side by
// side.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "tandem/benchmarks/report.h"
#include "tandem/core/algorithms.h"
#include "tandem/core/internal.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/commands.h"
#include "tandem/tools/usage.h"

namespace tandem::tools {
namespace {

using namespace tandem::benchmarks;

/// Redraws one line with the percentage done; prints nothing if stderr is no terminal.
void show_progress(double part) {
  if (!isatty(STDERR_FILENO)) return;
  std::fprintf(stderr, part < 1 ? "\r%3.0f %%" : "\r      \r", 100 * part);
  std::fflush(stderr);
}

/// Returns the cases to time. On a CPU that cannot multiply bfloat16, prints and skips the bfloat16 cases, unless the
/// user named the cases with their sizes (settings.cases).
std::vector<Case> select_cases(const std::vector<Benchmark>& all, const Settings& settings) {
  if (!settings.cases.empty()) return find_cases(all, settings.cases);
  std::vector<Case> cases = find_cases(all, settings.filter);
  if (!device().is_cpu() || cpu_supports_bfloat16()) return cases;
  std::erase_if(cases, [](const Case& c) {
    const bool skipped = c.benchmark->name.find("bfloat16") != std::string::npos;
    if (skipped)
      std::printf("skipped: %s (this processor, or this TANDEM_CPU_ISA, has no bfloat16 products)\n", c.key().c_str());
    return skipped;
  });
  return cases;
}

/// Returns the programs to time: this process and the other frameworks, or this build and a baseline build of Tandem
/// with the same options.
std::vector<std::unique_ptr<Program>> make_programs(const Settings& settings) {
  std::vector<std::unique_ptr<Program>> programs;
  if (settings.baseline.empty()) {
    programs.push_back(std::make_unique<TandemProgram>());
    for (const std::string& peer : settings.peers)
      programs.push_back(
          std::make_unique<PeerProgram>(peer_command(peer, get_num_threads(), settings.device, settings.precision)));
    return programs;
  }
  check_usage(settings.repeats >= kMinRounds, "--repeats is ", settings.repeats,
              "; accepted with --baseline: ", kMinRounds, " or more, for a confidence interval");
  const std::vector<std::string> options = {
      "--threads", std::to_string(get_num_threads()), "--device", settings.device, "--precision", settings.precision};
  programs.push_back(std::make_unique<BuildProgram>("tandem", "/proc/self/exe", settings.seconds, options));
  programs.push_back(std::make_unique<BuildProgram>("baseline", settings.baseline, settings.seconds, options));
  return programs;
}

}  // namespace

void list_benchmarks() {
  for (const Benchmark& b : all_benchmarks()) std::printf("%s\n", b.name.c_str());
}

int bench(const Settings& settings, const std::vector<std::string>& command_line) {
  const std::vector<Benchmark> all = all_benchmarks();
  const std::filesystem::path folder = std::filesystem::path(settings.json).parent_path();
  std::error_code ignored;  // ignored here, because check_can_write() reports a folder that could not be made
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  check_can_write("--json", settings.json);
  if (settings.threads > 0) set_num_threads(check_num_threads(settings.threads));
  std::vector<Case> cases;
  std::vector<std::unique_ptr<Program>> programs;
  rethrow_as_usage_error([&] {
    const Device device(settings.device);
    check_device_exists(device);
    set_device(device);
    cases = select_cases(all, settings);
    set_float32_matmul_precision(settings.precision);
    programs = make_programs(settings);
  });
  const auto timed = [&] { return run_cases(cases, programs, settings, show_progress); };
  // If the user named the cases, an operation may reject the sizes in them. That is a usage error.
  const std::vector<CaseResult> rows = settings.cases.empty() ? timed() : rethrow_as_usage_error(timed);
  for (const auto& program : programs)
    std::printf("%s %s%s", program->name().c_str(), program->version().c_str(), program == programs.back() ? "" : ", ");
  std::printf("; %d thread(s), %d samples of %g s\n", get_num_threads(), settings.repeats, settings.seconds);
  MachineLimits measured;
  MachineLimits* const limits = device().is_cpu() && !settings.peers.empty() ? &measured : nullptr;
  std::printf("%s", (settings.baseline.empty() ? results_table(rows, limits) : baseline_table(rows)).c_str());
  if (!settings.json.empty()) write_json(settings.json, rows, programs, settings, command_line, limits);
  if (settings.baseline.empty()) return 0;
  const auto slower = std::count_if(rows.begin(), rows.end(), [](const CaseResult& row) {
    const std::optional<Comparison> compared = compare_with_baseline(row);
    return is_overhead_benchmark(row) && compared && compared->is_slower();
  });
  if (slower > 0)
    std::fprintf(stderr, "tandem: %d overhead benchmark(s) are slower: their intervals lie below 0.95\n",
                 static_cast<int>(slower));
  return static_cast<int>(slower);
}

}  // namespace tandem::tools
