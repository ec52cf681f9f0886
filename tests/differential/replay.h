// Replays a recorded corpus: programs with what PyTorch gave for them.
#pragma once
#include <string>

#include "tandem/tests/differential/machine.h"

namespace tandem::differential {

struct ReplayOptions {
  std::string corpus;   // a file with {"id", "steps", "expect"} on each line
  Device device = kCPU;
  std::string planted;  // see planted.h
  int every = 1;        // replays each n-th program
};
/// Runs the programs in a process of their own, so that one that crashes it is named and the next ones still run.
/// Prints each program that differs, in C++, and where. @returns how many differ
int replay(const ReplayOptions& options);

/// Where `result` (of Machine::run) is not what was recorded; "" when nowhere.
std::string difference(const Json& expected, const Json& result);

}  // namespace tandem::differential
