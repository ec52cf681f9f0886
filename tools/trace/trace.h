// `tandem trace -- PROGRAM`: a trace of any program that uses Tandem, and a table of its operations.
#pragma once
#include "tandem/tools/trace/op_table.h"

namespace tandem::tools::trace {

struct Settings {
  std::vector<std::string> command;
  std::string out = "trace.json";  // the trace
  std::string json;                // the table; empty: not written
};

/// Runs the program and the processes that it starts, writes their trace, and prints the table.
/// @return the program's exit status, 128 + n after signal n, 127 if it could not be started; 1 if it left no trace
int trace(const Settings& settings);
/// Adds what a file of write_trace() holds to the table, and its lines to `lines`, under the number of a process.
void read_trace(const std::string& path, int process, OpTable& table, std::vector<std::string>& lines);

}  // namespace tandem::tools::trace
