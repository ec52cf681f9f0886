// `tandem trace -- PROGRAM`: traces a program that uses Tandem, and prints tables of its operations, modules and
// phases.
#pragma once
#include "tandem/tools/trace/event.h"

namespace tandem::tools::trace {

struct Settings {
  std::vector<std::string> command;
  std::string out = "trace.json";  // file for the trace
  std::string json;                // file for the tables as JSON; "" writes no file
  std::string report;              // file for the page; "" writes no file
  bool kernels = false;            // whether the printed table lists the kernels of each operation
  bool shapes = false;             // whether calls of an operation with different input shapes get separate rows
};

/// Runs the program and the processes that it starts, writes the merged trace, and prints the tables.
/// @return the program's exit status; 128 + n if signal n ended it; 127 if it could not be started; 1 if it ended with
/// 0 but wrote no trace
/// @throws UsageError if a result cannot be written, before the program starts; Error if writing it fails later
int trace(const Settings& settings);
/// Appends the events of a trace file (see write_trace()) to `events`, and its lines to `lines`, with process ID
/// `process`. @throws Error if a line is not an event
void read_trace(const std::string& path, int process, std::vector<Event>& events, std::vector<std::string>& lines);

}  // namespace tandem::tools::trace
