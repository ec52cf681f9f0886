// Replays a recorded corpus: programs with what PyTorch gave for them.
#pragma once
#include <string>

#include "tandem/tests/differential/machine.h"

namespace tandem::differential {

struct ReplayOptions {
  std::string corpus;    // a file with {"id", "steps", "expect"} on each line
  std::string left_out;  // a file of ids, each with the reason why it differs: those that agree are named
  Device device = kCPU;
  std::string planted;  // see injected_fault.h
  size_t every = 1;     // replays each n-th program
  bool strict = false;  // that one which is left out agrees counts as a failure
};
/// Runs the programs in a process of their own, so that one that ends it is named and the next ones still run. Prints
/// each program that differs, in C++, and where; and each that is left out and agrees.
/// @returns how many differ, and, if `strict`, how many are left out and agree
int replay(const ReplayOptions& options);

/// Where `result` (of Machine::run) is not what was recorded; "" when nowhere.
std::string difference(const Json& steps, const Json& expected, const Json& result);

}  // namespace tandem::differential
