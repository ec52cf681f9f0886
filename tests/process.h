// Runs programs for tests.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tandem::test {

struct Result {
  int status;          // exit status; -1 if a signal ended the program
  std::string output;  // standard output and standard error
};
/// Runs a program and waits for it. A program that hangs is killed by a signal after two minutes.
/// @param prepare  called in the new process before the program replaces it
Result run_program(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void()>& prepare = {});

/// Like run_program, but sends SIGINT (as Ctrl-C does) as soon as the output contains `until`.
Result interrupt_program(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& until);

}  // namespace tandem::test
