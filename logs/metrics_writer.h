// MetricsWriter: writes the metrics of each training step to a table in a file.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/durations.h"

namespace tandem::logs {

/// Writes one row per step, as CSV (for spreadsheets and pandas.read_csv) or as JSON Lines (for pandas.read_json(path,
/// lines=True)), depending on the file's extension:
///
///     logs::MetricsWriter log("run.csv");
///     log.add(step, {{"loss", loss.item<double>()}, {"rate", 1e-3}});
///
/// gives
///
///     step,seconds,loss,rate
///     1,0.0213,0.6931,0.001
///
/// where `seconds` counts from the construction of the writer. Numbers are written with the fewest digits that restore
/// the exact value. add() writes to the file before it returns, so a crash loses no rows. A writer must not be used by
/// several threads at once. In a job of several ranks, only rank 0 should have one.
class MetricsWriter {
 public:
  /// @param path    name that ends in .csv or .jsonl; an existing file is overwritten
  /// @param append  if true, rows are added to an existing file, to continue a training
  /// @throws Error  for another extension, or with the system's error message
  explicit MetricsWriter(std::string path, bool append = false);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;

  /// Writes a row. The names in the first row are the columns of a .csv file; later rows may omit some, which leaves
  /// cells empty, but must not add any. Rows of a .jsonl file may have any names. NaN is written as nan in CSV, and NaN
  /// and infinities as null in JSON.
  /// @throws Error  if a name occurs twice, is `step` or `seconds`, or is no column; if the file to append to has other
  ///                columns; or with the system's error message
  void add(int64_t step, const std::vector<std::pair<std::string, double>>& metrics);
  const std::string& path() const { return path_; }

 private:
  std::string format_csv_row(int64_t step, double seconds, const std::vector<std::pair<std::string, double>>& metrics);
  void write_header(const std::vector<std::pair<std::string, double>>& metrics);
  void write_line(const std::string& line);
  std::string path_, existing_header_;
  std::vector<std::string> column_names_;
  bool is_csv_ = false;
  int fd_ = -1;
  std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
};

}  // namespace tandem::logs
