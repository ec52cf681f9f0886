// Programs that a test runs.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace tandem::test {

struct Result {
  int status;          // exit status; -1: ended by a signal
  std::string output;  // standard output and error
};
/// @param prepare  called in the new process before the program takes it over
/// A program that hangs is ended after two minutes, by a signal.
Result run_program(const std::string& program, const std::vector<std::string>& arguments,
                   const std::function<void()>& prepare = {});

/// The same, but when the output holds `until`, the program gets SIGINT, as by Ctrl-C.
Result interrupt_program(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& until);

}  // namespace tandem::test
