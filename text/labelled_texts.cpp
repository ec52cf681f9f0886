// Implements read_labelled_texts for JSON Lines, tab-separated and CSV files.
#include "tandem/text/labelled_texts.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <unordered_map>

#include "tandem/core/internal.h"
#include "tandem/data/csv/csv_fields.h"
#include "tandem/serialize/file.h"
#include "tandem/text/json_line.h"

namespace tandem::text {
namespace {

using data::detail::quote_text;
constexpr const char* kOp = "read_labelled_texts";

/// Returns the position of the first byte that is not a part of valid UTF-8; npos if there is none.
size_t find_invalid_utf8(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (size_t i = 0; i < text.size();) {
    const unsigned c = byte(i), second = byte(i + 1);
    const size_t length = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    bool valid = c < 0x80 || (c >= 0xc2 && length > 0);
    for (size_t k = 1; k < length; ++k) valid = valid && (byte(i + k) & 0xc0) == 0x80;
    if (c == 0xe0 && second < 0xa0) valid = false;   // longer than necessary
    if (c == 0xed && second >= 0xa0) valid = false;  // surrogates
    if (c == 0xf0 && second < 0x90) valid = false;
    if (c == 0xf4 && second >= 0x90) valid = false;  // beyond U+10FFFF
    if (!valid) return i;
    i += length;
  }
  return std::string_view::npos;
}

/// Collects rows, and gives numbers to their labels.
class RowCollector {
 public:
  RowCollector(std::string name, const LabelledTextsOptions& options) : name_(std::move(name)), options_(options) {
    for (const std::string& label : options.label_names())
      TANDEM_CHECK(numbers_.emplace(label, static_cast<int64_t>(numbers_.size())).second, kOp, ": label_names has '",
                   label, "' twice; accepted: each label once");
    columns_ = {options.text_column()};
    if (!options.pair_column().empty()) columns_.push_back(options.pair_column());
    columns_.push_back(options.label_column());
    for (size_t i = 0; i < columns_.size(); ++i)
      TANDEM_CHECK(std::count(columns_.begin(), columns_.end(), columns_[i]) == 1 && !columns_[i].empty(), kOp,
                   ": two of the columns text, pair and label are named '", columns_[i],
                   "'; accepted: different names that are not empty");
  }
  /// Names of the columns of a row: the text, the pair if there is one, and the label.
  const std::vector<std::string>& columns() const { return columns_; }
  size_t line = 0;  // number of the line in the file, from 1, for messages

  [[noreturn]] void fail(const std::string& message) const {
    TANDEM_FAIL(kOp, ": ", name_, ", line ", line, ": ", message);
  }
  void check_utf8(std::string_view text) const {
    const size_t at = find_invalid_utf8(text);
    if (at != std::string_view::npos)
      fail("byte " + std::to_string(at + 1) + " of the line is not valid UTF-8; accepted: text in UTF-8");
  }
  /// Adds a row with the values of columns(); nullopt for a value that the row lacks.
  void add(std::vector<std::optional<std::string>> values) {
    for (size_t i = 0; i + 1 < values.size(); ++i)
      if (!values[i]) fail("there is no '" + columns_[i] + "', the column of the texts; accepted: rows that have it");
    const std::optional<std::string>& label = values.back();
    if (!label && (options_.require_labels() || !labels_.empty()))
      fail("there is no '" + columns_.back() + "', the column of the labels; accepted: rows that have it" +
           (options_.require_labels() ? ", or the option require_labels(false)" : ", or no row with a label"));
    if (label && *label == options_.no_label()) {
      ++rows_.num_left_out;
      return;
    }
    if (label) {
      if (labels_.size() != rows_.texts.size()) fail("the row has a label, but earlier rows have none");
      if (!options_.label_names().empty() && !numbers_.contains(*label))
        fail("the label is " + quote_text(*label) + "; accepted: " + list_labels());
      labels_.push_back(*label);
    }
    rows_.texts.push_back(std::move(*values[0]));
    if (values.size() == 3) rows_.pairs.push_back(std::move(*values[1]));
  }
  LabelledTexts finish() {
    TANDEM_CHECK(!rows_.texts.empty(), kOp, ": ", name_, " has no rows", rows_.num_left_out > 0 ? " with a label" : "",
                 "; accepted: one row or more");
    rows_.label_names = options_.label_names();
    if (rows_.label_names.empty()) {
      rows_.label_names = labels_;
      std::sort(rows_.label_names.begin(), rows_.label_names.end());
      rows_.label_names.erase(std::unique(rows_.label_names.begin(), rows_.label_names.end()), rows_.label_names.end());
      for (size_t i = 0; i < rows_.label_names.size(); ++i)
        numbers_.emplace(rows_.label_names[i], static_cast<int64_t>(i));
    }
    rows_.labels.reserve(labels_.size());
    for (const std::string& label : labels_) rows_.labels.push_back(numbers_.at(label));
    return std::move(rows_);
  }

 private:
  std::string list_labels() const {
    std::string list;
    for (const std::string& label : options_.label_names()) list += (list.empty() ? "'" : ", '") + label + "'";
    return list;
  }
  std::string name_;
  const LabelledTextsOptions& options_;
  std::vector<std::string> columns_;
  std::unordered_map<std::string, int64_t> numbers_;
  std::vector<std::string> labels_;
  LabelledTexts rows_;
};

/// Calls f with each line that is not empty, without its line end.
void visit_lines(std::string_view text, RowCollector& rows, const std::function<void(std::string_view)>& f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++rows.line;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) f(line);
  }
}

