// CsvFields: divides the text of a CSV file into records and fields.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem::data::detail {

/// Reads the fields of a CSV file (RFC 4180) one after another. A quote within a field that does not begin with a quote
/// is an ordinary character.
class CsvFields {
 public:
  /// `name` is the file's name, for messages. `text` must outlive this object.
  CsvFields(std::string_view text, const std::string& name, char separator, bool skip_initial_space);

  /// Moves to the first field of the next record that is not an empty line. Returns false at the end of the text.
  bool begin_record();
  /// Moves past the separator to the next field of the record. Returns false at the end of the record.
  bool begin_next_field();
  /// Returns the field's text without quotes, and moves to its end. The text is valid until the next call.
  std::string_view read_field();
  /// Moves to the end of the field.
  void skip_field();
  /// Reads an unquoted field that is a number other than NaN, and moves to its end. Returns false, and does not move,
  /// if the field is something else.
  bool try_read_number(double& value);

  /// Sets the names of the columns, for messages.
  void set_column_names(const std::vector<std::string>& names) { column_names_ = names; }
  /// Returns the number of the current field's column, and its name: "column 3 ('age')".
  std::string describe_column() const;
  /// Throws an Error that names the file, the line on which the field begins, and the column.
  [[noreturn]] void fail_in_field(const std::string& message) const;
  /// Throws an Error that names the file, and the line on which the record begins.
  [[noreturn]] void fail_in_record(const std::string& message) const;

 private:
  bool is_at_field_end(const char* p) const { return p == end_ || *p == separator_ || *p == '\n' || *p == '\r'; }
  const char* skip_spaces(const char* p) const {
    while (p != end_ && (*p == ' ' || *p == '\t') && *p != separator_) ++p;
    return p;
  }
  std::string_view read_quoted_field();
  size_t count_lines_until(const char* p) const;

  const char *begin_, *end_;
  const char* at_;            // current position
  const char* field_start_;   // first character of the current field
  const char* record_start_;  // first character of the current record
  char separator_;
  bool skip_initial_space_;
  std::string name_;
  std::vector<std::string> column_names_;
  size_t column_ = 0;     // index of the current field in its record
  std::string unquoted_;  // text of a field with doubled quotes
};

/// Parses the number at `begin`, and returns the position after it; null if there is no number, or if float64 cannot
/// hold it. Numbers too small for float64 become 0.
const char* parse_number(const char* begin, const char* end, double& value);

/// Returns `text` in quotes for a message, shortened to 40 characters, with control characters as escapes.
std::string quote_text(std::string_view text);

}  // namespace tandem::data::detail
