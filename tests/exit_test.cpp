// Tests that the library works while the process ends: runs each call of exit_program's table after main has returned,
// and in other threads while main exits.
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"

using namespace tandem::test;

namespace {

const std::string kProgram = kExitProgram;

std::vector<std::string> calls() {
  const Result result = run_program(kProgram, {"list"});
  REQUIRE(result.status == 0);
  std::vector<std::string> all;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  REQUIRE(all.size() > 20);
  return all;
}
/// Runs exit_program and checks its status. A process that hangs is killed by a signal, so it fails.
void check(const std::vector<std::string>& arguments) {
  const Result result = run_program(kProgram, arguments, [] {
    ::setenv("TANDEM_NUM_THREADS", "2", 1);
    ::setenv("TANDEM_CPU_DEVICES", "2", 1);
  });
  CAPTURE(arguments, result.output);
  CHECK(result.status == 0);
}

}  // namespace

TEST_CASE("the destructor of a static object may be the first to use the library", "[exit]") {
  for (const std::string& call : calls()) check({"unused", call});
  check({"unused"});
}
TEST_CASE("destructors of static objects use the library, whenever these were made", "[exit]") {
  check({"first"});
  check({"last"});
}
TEST_CASE("destructors of a thread's objects use the library", "[exit]") { check({"thread_local"}); }
TEST_CASE("exit() while other threads compute ends with its status", "[exit]") {
  // under ThreadSanitizer each takes a second, and the runs of all calls below show the same races
  if (!TANDEM_TEST_TSAN)
    for (const std::string& call : calls()) check({"computing", call});
  // Each run makes all calls, and exit() interrupts each run at a different point.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(4);
  for (int i = 0; i < 10 && std::chrono::steady_clock::now() < deadline; ++i)
    for (const char* const when : {"computing", "elsewhere"}) check({when});
}
TEST_CASE("the destructor of a static object waits for a thread that computes", "[exit]") { check({"joined"}); }
