// Implements trace(): runs the program with tracing enabled, merges the trace files of its processes, and prints the
// table.
#include "tandem/tools/trace/trace.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
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

extern char** environ;

namespace tandem::tools::trace {
namespace {

using nlohmann::json;

/// While an instance exists, Ctrl-C ends the traced program but not this one.
class IgnoreInterrupt {
 public:
  IgnoreInterrupt() : old_handler_(std::signal(SIGINT, SIG_IGN)) {}
  ~IgnoreInterrupt() { std::signal(SIGINT, old_handler_); }
  IgnoreInterrupt(const IgnoreInterrupt&) = delete;

 private:
  void (*old_handler_)(int);
};

int run(const std::vector<std::string>& command, const std::string& folder) {
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
  const IgnoreInterrupt guard;
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

Line parse_event(const json& event) {
  const json& arguments = event.at("args");
  Line line;
  line.name = event.at("name");
  line.category = event.at("cat");
  line.process = event.at("pid");
  constexpr double kMicrosecond = 1e-6;
  line.start = event.at("ts").get<double>() * kMicrosecond;
  line.seconds = event.at("dur").get<double>() * kMicrosecond;
  line.device = arguments.value("device", "");
  line.reads = arguments.value("reads", "");
  line.writes = arguments.value("writes", "");
  line.bytes = arguments.value("bytes", int64_t(0));
  line.correlation = arguments.value("correlation", int64_t(0));
  line.stream = arguments.value("stream", 0);
  return line;
}

json table_to_json(const OpTable& table) {
  json out = {{"operations", json::array()}, {"gpus", json::array()}};
  for (const OpRow& row : table.rows())
    out["operations"].push_back({{"operation", row.op},
                                 {"device", row.device},
                                 {"count", row.count},
                                 {"seconds", row.seconds},
                                 {"bytes", row.bytes},
                                 {"flops", row.flops}});
  for (const auto& [device, busy] : table.busy())
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
  constexpr int kOthers = 1000;
  if (used_ids.count(process)) process = kOthers + static_cast<int>(used_ids.size());
  used_ids.insert(process);
  return process;
}

int64_t read_num_dropped(std::filesystem::path file) {
  std::ifstream in(file.replace_extension(".left_out"));
  int64_t count = 0;
  return in >> count ? count : 0;
}

}  // namespace

void read_trace(const std::string& path, int process, OpTable& table, std::vector<std::string>& lines) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);  // skips the header line before the events
  while (std::getline(file, text) && text != "]}") {
    if (text.empty()) continue;
    if (text.back() == ',') text.pop_back();
    json event = json::parse(text, nullptr, /*allow_exceptions=*/false);
    TANDEM_CHECK(event.is_object(), "trace: ", path, " has a line that is not an event: ", text.substr(0, 80));
    event["pid"] = process;
    if (event.value("ph", "") == "X") table.add(parse_event(event));
    lines.push_back(event.dump());
  }
}

int trace(const Settings& settings) {
  check_can_write("--out", settings.out);
  check_can_write("--json", settings.json);
  const benchmarks::ScratchFolder folder("trace");
  const int status = run(settings.command, folder.path());
  OpTable table;
  std::vector<std::string> lines;
  std::set<int> used_ids;
  int64_t num_dropped = 0;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& file : files) {
    read_trace(file.string(), assign_process_id(file.string(), used_ids), table, lines);
    num_dropped += read_num_dropped(file);
  }
  if (lines.empty()) {
    if (status == 0)
      std::fprintf(stderr,
                   "tandem: trace: %s wrote no trace; accepted: a program that uses Tandem and ends by exit()\n",
                   settings.command[0].c_str());
    return status == 0 ? 1 : status;
  }
  std::string text = "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": " + std::to_string(*used_ids.begin()) +
                     "}, \"traceEvents\": [\n";
  for (size_t i = 0; i < lines.size(); ++i) text += lines[i] + (i + 1 < lines.size() ? ",\n" : "\n");
  std::printf("%s", table.str().c_str());
  if (num_dropped > 0)
    std::printf("%lld later events are left out: the trace and this table end before the program does\n",
                static_cast<long long>(num_dropped));
  ResultFiles results;
  results.add([&] { write_file_atomically("trace", settings.out, text + "]}\n"); });
  if (!settings.json.empty())
    results.add([&] { write_file_atomically("trace", settings.json, table_to_json(table).dump(1) + "\n"); });
  results.finish();
  std::printf("the trace, for Perfetto or chrome://tracing: %s\n", settings.out.c_str());
  return status;
}

}  // namespace tandem::tools::trace
