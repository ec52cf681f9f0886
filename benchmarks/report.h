// Reports of a benchmark run: a table for the terminal, a JSON file, and a Markdown table made from the JSON file.
#pragma once
#include <string>

#include "tandem/benchmarks/comparison.h"
#include "tandem/benchmarks/limits.h"

namespace tandem::benchmarks {

/// Returns a table with one line per row: median, 10th and 90th percentile, and GB/s or GFLOP/s if the benchmark
/// defines them. If `limits` is not null, the line also shows the shortest possible time in percent of the median. For
/// each peer it shows the peer's median and its ratio to Tandem's.
std::string results_table(const std::vector<CaseResult>& rows, MachineLimits* limits = nullptr);
/// Returns a table that compares this build with a baseline: both medians, the ratio with its 95 % interval, and
/// "slower" if this build is slower in that row. The last line is the geometric mean of the ratios.
std::string baseline_table(const std::vector<CaseResult>& rows);
/// Writes a JSON file with all samples, the machine, the build and the settings; with the machine's peak rates if
/// `limits` is not null, and with the comparisons if settings.baseline is not empty. The file is replaced atomically.
/// @throws Error if it cannot be written
void write_json(const std::string& path, const std::vector<CaseResult>& rows,
                const std::vector<std::unique_ptr<Program>>& programs, const Settings& settings,
                const std::vector<std::string>& command_line, MachineLimits* limits = nullptr);
/// Returns a Markdown table made from a file that write_json wrote. It has the benchmarks that a peer has too and whose
/// name contains one of the substrings in `filter` (separated by commas; empty: all).
/// @throws Error if the file was not written by write_json, or has no peers
std::string markdown_table(const std::string& path, const std::string& filter);

}  // namespace tandem::benchmarks