/// Finds the wanted columns in the first record of a table.
class TableColumns {
 public:
  void read_header(const std::vector<std::string>& header, const LabelledTextsOptions& options,
                   const RowCollector& rows) {
    num_fields_ = header.size();
    for (const std::string& column : rows.columns()) {
      const auto found = std::find(header.begin(), header.end(), column);
      const bool optional = column == options.label_column() && !options.require_labels();
      if (found == header.end() && !optional) {
        std::string names;
        for (const std::string& each : header) names += (names.empty() ? "" : ", ") + quote_text(each);
        rows.fail("there is no column " + quote_text(column) + "; the columns are " + names);
      }
      if (found != header.end() && std::find(found + 1, header.end(), column) != header.end())
        rows.fail("there are two columns " + quote_text(column) + "; accepted: one");
      positions_.push_back(static_cast<size_t>(found - header.begin()));  // num_fields_ if it is missing
    }
  }
  bool has_header() const { return num_fields_ > 0; }
  void add_row(const std::vector<std::string>& fields, RowCollector& rows) const {
    if (fields.size() != num_fields_)
      rows.fail("there are " + std::to_string(fields.size()) + " fields; accepted: " + std::to_string(num_fields_) +
                ", as many as the first line has");
    std::vector<std::optional<std::string>> values(positions_.size());
    for (size_t i = 0; i < positions_.size(); ++i)
      if (positions_[i] < num_fields_) values[i] = fields[positions_[i]];
    rows.add(std::move(values));
  }

 private:
  size_t num_fields_ = 0;
  std::vector<size_t> positions_;
};

void parse_json_lines(std::string_view text, RowCollector& rows) {
  visit_lines(text, rows, [&](std::string_view line) {
    rows.check_utf8(line);
    std::vector<std::optional<std::string>> values;
    try {
      values = detail::parse_json_line(line, rows.columns());
    } catch (const Error& error) {
      rows.fail(error.what());
    }
    rows.add(std::move(values));
  });
}
void parse_tsv(std::string_view text, const LabelledTextsOptions& options, RowCollector& rows) {
  TableColumns columns;
  std::vector<std::string> fields;
  visit_lines(text, rows, [&](std::string_view line) {
    rows.check_utf8(line);
    fields.clear();
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      fields.emplace_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
    columns.has_header() ? columns.add_row(fields, rows) : columns.read_header(fields, options, rows);
  });
}
void parse_csv_texts(std::string_view text, const std::string& name, const LabelledTextsOptions& options,
                     RowCollector& rows) {
  data::detail::CsvFields csv(text, name, ',', /*skip_initial_space=*/false);
  TableColumns columns;
  std::vector<std::string> fields;
  while (csv.begin_record()) {
    ++rows.line;  // number of the record: fields in quotes may contain line ends
    fields.clear();
    do {
      fields.emplace_back(csv.read_field());
      rows.check_utf8(fields.back());
    } while (csv.begin_next_field());
    columns.has_header() ? columns.add_row(fields, rows) : columns.read_header(fields, options, rows);
  }
}

}  // namespace

LabelledTexts detail::parse_labelled_texts(std::string_view bytes, const std::string& name,
                                           const LabelledTextsOptions& options) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  RowCollector rows(name, options);
  if (bytes.substr(0, kByteOrderMark.size()) == kByteOrderMark) bytes.remove_prefix(kByteOrderMark.size());
  switch (options.format()) {
    case LabelledTextsFormat::json_lines: parse_json_lines(bytes, rows); break;
    case LabelledTextsFormat::tsv: parse_tsv(bytes, options, rows); break;
    case LabelledTextsFormat::csv: parse_csv_texts(bytes, name, options, rows); break;
    case LabelledTextsFormat::by_extension: TANDEM_FAIL(kOp, ": the format of ", name, " is not known");
  }
  return rows.finish();
}

LabelledTexts read_labelled_texts(const std::string& path, const LabelledTextsOptions& options) {
  using Format = LabelledTextsFormat;
  LabelledTextsOptions chosen = options;
  if (options.format() == Format::by_extension) {
    const std::string extension = std::filesystem::path(path).extension().string();
    const std::unordered_map<std::string, Format> known = {{".jsonl", Format::json_lines},
                                                           {".json", Format::json_lines},
                                                           {".tsv", Format::tsv},
                                                           {".txt", Format::tsv},
                                                           {".csv", Format::csv}};
    TANDEM_CHECK(known.contains(extension), kOp, ": the form of ", path, " is not known from the extension '",
                 extension, "'; accepted: .jsonl, .json, .tsv, .txt, .csv, or the option format");
    chosen.format(known.at(extension));
  }
  const tandem::detail::FileSource file(kOp, path);
  TANDEM_CHECK(file.size() > 0, kOp, ": ", path, " is empty; accepted: a file with one row or more");
  const std::shared_ptr<char> bytes = file.map_file();
  return detail::parse_labelled_texts({bytes.get(), file.size()}, path, chosen);
}

std::optional<int64_t> multinli_num_rows(const std::string& path) {
  const std::filesystem::path p(path);
  const std::string name = p.filename().string(), stem = p.stem().string();
  const bool is_original = p.extension() == ".jsonl" || p.extension() == ".txt";
  const auto is = [&](const std::string& part) {
    return (is_original && stem == "multinli_1.0_" + part) || (part != "train" && name == part + ".tsv");
  };
  if (is("train") || (name == "train.tsv" && p.parent_path().filename() == "MNLI")) return 392702;
  if (is("dev_matched")) return 9815;
  if (is("dev_mismatched")) return 9832;
  return {};
}

}  // namespace tandem::text
