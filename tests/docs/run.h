// Runs the code of a page, for the test cases that extract.awk writes.
#pragma once
#include <filesystem>
#include <string>

#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"

namespace tandem::test {

/// Runs `program` in a temporary folder, because the programs of pages write files.
template <class Program> void run(Program* program) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  std::string name = "program";
  char* arguments[] = {name.data(), nullptr};
  if constexpr (std::is_invocable_v<Program, int, char**>)
    REQUIRE(program(1, arguments) == 0);
  else if constexpr (std::is_same_v<std::invoke_result_t<Program>, int>)
    REQUIRE(program() == 0);
  else
    program();
  std::filesystem::current_path(before);
}

}  // namespace tandem::test
