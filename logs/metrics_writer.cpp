// MetricsWriter: writes rows as CSV or as JSON lines, with the fewest digits that restore each number.
#include "tandem/logs/metrics_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

#include "tandem/core/error.h"

namespace tandem::logs {
namespace {

using Metrics = std::vector<std::pair<std::string, double>>;

/// Formats a number with the fewest digits that restore it.
std::string format_shortest(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}
/// Formats seconds, rounded to 0.1 ms.
std::string format_seconds(double seconds) { return format_shortest(std::round(seconds * 1e4) / 1e4); }

/// Quotes a name if RFC 4180 requires it.
std::string quote_csv_field(const std::string& name) {
  if (name.find_first_of(",\"\r\n") == std::string::npos) return name;
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}
std::string json_string(const std::string& name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char kHex[] = "0123456789abcdef";
      quoted += std::string("\\u00") + kHex[c >> 4] + kHex[c & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}
std::string format_json_row(int64_t step, double seconds, const Metrics& metrics) {
  std::string row = "{\"step\": ";  // append() and not +, because gcc 12 warns at -O3
  row.append(std::to_string(step)).append(", \"seconds\": ").append(format_seconds(seconds));
  for (const auto& [name, value] : metrics)
    row += ", " + json_string(name) + ": " + (std::isfinite(value) ? format_shortest(value) : "null");
  return row + "}\n";
}

std::string join_names(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}
void check_metric_names(const Metrics& metrics) {
  for (auto at = metrics.begin(); at != metrics.end(); ++at) {
    const std::string& name = at->first;
    TANDEM_CHECK(name != "step" && name != "seconds", "MetricsWriter: '", name,
                 "' is a column already, which the writer adds itself; use another name");
    TANDEM_CHECK(std::none_of(metrics.begin(), at, [&](const auto& other) { return other.first == name; }),
                 "MetricsWriter: '", name, "' occurs twice in the row; each name must occur once");
  }
}

}  // namespace

MetricsWriter::MetricsWriter(std::string path, bool append) : path_(std::move(path)), is_csv_(path_.ends_with(".csv")) {
  TANDEM_CHECK(is_csv_ || path_.ends_with(".jsonl"), "MetricsWriter: the format of ", path_,
               " is unknown; accepted: names that end in .csv or .jsonl");
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC), 0666);
  TANDEM_CHECK(fd_ >= 0, "MetricsWriter: cannot write ", path_, ": ", std::strerror(errno));
  if (!append) return;
  std::ifstream file(path_);
  if (is_csv_) std::getline(file, existing_header_);
  file.clear();
  if (file.seekg(-1, std::ios::end) && file.get() != '\n')
    write_line("\n");  // ends the last row, if a crash cut it off
}
MetricsWriter::~MetricsWriter() { ::close(fd_); }

void MetricsWriter::add(int64_t step, const Metrics& metrics) {
  check_metric_names(metrics);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_time_).count();
  if (!is_csv_) return write_line(format_json_row(step, seconds, metrics));
  if (column_names_.empty()) write_header(metrics);
  write_line(format_csv_row(step, seconds, metrics));
}

void MetricsWriter::write_header(const Metrics& metrics) {
  std::string header = "step,seconds";
  for (const auto& [name, value] : metrics) header.append(",").append(quote_csv_field(name));
  TANDEM_CHECK(existing_header_.empty() || existing_header_ == header, "MetricsWriter: ", path_, " has the columns ",
               existing_header_, ", and the row to append has ", header,
               "; accepted: the same columns, or another file");
  if (existing_header_.empty()) write_line(header + "\n");
  for (const auto& [name, value] : metrics) column_names_.push_back(name);
}

std::string MetricsWriter::format_csv_row(int64_t step, double seconds, const Metrics& metrics) {
  for (const auto& [name, value] : metrics)
    TANDEM_CHECK(std::find(column_names_.begin(), column_names_.end(), name) != column_names_.end(),
                 "MetricsWriter: ", path_, " has no column '", name, "'; accepted: those of the first row (",
                 join_names(column_names_), "), or a .jsonl file, whose rows may differ");
  std::string row = std::to_string(step) + "," + format_seconds(seconds);
  for (const std::string& column : column_names_) {
    const auto found =
        std::find_if(metrics.begin(), metrics.end(), [&](const auto& metric) { return metric.first == column; });
    row += ',';
    if (found != metrics.end()) row += format_shortest(found->second);
  }
  return row + "\n";
}

void MetricsWriter::write_line(const std::string& line) {
  for (size_t at = 0; at < line.size();) {
    const ssize_t written = ::write(fd_, line.data() + at, line.size() - at);
    if (written < 0 && errno == EINTR) continue;
    TANDEM_CHECK(written >= 0, "MetricsWriter: cannot write ", path_, ": ", std::strerror(errno));
    at += static_cast<size_t>(written);
  }
}

}  // namespace tandem::logs
