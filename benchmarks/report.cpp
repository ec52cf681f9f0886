#include "tandem/benchmarks/report.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/core/threads/cpu_info.h"
#include "tandem/core/threads/thread_pool.h"
#if TANDEM_HAS_OPENBLAS
#include <cblas.h>
#endif
#if TANDEM_HAS_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

namespace tandem::benchmarks {
namespace {

using Json = nlohmann::ordered_json;

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}
/// Formats a time with about three digits, in ns, us or ms.
std::string format_duration(double seconds) {
  const auto digits = [](double v) { return v < 10 ? "%.2f" : v < 100 ? "%.1f" : "%.0f"; };
  if (seconds < 1e-6) return format_number(digits(seconds * 1e9), seconds * 1e9) + " ns";
  if (seconds < 1e-3) return format_number(digits(seconds * 1e6), seconds * 1e6) + " us";
  return format_number(digits(seconds * 1e3), seconds * 1e3) + " ms";
}
std::string ratio(double peer_median, double own_median) { return format_number("%.2f", peer_median / own_median); }

double median(const Samples& s) { return percentile(s.seconds, 0.5); }

/// Returns the first line that a command prints on standard output; empty if it prints nothing.
std::string run_command(const std::string& command) {
  std::string text;
  if (FILE* const pipe = popen((command + " 2>/dev/null").c_str(), "r")) {
    char bytes[256];
    while (std::fgets(bytes, sizeof bytes, pipe)) text += bytes;
    pclose(pipe);
  }
  return text.substr(0, text.find('\n'));
}
/// Returns the commit of the sources, with " with changes" if tracked files have been changed. If the sources are not
/// in a git repository, returns the first line of the file benchmarks/commit.
std::string git_commit() {
  const std::string git = "git -C '" TANDEM_SOURCE_FOLDER "' ";
  std::string head = run_command(git + "rev-parse HEAD");
  if (head.empty()) {
    std::ifstream file(TANDEM_SOURCE_FOLDER "/benchmarks/commit");
    std::getline(file, head);
    return head;
  }
  return run_command(git + "status --porcelain -uno").empty() ? head : head + " with changes";
}
std::string openblas_version() {
#if TANDEM_HAS_OPENBLAS
  return openblas_get_config();
#else
  return "none";
#endif
}
std::string onednn_version() {
#if TANDEM_HAS_ONEDNN
  const dnnl_version_t* const v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
#else
  return "none";
#endif
}
std::string current_time() {
  char text[32];
  const std::time_t t = std::time(nullptr);
  std::tm parts;
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &parts));
  return text;
}

Json to_json(const CaseResult& row, MachineLimits* limits) {
  const Benchmark& b = *row.c.benchmark;
  Json out = {{"name", b.name}, {"shapes", shapes_to_string(row.c.shapes)}};
  if (b.bytes) out["bytes"] = b.bytes(row.c.shapes);
  if (b.flops) out["flops"] = b.flops(row.c.shapes);
  const double min_seconds = limits ? limits->min_seconds(row.c) : 0;
  for (const Samples& s : row.samples_by_program) {
    Json& result = out["results"][s.program];
    result = {{"median_ms", median(s) * 1e3},
              {"p10_ms", percentile(s.seconds, 0.1) * 1e3},
              {"p90_ms", percentile(s.seconds, 0.9) * 1e3},
              {"iterations", s.iterations}};
    if (b.bytes) result["gb_per_s"] = b.bytes(row.c.shapes) / median(s) * 1e-9;
    if (b.flops) result["gflop_per_s"] = b.flops(row.c.shapes) / median(s) * 1e-9;
    if (min_seconds > 0) result["share_of_limit"] = min_seconds / median(s);
    for (double sample : s.seconds) result["samples_ms"].push_back(sample * 1e3);
    if (&s != &row.samples_by_program[0])
      out["time_over_tandem"][s.program] = median(s) / median(row.samples_by_program[0]);
  }
  return out;
}

Json to_json(const Comparison& comparison) {
  return {{"ratio", comparison.ratio},
          {"low", comparison.low},
          {"high", comparison.high},
          {"slower", comparison.is_slower()}};
}

/// Returns the lines as text in which each column is as wide as its widest cell. The first column is left-aligned, all
/// others are right-aligned.
std::string format_table(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths;
  for (const auto& line : lines)
    for (size_t i = 0; i < line.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], line[i].size());
    }
  std::string out;
  for (const auto& line : lines) {
    std::string text;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string padding(widths[i] - line[i].size(), ' ');
      text += i == 0 ? line[i] + padding : "  " + padding + line[i];
    }
    out += text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

}  // namespace

