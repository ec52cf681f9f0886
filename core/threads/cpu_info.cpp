// Properties of this machine, read from the system.
#include "tandem/core/threads/cpu_info.h"

#include <sched.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "tandem/core/error.h"

namespace tandem {
namespace {

constexpr CpuIsa kCompiledIsas[] = {
#if defined(TANDEM_HAS_ISA_V2)
    CpuIsa::v2,
#endif
#if defined(TANDEM_HAS_ISA_V3)
    CpuIsa::v3,
#endif
#if defined(TANDEM_HAS_ISA_V4)
    CpuIsa::v4,
#endif
#if defined(TANDEM_HAS_ISA_BASE)
    CpuIsa::base,
#endif
};

/// The first number in a file; 0 if the file is missing or holds no number (for example "max").
template <class T> T read_number(const std::string& path) {
  T value = 0;
  std::ifstream(path) >> value;
  return value > 0 ? value : 0;
}

template <class T> void tighten_limit(T& limit, T found) {
  if (found > 0 && (limit == 0 || found < limit)) limit = found;
}

void read_directory_limits(const std::string& directory, detail::CgroupLimits& limits) {
  double quota = 0, period = 0;
  if (std::ifstream(directory + "/cpu.max") >> quota >> period && period > 0)
    tighten_limit(limits.cores, quota / period);
  quota = read_number<double>(directory + "/cpu.cfs_quota_us");
  period = read_number<double>(directory + "/cpu.cfs_period_us");
  if (period > 0) tighten_limit(limits.cores, quota / period);
  tighten_limit(limits.memory_bytes, read_number<int64_t>(directory + "/memory.max"));
  tighten_limit(limits.memory_bytes, read_number<int64_t>(directory + "/memory.limit_in_bytes"));
}

detail::CgroupLimits read_process_limits() { return detail::read_cgroup_limits("/sys/fs/cgroup", "/proc/self/cgroup"); }

std::string join_isa_names(std::span<const CpuIsa> isas) {
  std::string list;
  for (const CpuIsa isa : isas) list += (list.empty() ? "" : ", ") + std::string(isa_name(isa));
  return list;
}

}  // namespace

detail::CgroupLimits detail::read_cgroup_limits(const std::string& root, const std::string& self) {
  CgroupLimits limits;
  std::ifstream groups(self);
  // Lines are "4:memory:/a/b" in cgroup version 1, "0::/a/b" in version 2.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    // If cgroup version 2 is mounted beside version 1, it is at `unified`. A container may see only its own part of the
    // hierarchy. Then the folders below the root are missing, and the container's limits are in the root folder, at
    // which the inner loop ends.
    for (const std::string& mount : {root + "/" + controllers, root + "/unified"}) {
      std::string path = line.substr(second + 1);
      for (;;) {
        read_directory_limits(mount + path, limits);
        if (path.empty()) break;
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
      }
      if (!controllers.empty()) break;
    }
  }
  return limits;
}

double cpu_quota() { return read_process_limits().cores; }

int num_usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = sched_getaffinity(0, sizeof set, &set) == 0  // the call fails if there are more than 1024 processors
                  ? CPU_COUNT(&set)
                  : static_cast<int>(std::thread::hardware_concurrency());
  if (const double quota = cpu_quota(); quota > 0 && quota < cores) cores = static_cast<int>(std::ceil(quota));
  return std::max(cores, 1);
}

std::string cpu_model() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const size_t value = line.find(": ");
    if (line.rfind("model name", 0) == 0 && value != std::string::npos) return line.substr(value + 2);
  }
  return "unknown processor";
}

int64_t total_memory_bytes() { return int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE); }
int64_t memory_limit() {
  const int64_t limit = read_process_limits().memory_bytes, total = total_memory_bytes();
  return limit > 0 ? std::min(limit, total) : total;
}

const char* isa_name(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::v2: return "v2";
    case CpuIsa::v3: return "v3";
    case CpuIsa::v4: return "v4";
    case CpuIsa::base: break;
  }
  return "base";
}

std::span<const CpuIsa> compiled_isas() { return kCompiledIsas; }

bool cpu_supports(CpuIsa isa) {
#if defined(__x86_64__)
  // Tests each CPU feature that the x86-64 level requires, because clang 14's builtin knows neither "x86-64-v3" nor the
  // three features that are read from cpuid here. The builtin also checks that the operating system saves the wide
  // registers.
  unsigned a = 0, b = 0, basic = 0, extended = 0, d = 0;
  __get_cpuid(1, &a, &b, &basic, &d);
  __get_cpuid(0x80000001, &a, &b, &extended, &d);
  constexpr unsigned kMovbe = 1u << 22, kF16c = 1u << 29, kLzcnt = 1u << 5;
  const bool v2 = __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
                  __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && (basic & kMovbe) &&
                  (basic & kF16c) && (extended & kLzcnt);
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return isa == CpuIsa::v2 ? v2 : isa == CpuIsa::v3 ? v3 : isa == CpuIsa::v4 ? v4 : true;
#else
  return isa == CpuIsa::base;
#endif
}

CpuIsa detail::choose_isa(const char* requested) {
  const auto all = compiled_isas();
  const auto usable =
      all.first(static_cast<size_t>(std::find_if_not(all.begin(), all.end(), cpu_supports) - all.begin()));
  TANDEM_CHECK(!usable.empty(), "this processor (", cpu_model(), ") has none of the instruction sets of this build (",
               join_isa_names(all), "); build with a lower level in TANDEM_CPU_ISAS");
  if (!requested || !*requested) return usable.back();
  const auto found =
      std::find_if(usable.begin(), usable.end(), [&](CpuIsa isa) { return isa_name(isa) == std::string(requested); });
  TANDEM_CHECK(found != usable.end(), "TANDEM_CPU_ISA is '", requested,
               "'; accepted in this build on this processor: ", join_isa_names(usable));
  return *found;
}

CpuIsa cpu_isa() {
  static const CpuIsa chosen = detail::choose_isa(std::getenv("TANDEM_CPU_ISA"));
  return chosen;
}
bool cpu_supports_bfloat16() {
#if defined(__x86_64__)
  static const bool has = cpu_isa() == CpuIsa::v4 && __builtin_cpu_supports("avx512bf16");
  return has;
#else
  return false;
#endif
}
int cpu_isa_level() {
  const auto all = compiled_isas();
  return static_cast<int>(std::find(all.begin(), all.end(), cpu_isa()) - all.begin());
}
std::string cpu_isa_name() {
  return cpu_isa() == CpuIsa::base ? "baseline" : "x86-64-" + std::string(isa_name(cpu_isa()));
}

}  // namespace tandem
