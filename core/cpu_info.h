// This machine, as far as results and speed depend on it: usable cores, memory, instruction set.
#pragma once
#include <cstdint>
#include <string>

namespace tandem {

/// Cores that this process may use: affinity and cgroup quota, rounded up, at least 1.
int usable_cores();
/// The quota of this process's cgroup in cores; 0 when there is none.
double cpu_quota();
std::string cpu_model();
/// Bytes of memory that this process may use: what the machine has, or the cgroup's limit.
int64_t memory_limit();

/// Index into the compiled list of instruction sets (kernels/cpu/isa.h): the highest that this processor has.
/// TANDEM_CPU_ISA=v2, v3 or v4 lowers it. @throws Error when the processor has none of them, or the name is unknown
int cpu_isa_level();
/// "x86-64-v3" and the like, of the level in use.
std::string cpu_isa_name();

}  // namespace tandem
