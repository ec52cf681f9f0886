// Facts of this machine that results and speed depend on: usable cores, memory, instruction set.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace tandem {

/// Cores that this process may use: affinity and cgroup quota, rounded up, at least 1.
int usable_cores();
/// The cgroup's quota in cores, fractions included; 0 when there is none.
double cpu_quota();
/// "Intel(R) Xeon(R) Processor @ 2.50GHz" and the like.
std::string cpu_model();
/// Bytes of memory that the machine has.
int64_t memory_total();
/// Bytes of memory that this process may use: memory_total(), or less where a cgroup limits it.
int64_t memory_limit();

/// What the loops are compiled for: the levels of x86-64, or the compiler's default on other processors.
enum class CpuIsa : uint8_t { v2, v3, v4, base };
/// "v3", as in TANDEM_CPU_ISA and in the loops' namespaces.
const char* name(CpuIsa isa);
/// The levels of this build, lowest first.
std::span<const CpuIsa> compiled_isas();
/// Whether this processor and operating system can run code of that level.
bool cpu_supports(CpuIsa isa);

/// The level in use, chosen once: the highest of this build that the processor has, or the one that TANDEM_CPU_ISA
/// names. @throws Error when the processor has none of them or not the one named, or the name is unknown
CpuIsa cpu_isa();
/// Whether the processor multiplies bfloat16 itself (AVX-512 BF16, or AMX beside it), and cpu_isa() is v4.
bool cpu_multiplies_bfloat16();
/// The index of cpu_isa() in compiled_isas(), and so in the rows of kernels/cpu/isa.h.
int cpu_isa_level();
/// "x86-64-v3" and the like, of the level in use.
std::string cpu_isa_name();

namespace detail {
/// The choice behind cpu_isa(); `requested` is the value of TANDEM_CPU_ISA, null or empty when unset.
CpuIsa choose_isa(const char* requested);

struct CgroupLimits {
  double cores = 0;  // 0: no limit
  int64_t memory = 0;
};
/// The tightest limits on the way from this process's cgroup to the root, in version 1 and 2 hierarchies.
/// @param root  where the hierarchies are mounted: /sys/fs/cgroup
/// @param self  the list of this process's cgroups: /proc/self/cgroup
CgroupLimits read_cgroup_limits(const std::string& root, const std::string& self);
}  // namespace detail

}  // namespace tandem
