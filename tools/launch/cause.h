// Why the system may have ended a rank. Internal to ranks.cpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace tandem::tools {

/// How many processes the kernel has killed so far for lack of memory; nothing where it does not say.
struct MemoryKills {
  std::optional<int64_t> of_group;    // of this process's control group, which a container is
  std::optional<int64_t> of_machine;  // of all
  static MemoryKills now();
};

/// "signal 9 (Killed)"
std::string name_of_signal(int signal);
/// What follows "rank 1 was ended by signal 9 (Killed)": the likely sender of a SIGKILL, by what the kernel has counted
/// meanwhile, and how much memory the process had. Empty for other signals.
std::string likely_cause(int signal, const MemoryKills& before, const MemoryKills& now, int64_t peak_kib);

}  // namespace tandem::tools
