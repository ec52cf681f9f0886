// MetricsWriter: the figures of each step of a training, as a table in a file.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/durations.h"

namespace tandem::logs {

/// Writes a row for each step, as CSV (for spreadsheets and pandas.read_csv) or as JSON Lines (pandas.read_json(path,
/// lines=True)), whichever the file's ending says:
///
///     logs::MetricsWriter log("run.csv");
///     log.add(step, {{"loss", loss.item<double>()}, {"rate", 1e-3}});
///
/// gives
///
///     step,seconds,loss,rate
///     1,0.0213,0.6931,0.001
///
/// where `seconds` counts from when the writer was made. Numbers have as many digits as give the same number back. Each
/// row is in the file when add() returns, so that a crash loses none. One thread may use a writer at a time; in a job
/// of several ranks let rank 0 alone have one.
class MetricsWriter {
 public:
  /// @param path    ends in .csv or .jsonl. What is there is overwritten, unless
  /// @param append  is set, for a training that goes on: then rows are added to it
  /// @throws Error  for another ending, and with the system's reason
  explicit MetricsWriter(std::string path, bool append = false);
  ~MetricsWriter();
  MetricsWriter(const MetricsWriter&) = delete;

  /// A row. The first one's names are the columns of a .csv file: later rows may leave some out, which stay empty, but
  /// bring no new ones. Rows of a .jsonl file may have any names. NaN is nan in CSV and null in JSON, which has no NaN;
  /// so are infinities there.
  /// @throws Error  for a name that stands twice, is `step` or `seconds`, or is no column; when the file to append to
  ///                has other columns; and with the system's reason
  void add(int64_t step, const std::vector<std::pair<std::string, double>>& metrics);
  const std::string& path() const { return path_; }

 private:
  std::string csv_row(int64_t step, double seconds, const std::vector<std::pair<std::string, double>>& metrics);
  void write_header(const std::vector<std::pair<std::string, double>>& metrics);
  void write(const std::string& line);
  std::string path_, header_of_file_;
  std::vector<std::string> columns_;
  bool csv_ = false;
  int fd_ = -1;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace tandem::logs
