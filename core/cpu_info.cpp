#include "tandem/core/cpu_info.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "tandem/core/error.h"

namespace tandem {
namespace {

std::string first_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

struct Level {
  const char* name;
  bool (*present)();
};
// In the order of TANDEM_ISA_LIST (kernels/cpu/isa.h), lowest first. By feature: clang 14 knows no "x86-64-v3".
const Level kLevels[] = {
#if defined(TANDEM_HAS_ISA_V2)
    {"v2", [] { return bool(__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")); }},
#endif
#if defined(TANDEM_HAS_ISA_V3)
    {"v3",
     [] {
       return bool(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                   __builtin_cpu_supports("bmi2"));
     }},
#endif
#if defined(TANDEM_HAS_ISA_V4)
    {"v4",
     [] {
       return bool(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                   __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                   __builtin_cpu_supports("avx512vl"));
     }},
#endif
#if defined(TANDEM_HAS_ISA_BASE)
    {"base", [] { return true; }},
#endif
};

int choose_level() {
  int best = -1;
  std::string known;
  const char* asked = std::getenv("TANDEM_CPU_ISA");
  bool found = !asked || !*asked;
  for (int i = 0; i < static_cast<int>(std::size(kLevels)); ++i) {
    if (!kLevels[i].present()) break;
    known += std::string(i ? ", " : "") + kLevels[i].name;
    best = i;
    if (asked && std::string(asked) == kLevels[i].name) {
      found = true;
      break;
    }
  }
  TANDEM_CHECK(best >= 0, "this processor (", cpu_model(), ") has none of the instruction sets of this build; the lowest is x86-64-",
               kLevels[0].name);
  TANDEM_CHECK(found, "TANDEM_CPU_ISA is '", asked, "'; this build on this processor accepts: ", known);
  return best;
}

}  // namespace

double cpu_quota() {
  std::istringstream v2(first_line("/sys/fs/cgroup/cpu.max"));
  double quota = 0, period = 0;
  if (v2 >> quota >> period) return quota > 0 && period > 0 ? quota / period : 0;  // "max ..." does not parse
  std::istringstream v1(first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  std::istringstream v1_period(first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  return v1 >> quota && v1_period >> period && quota > 0 && period > 0 ? quota / period : 0;
}

int usable_cores() {
  static const int cores = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
    if (const double quota = cpu_quota(); quota > 0) n = std::min(n, static_cast<int>(std::ceil(quota)));
    return std::max(n, 1);
  }();
  return cores;
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

int64_t memory_limit() {
  int64_t bytes = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::istringstream(first_line(path)) >> limit && limit > 0) bytes = std::min(bytes, limit);
  }
  return bytes;
}

int cpu_isa_level() {
  static const int level = choose_level();
  return level;
}
std::string cpu_isa_name() {
  const std::string name = kLevels[cpu_isa_level()].name;
  return name == "base" ? "baseline" : "x86-64-" + name;
}

}  // namespace tandem
