// What came of a run: a table to read, JSON to keep, and a table for a README made from that.
#pragma once
#include <string>

#include "tandem/benchmarks/comparison.h"
#include "tandem/benchmarks/limits.h"

namespace tandem::benchmarks {

/// The rows, one line each: medians with the 10th and 90th percentile, the figure where one is defined, with `limits`
/// what share of the machine's best that is, and for each peer its median and how many times as long it takes.
std::string table(const std::vector<Row>& rows, MachineLimits* limits = nullptr);
/// Rows of this build and a baseline: both medians, the ratio with its interval, and which are slower; then the
/// geometric mean.
std::string baseline_table(const std::vector<Row>& rows);
/// Writes the rows with every sample, what they were measured on, its limits where they were measured and, with a
/// baseline, how they compare with it. Whole, or not at all. @throws Error
void write_json(const std::string& path, const std::vector<Row>& rows,
                const std::vector<std::unique_ptr<Program>>& programs, const Settings& settings,
                const std::vector<std::string>& command_line, MachineLimits* limits = nullptr);
/// A Markdown table of those benchmarks in a file of write_json's whose name contains a part of the filter and that a
/// peer has too. @throws Error when the file is not such a file
std::string markdown(const std::string& path, const std::string& filter);

}  // namespace tandem::benchmarks
