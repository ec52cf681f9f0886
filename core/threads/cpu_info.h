// Properties of this machine that affect results or speed: usable cores, memory, instruction set.
#pragma once
#include <cstdint>
#include <span>
#include <string>

namespace tandem {

/// Number of cores that this process may use: the smaller of CPU affinity and cgroup quota (rounded up), at least 1.
int num_usable_cores();
/// The cgroup's CPU quota in cores, possibly fractional; 0 if there is none.
double cpu_quota();
/// Processor name, for example "Intel(R) Xeon(R) Processor @ 2.50GHz".
std::string cpu_model();
/// Memory of the machine in bytes.
int64_t total_memory_bytes();
/// Memory that this process may use in bytes: total_memory_bytes(), or the cgroup's limit if that is smaller.
int64_t memory_limit();

/// Instruction sets that the loops are compiled for: the levels of x86-64, or the compiler's default on other
/// processors.
enum class CpuIsa : uint8_t { v2, v3, v4, base };
/// Name of an instruction set, as in TANDEM_CPU_ISA and in the namespaces of the loops, for example "v3".
const char* isa_name(CpuIsa isa);
/// The instruction sets for which this build contains loops, lowest level first.
std::span<const CpuIsa> compiled_isas();
/// Whether this processor and operating system can run code compiled for that instruction set.
bool cpu_supports(CpuIsa isa);

/// The instruction set in use, chosen once: the one that the environment variable TANDEM_CPU_ISA names, else the
/// highest level of this build that the processor supports. @throws Error if the processor supports no level of this
/// build, or if TANDEM_CPU_ISA is unknown or unsupported
CpuIsa cpu_isa();
/// Whether the processor has bfloat16 multiplications (AVX-512 BF16), and cpu_isa() is v4.
bool cpu_supports_bfloat16();
/// Index of cpu_isa() in compiled_isas(). Tables of loops (kernels/cpu/isa.h) have the same indices.
int cpu_isa_level();
/// Name of the instruction set in use, for example "x86-64-v3".
std::string cpu_isa_name();

namespace detail {
/// Implements cpu_isa(). `requested` is the value of TANDEM_CPU_ISA, null or empty if unset.
CpuIsa choose_isa(const char* requested);

struct CgroupLimits {
  double cores = 0;  // 0: no limit
  int64_t memory_bytes = 0;
};
/// The tightest limits on the path from this process's cgroup to the root, in version 1 and 2 hierarchies.
/// @param root  mount point of the hierarchies: /sys/fs/cgroup
/// @param self  file that lists this process's cgroups: /proc/self/cgroup
CgroupLimits read_cgroup_limits(const std::string& root, const std::string& self);
}  // namespace detail

}  // namespace tandem
