// Implements trace(): runs the program with tracing enabled, merges the trace files of its processes, and prints the
// tables.
#include "tandem/tools/trace/trace.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tandem/benchmarks/scratch_folder.h"
#include "tandem/core/error.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/trace/page.h"

extern char** environ;

namespace tandem::tools::trace {
namespace {

using nlohmann::json;

/// While an instance exists, Ctrl-C ends the traced program but not this one.
class IgnoreInterruptGuard {
 public:
  IgnoreInterruptGuard() : old_handler_(std::signal(SIGINT, SIG_IGN)) {}
  ~IgnoreInterruptGuard() { std::signal(SIGINT, old_handler_); }
  IgnoreInterruptGuard(const IgnoreInterruptGuard&) = delete;

 private:
  void (*old_handler_)(int);
};

int run_program(const std::vector<std::string>& command, const std::string& folder) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  ::setenv("TANDEM_TRACE_FOLDER", folder.c_str(), 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGINT);  // resets SIGINT in the child; this process ignores the signal
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const IgnoreInterruptGuard guard;
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::unsetenv("TANDEM_TRACE_FOLDER");
  if (error != 0) {
    std::fprintf(stderr, "tandem: trace: cannot start %s: %s\n", arguments[0], std::strerror(error));
    return 127;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    TANDEM_CHECK(errno == EINTR, "trace: cannot wait for the program: ", std::strerror(errno));
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "tandem: trace: the program was ended by signal %d (%s); its trace is lost\n", WTERMSIG(status),
               ::strsignal(WTERMSIG(status)));
  return 128 + WTERMSIG(status);
}

Event parse_event(const json& event) {
  const json& arguments = event.at("args");
  Event out;
  out.name = event.at("name");
  out.category = event.at("cat");
  out.kind = arguments.value("kind", "");
  out.process = event.at("pid");
  out.thread = event.at("tid");
  const double start = event.at("ts"), duration = event.at("dur");
  constexpr double kNanosecondsPerMicrosecond = 1e3;
  out.start = std::llround(start * kNanosecondsPerMicrosecond);
  out.end = std::llround((start + duration) * kNanosecondsPerMicrosecond);
  out.device = arguments.value("device", "");
  out.module = arguments.value("module", "");
  out.reads = arguments.value("reads", "");
  out.writes = arguments.value("writes", "");
  out.bytes = arguments.value("bytes", int64_t(0));
  out.correlation_id = arguments.value("correlation", int64_t(0));
  out.stream = arguments.value("stream", 0);
  return out;
}

double to_seconds(int64_t nanoseconds) { return 1e-9 * static_cast<double>(nanoseconds); }
json op_to_json(const OpRow& row) {
  json out = {{"operation", row.name},
              {"count", row.num_calls},
              {"self_seconds", to_seconds(row.self_time)},
              {"total_seconds", to_seconds(row.total_time)},
              {"gpu_seconds", to_seconds(row.gpu_time)},
              {"bytes", row.bytes},
              {"flops", row.flops}};
  if (!row.shapes.empty()) out["shapes"] = row.shapes;
  for (const OpRow& kernel : row.kernels) out["kernels"].push_back(op_to_json(kernel));
  return out;
}
json tables_to_json(const CallTree& tree, const std::map<std::string, GpuUtilization>& gpus) {
  json out = {{"wall_seconds", to_seconds(tree.wall_time())},
              {"uncovered_seconds", to_seconds(tree.uncovered_time())},
              {"operations", json::array()},
              {"modules", json::array()},
              {"phases", json::array()},
              {"gpus", json::array()}};
  for (const OpRow& row : op_rows(tree)) out["operations"].push_back(op_to_json(row));
  for (const ModuleRow& row : module_rows(tree))
    out["modules"].push_back({{"module", row.path},
                              {"count", row.num_calls},
                              {"self_seconds", to_seconds(row.self_time)},
                              {"total_seconds", to_seconds(row.total_time())},
                              {"forward_seconds", to_seconds(row.forward)},
                              {"backward_seconds", to_seconds(row.backward)},
                              {"gpu_seconds", to_seconds(row.gpu_time)},
                              {"bytes", row.bytes}});
  for (const PhaseRow& row : phase_rows(tree))
    out["phases"].push_back({{"phase", row.name},
                             {"is_span", row.is_span},
                             {"count", row.num_calls},
                             {"self_seconds", to_seconds(row.self_time)},
                             {"total_seconds", to_seconds(row.total_time)},
                             {"gpu_seconds", to_seconds(row.gpu_time)}});
  for (const auto& [device, busy] : gpus)
    out["gpus"].push_back({{"device", device},
                           {"compute_seconds", busy.compute},
                           {"non_compute_seconds", busy.non_compute},
                           {"idle_seconds", busy.idle}});
  return out;
}

/// Returns the process ID for the events of a trace file in the merged trace: the rank or, if another file has the same
/// rank, a free number.
int assign_process_id(const std::string& path, std::set<int>& used_ids) {
  std::ifstream file(path);
  std::string head;
  std::getline(file, head);
  const size_t rank = head.find("\"rank\": ");
  int process = rank == std::string::npos ? 0 : std::atoi(head.c_str() + rank + std::strlen("\"rank\": "));
  if (used_ids.count(process)) process = kFirstOtherProcessId + static_cast<int>(used_ids.size());
  used_ids.insert(process);
  return process;
}

int64_t read_num_dropped(std::filesystem::path file) {
  std::ifstream in(file.replace_extension(".left_out"));
  int64_t count = 0;
  return in >> count ? count : 0;
}

}  // namespace