std::string results_table(const std::vector<CaseResult>& rows, MachineLimits* limits) {
  std::vector<std::string> peers;
  for (const CaseResult& row : rows)
    for (size_t i = 1; i < row.samples_by_program.size(); ++i)
      if (std::find(peers.begin(), peers.end(), row.samples_by_program[i].program) == peers.end())
        peers.push_back(row.samples_by_program[i].program);
  std::vector<std::vector<std::string>> lines = {{"benchmark", "median", "10 %", "90 %", "figure"}};
  if (limits) lines[0].emplace_back("of limit");
  for (const std::string& peer : peers) lines[0].insert(lines[0].end(), {peer, "x"});
  for (const CaseResult& row : rows) {
    const Benchmark& b = *row.c.benchmark;
    const Samples& own = row.samples_by_program[0];
    const double own_median = median(own);
    std::string figure;
    if (b.flops) figure = format_number("%.3g GFLOP/s", b.flops(row.c.shapes) / own_median * 1e-9);
    if (b.bytes) figure = format_number("%.3g GB/s", b.bytes(row.c.shapes) / own_median * 1e-9);
    lines.push_back({b.name + "  " + shapes_to_string(row.c.shapes), format_duration(own_median),
                     format_duration(percentile(own.seconds, 0.1)), format_duration(percentile(own.seconds, 0.9)),
                     figure});
    if (limits) {
      const double min_seconds = limits->min_seconds(row.c);
      lines.back().push_back(min_seconds > 0 ? format_number("%.0f %%", 100 * min_seconds / own_median) : "");
    }
    for (const std::string& peer : peers) {
      const auto found = std::find_if(row.samples_by_program.begin(), row.samples_by_program.end(),
                                      [&](const Samples& s) { return s.program == peer; });
      const bool has = found != row.samples_by_program.end();
      lines.back().insert(lines.back().end(),
                          {has ? format_duration(median(*found)) : "", has ? ratio(median(*found), own_median) : ""});
    }
  }
  std::string out = format_table(lines);
  if (limits)
    out +=
        "of limit: the least time in which this machine can do the same arithmetic or move the same bytes, divided by "
        "Tandem's median; its peak rates: " +
        format_number("%.3g", limits->matmul_flops(kFloat32) * 1e-9) + " GFLOP/s in float32 matrix products (" +
        format_number("%.3g", limits->fma_flops() * 1e-9) + " in registers), " +
        format_number("%.3g", limits->bandwidth(MachineLimits::MemoryTraffic::copy, 1 << 29) * 1e-9) +
        " GB/s in copies of 512 MiB\n";
  if (!peers.empty()) out += "x: the peer's median divided by Tandem's; above 1, Tandem is faster\n";
  return out;
}

std::string baseline_table(const std::vector<CaseResult>& rows) {
  const auto interval = [](const Comparison& c) {
    return format_number("%.3f", c.low) + " to " + format_number("%.3f", c.high);
  };
  std::vector<std::vector<std::string>> lines = {{"benchmark", "this", "baseline", "ratio", "95 %", ""}};
  for (const CaseResult& row : rows) {
    lines.push_back({row.c.benchmark->name + "  " + shapes_to_string(row.c.shapes),
                     format_duration(median(row.samples_by_program[0]))});
    if (const std::optional<Comparison> c = compare_with_baseline(row))
      lines.back().insert(lines.back().end(),
                          {format_duration(median(row.samples_by_program[1])), format_number("%.3f", c->ratio),
                           interval(*c), c->is_slower() ? "slower" : ""});
  }
  if (const std::optional<Comparison> mean = compare_with_baseline(rows))
    lines.push_back({"geometric mean", "", "", format_number("%.3f", mean->ratio), interval(*mean)});
  return format_table(lines) +
         "ratio: median over the rounds of the baseline's time divided by this build's; above 1, this build is "
         "faster\n";
}

