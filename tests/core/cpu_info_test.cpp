// Tests the facts read from the machine, and the choice of the instruction set.
#include "tandem/core/threads/cpu_info.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tandem/core/error.h"
#include "tandem/tests/catch.h"

using namespace tandem;

namespace {

/// A cgroup mount with files written by the test, removed at the end.
class FakeCgroup {
 public:
  FakeCgroup() : root_(std::filesystem::temp_directory_path() / ("tandem-cgroup-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(root_);
  }
  ~FakeCgroup() { std::filesystem::remove_all(root_); }
  FakeCgroup& write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  detail::CgroupLimits limits(const std::string& self) {
    write("self", self);
    return detail::read_cgroup_limits(root_.string(), (root_ / "self").string());
  }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("what the machine says of itself is plausible", "[core][cpu_info]") {
  REQUIRE(num_usable_cores() >= 1);
  REQUIRE(num_usable_cores() <= std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
  REQUIRE(cpu_quota() >= 0);
  REQUIRE(!cpu_model().empty());
  REQUIRE(total_memory_bytes() > int64_t(16) << 20);
  REQUIRE(memory_limit() > 0);
  REQUIRE(memory_limit() <= total_memory_bytes());
}

TEST_CASE("limits of cgroup version 2 are the tightest on the way to the root", "[core][cpu_info]") {
  FakeCgroup cgroup;
  cgroup.write("a/cpu.max", "150000 100000").write("a/b/cpu.max", "max 100000").write("cpu.max", "400000 100000");
  cgroup.write("a/memory.max", "max").write("a/b/memory.max", "1048576").write("other/memory.max", "4096");
  REQUIRE(cgroup.limits("0::/a/b").cores == 1.5);
  REQUIRE(cgroup.limits("0::/a/b").memory_bytes == 1048576);
  REQUIRE(cgroup.limits("0::/not/visible/here").cores == 4);  // a container sees its own part of the hierarchy only
  REQUIRE(cgroup.limits("0::/").cores == 4);
  REQUIRE(cgroup.limits("0::/").memory_bytes == 0);
}

TEST_CASE("limits of cgroup version 1 are found by controller", "[core][cpu_info]") {
  FakeCgroup cgroup;
  cgroup.write("cpu,cpuacct/box/cpu.cfs_quota_us", "50000").write("cpu,cpuacct/box/cpu.cfs_period_us", "100000");
  cgroup.write("cpu,cpuacct/cpu.cfs_quota_us", "-1").write("cpu,cpuacct/cpu.cfs_period_us", "100000");
  cgroup.write("memory/box/memory.limit_in_bytes", "2097152");
  const std::string self = "12:cpu,cpuacct:/box\n4:memory:/box\n1:name=systemd:/box\nnonsense\n0::/";
  REQUIRE(cgroup.limits(self).cores == 0.5);
  REQUIRE(cgroup.limits(self).memory_bytes == 2097152);
  REQUIRE(cgroup.limits("12:cpu,cpuacct:/").cores == 0);
  REQUIRE(detail::read_cgroup_limits("/nowhere", "/nowhere/self").cores == 0);
}

TEST_CASE("the instruction set is the highest that build and processor share, or the one asked for",
          "[core][cpu_info]") {
  const auto all = compiled_isas();
  REQUIRE(!all.empty());
  const CpuIsa highest = detail::choose_isa(nullptr);
  REQUIRE(detail::choose_isa("") == highest);
  REQUIRE(cpu_supports(highest));
  for (const CpuIsa isa : all)
    if (isa <= highest) REQUIRE(detail::choose_isa(isa_name(isa)) == isa);
  REQUIRE(all[static_cast<size_t>(cpu_isa_level())] == cpu_isa());
  REQUIRE_THAT(cpu_isa_name(), Contains(cpu_isa() == CpuIsa::base ? "base" : isa_name(cpu_isa())));
}

TEST_CASE("an unknown instruction set is an error that names it", "[core][cpu_info]") {
  REQUIRE_THROWS_WITH(detail::choose_isa("v9"), Contains("TANDEM_CPU_ISA") && Contains("'v9'") &&
                                                    Contains("accepted") &&
                                                    Contains(isa_name(compiled_isas().front())));
}