void read_trace(const std::string& path, int process, std::vector<Event>& events, std::vector<std::string>& lines) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);  // skips the header line before the events
  while (std::getline(file, text) && text != "]}") {
    if (text.empty()) continue;
    if (text.back() == ',') text.pop_back();
    json event = json::parse(text, nullptr, /*allow_exceptions=*/false);
    TANDEM_CHECK(event.is_object(), "trace: ", path,
                 " has a line that is not an event, a JSON object: ", text.substr(0, 80));
    event["pid"] = process;
    if (event.value("ph", "") == "X") events.push_back(parse_event(event));
    lines.push_back(event.dump());
  }
}

/// Contents of all trace files that the traced processes wrote.
struct Trace {
  std::vector<Event> events;
  std::vector<std::string> lines;
  std::set<int> processes;
  int64_t num_dropped = 0;
};
static Trace read_folder(const std::string& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  Trace trace;
  for (const std::filesystem::path& file : files) {
    const int process = assign_process_id(file.string(), trace.processes);
    read_trace(file.string(), process, trace.events, trace.lines);
    trace.num_dropped += read_num_dropped(file);
  }
  return trace;
}
static std::string merge_lines(const Trace& trace) {
  std::string text =
      "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": " + std::to_string(*trace.processes.begin()) +
      "}, \"traceEvents\": [\n";
  for (size_t i = 0; i < trace.lines.size(); ++i) text += trace.lines[i] + (i + 1 < trace.lines.size() ? ",\n" : "\n");
  return text + "]}\n";
}
static std::string join_with_spaces(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

int trace(const Settings& settings) {
  check_can_write("--out", settings.out);
  check_can_write("--json", settings.json);
  check_can_write("--report", settings.report);
  const benchmarks::ScratchFolder folder("trace");
  const int status = run_program(settings.command, folder.path());
  const Trace trace = read_folder(folder.path());
  if (trace.lines.empty()) {
    if (status == 0)
      std::fprintf(stderr,
                   "tandem: trace: %s wrote no trace; accepted: a program that uses Tandem and ends by exit()\n",
                   settings.command[0].c_str());
    return status == 0 ? 1 : status;
  }
  const CallTree tree(trace.events, settings.shapes);
  const std::map<std::string, GpuUtilization> gpus = compute_gpu_utilization(trace.events);
  std::printf("%s", format_tables(tree, settings.kernels).c_str());
  for (const auto& [device, utilization] : gpus) std::printf("%s\n", describe_gpu(device, utilization).c_str());
  if (trace.num_dropped > 0) std::printf("%s\n", describe_dropped(trace.num_dropped).c_str());
  ResultFiles results;
  results.try_write([&] { write_file_atomically("trace", settings.out, merge_lines(trace)); });
  if (!settings.json.empty())
    results.try_write(
        [&] { write_file_atomically("trace", settings.json, tables_to_json(tree, gpus).dump(1) + "\n"); });
  if (!settings.report.empty())
    results.try_write([&] {
      write_file_atomically("trace", settings.report,
                            render_html({join_with_spaces(settings.command), tree, gpus, trace.num_dropped}));
    });
  results.throw_errors();
  std::printf("the trace, for Perfetto or chrome://tracing: %s\n", settings.out.c_str());
  if (!settings.report.empty()) std::printf("the page, for a browser: %s\n", settings.report.c_str());
  return status;
}

}  // namespace tandem::tools::trace