void write_json(const std::string& path, const std::vector<CaseResult>& rows,
                const std::vector<std::unique_ptr<Program>>& programs, const Settings& settings,
                const std::vector<std::string>& command_line, MachineLimits* limits) {
  Json json = {
      {"machine",
       {{"cpu", cpu_model()},
        {"cores", num_usable_cores()},
        {"instruction_set", cpu_isa_name()},
        {"memory_gib", static_cast<double>(memory_limit()) / (1 << 30)}}},
      {"build",
       {{"commit", git_commit()},
        {"compiler", TANDEM_COMPILER},
        {"openblas", openblas_version()},
        {"onednn", onednn_version()}}},
      {"date", current_time()},
      {"command", command_line},
      {"settings", {{"threads", get_num_threads()}, {"repeats", settings.repeats}, {"seconds", settings.seconds}}}};
  if (!device().is_cpu()) {
    const gpu::DeviceProperties& p = gpu::properties(device().index());
    json["machine"]["gpu"] = {{"name", p.name},
                              {"implementation", gpu::implementation()},
                              {"multiprocessors", p.multi_processor_count},
                              {"memory_gib", static_cast<double>(p.total_memory) / (1 << 30)},
                              {"driver_cuda", gpu::driver_version()},
                              {"runtime_cuda", gpu::runtime_version()},
                              {"driver", run_command("nvidia-smi --query-gpu=driver_version --format=csv,noheader")},
                              {"precision", settings.precision}};
  }
  if (limits)
    json["machine"]["limits"] = {
        {"multiply_adds_gflop_per_s", limits->fma_flops() * 1e-9},
        {"products_gflop_per_s", limits->matmul_flops(kFloat32) * 1e-9},
        {"copy_512_mib_gb_per_s", limits->bandwidth(MachineLimits::MemoryTraffic::copy, 1 << 29) * 1e-9}};
  for (const auto& program : programs)
    json["programs"].push_back({{"name", program->name()}, {"version", program->version()}});
  for (const CaseResult& row : rows) json["benchmarks"].push_back(to_json(row, limits));
  if (!settings.baseline.empty()) {
    json["baseline"]["build"] = settings.baseline;
    if (const auto mean = compare_with_baseline(rows)) json["baseline"]["geometric_mean"] = to_json(*mean);
    for (size_t i = 0; i < rows.size(); ++i)
      if (const auto compared = compare_with_baseline(rows[i])) json["benchmarks"][i]["baseline"] = to_json(*compared);
  }

  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;  // errors are ignored here, because opening the file then fails too
  if (!folder.empty()) std::filesystem::create_directories(folder, ignored);
  const std::string temporary = path + "." + std::to_string(getpid()) + ".part";
  std::ofstream out(temporary, std::ios::trunc);
  out << json.dump(1) << "\n";
  out.close();
  if (!out || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = std::strerror(errno);  // std::remove may change errno
    std::remove(temporary.c_str());
    TANDEM_FAIL("bench: cannot write ", path, ": ", reason);
  }
}

std::string markdown_table(const std::string& path, const std::string& filter) {
  std::ifstream in(path);
  TANDEM_CHECK(in, "bench: cannot read ", path, ": ", std::strerror(errno));
  const Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  TANDEM_CHECK(json.is_object() && json.contains("programs") && json.contains("benchmarks"), "bench: ", path,
               " is not a file that `tandem bench --json` wrote");
  std::vector<std::string> peers;
  for (const Json& program : json["programs"])
    if (program["name"] != "tandem") peers.push_back(program["name"]);
  TANDEM_CHECK(!peers.empty(), "bench: ", path, " has no peer's times to compare with; measure with --peers");
  std::string header = "| benchmark | tandem |", line = "|---|---|";
  for (const std::string& peer : peers) header += " " + peer + " |", line += "---|";
  std::string out = header + " best peer / tandem |\n" + line + "---|\n";
  const auto is_wanted = [&](const std::string& name) {
    std::istringstream text(filter);
    bool any = false;
    for (std::string part; std::getline(text, part, ',');) {
      if (name.find(part) != std::string::npos) return true;
      any = true;
    }
    return !any;
  };
  for (const Json& b : json["benchmarks"]) {
    if (!b.contains("time_over_tandem") || !is_wanted(b["name"])) continue;
    const Json& results = b["results"];
    const auto ms = [&](const std::string& program) { return results[program]["median_ms"].get<double>(); };
    out += "| " + b["name"].get<std::string>() + " " + b["shapes"].get<std::string>() + " | " +
           format_duration(ms("tandem") / 1e3) + " |";
    double best = INFINITY;
    for (const std::string& peer : peers) {
      if (results.contains(peer)) best = std::min(best, ms(peer));
      out += results.contains(peer) ? " " + format_duration(ms(peer) / 1e3) + " |" : " |";
    }
    out += " " + ratio(best, ms("tandem")) + " |\n";
  }
  return out;
}

}  // namespace tandem::benchmarks
