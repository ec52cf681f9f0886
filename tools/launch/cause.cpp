// MemoryKills and likely_cause: reads the kernel's counts of killed processes, and words the cause of a signal.
#include "tandem/tools/launch/cause.h"

#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>

namespace tandem::tools {
namespace {

/// The number behind a word at the beginning of a line.
std::optional<int64_t> number_in(const std::string& path, const std::string& word) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream text(line);
    std::string first;
    int64_t number = 0;
    if (text >> first >> number && first == word) return number;
  }
  return {};
}
std::optional<int64_t> kills_of_group() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "0::/a/b", or of version 1 "4:memory:/a/b"
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kind = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    const std::string root = kind.empty() ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    if (!kind.empty() && kind != "memory") continue;
    for (const std::string& path : {root + group, root})  // within a container the root is the group
      if (auto kills = number_in(path + (kind.empty() ? "/memory.events" : "/memory.oom_control"), "oom_kill"))
        return kills;
  }
  return {};
}

}  // namespace

MemoryKills MemoryKills::now() { return {kills_of_group(), number_in("/proc/vmstat", "oom_kill")}; }

std::string name_of_signal(int signal) { return "signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")"; }

std::string likely_cause(int signal, const MemoryKills& before, const MemoryKills& now, int64_t peak_kib) {
  if (signal != SIGKILL) return "";
  const auto grew = [](const std::optional<int64_t>& a, const std::optional<int64_t>& b) { return a && b && *b > *a; };
  const std::string had = " (it had " + std::to_string(peak_kib / 1024) + " MiB at most)";
  if (grew(before.of_group, now.of_group))
    return "; memory has run out in its control group, and the kernel has killed a process for that" + had;
  if (grew(before.of_machine, now.of_machine))
    return "; memory has run out on this machine, and the kernel has killed a process for that" + had;
  if (now.of_group || now.of_machine) return "; not for lack of memory, says the kernel: somebody has sent it" + had;
  return "; perhaps for lack of memory" + had;
}

}  // namespace tandem::tools
