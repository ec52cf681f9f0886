// `tandem trace -- PROGRAM`: traces a program that uses Tandem, and prints a table of its operations.
#pragma once
#include "tandem/tools/trace/op_table.h"

namespace tandem::tools::trace {

struct Settings {
  std::vector<std::string> command;
  std::string out = "trace.json";  // file for the trace
  std::string json;                // file for the table as JSON; "" writes no file
};

/// Runs the program and the processes that it starts, writes the merged trace, and prints the table.
/// @return the program's exit status; 128 + n if signal n ended it; 127 if it could not be started; 1 if it ended with
/// 0 but wrote no trace
/// @throws UsageError if a result cannot be written, before the program starts; Error if writing it fails later
int trace(const Settings& settings);
/// Adds the events of a trace file (see write_trace()) to `table`, and appends its lines to `lines`, with process ID
/// `process`. @throws Error if a line is not an event
void read_trace(const std::string& path, int process, OpTable& table, std::vector<std::string>& lines);

}  // namespace tandem::tools::trace
