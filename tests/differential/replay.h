// Replays recorded programs and compares their results with PyTorch's recorded results.
#pragma once
#include <string>

#include "tandem/tests/differential/machine.h"

namespace tandem::differential {

struct ReplayOptions {
  std::string corpus;  // file with {"id", "steps", "expect"} on each line
  // file of IDs of programs that differ, each with the reason. Programs that agree nevertheless are printed.
  std::string left_out;
  Device device = kCPU;
  std::string planted;  // name of a deliberate defect (see plant() in planted.h); "" for none
  size_t every = 1;     // replays every n-th program
  bool strict = false;  // counts a left-out program that agrees as a failure
};
/// Runs the programs in a separate process. If a program ends the process, it is reported and the next programs still
/// run. Prints each program that differs as C++, with the difference, and each left-out program that agrees.
/// @returns the number of programs that differ, plus, if `strict`, the number of left-out programs that agree
int replay(const ReplayOptions& options);

/// Returns where `result` (of Machine::run) differs from the recorded result, or "" if it does not differ.
std::string difference(const Json& steps, const Json& expected, const Json& result);

}  // namespace tandem::differential
