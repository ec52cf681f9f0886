// Implements CsvFields. Numbers are parsed in place by std::from_chars, so that reading a field of numbers allocates
// nothing.
#include "tandem/data/csv/csv_fields.h"

#include <charconv>
#include <cmath>

#include "tandem/core/error.h"
#include "tandem/core/internal.h"

namespace tandem::data {

std::string detail::quote_text(std::string_view text) {
  constexpr size_t kMaxLength = 40;
  std::string quoted = "'";
  for (const char c : text.substr(0, kMaxLength)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 32 && byte != 127) {
      quoted += c;
    } else {
      constexpr const char* kDigits = "0123456789abcdef";
      quoted += std::string("\\x") + kDigits[byte / 16] + kDigits[byte % 16];
    }
  }
  return quoted + (text.size() > kMaxLength ? "...'" : "'");
}

detail::CsvFields::CsvFields(std::string_view text, const std::string& name, char separator, bool skip_initial_space)
    : begin_(text.data()),
      end_(text.data() + text.size()),
      at_(begin_),
      field_start_(begin_),
      record_start_(begin_),
      separator_(separator),
      skip_initial_space_(skip_initial_space),
      name_(name) {
  const auto starts_with = [&](std::string_view bytes) { return text.substr(0, bytes.size()) == bytes; };
  TANDEM_CHECK(!starts_with("\xff\xfe") && !starts_with("\xfe\xff"), "read_csv: ", name_,
               " is encoded in UTF-16, by its first two bytes; accepted: UTF-8 or another extension of ASCII");
  if (starts_with("\xef\xbb\xbf")) at_ += 3;  // byte order mark of UTF-8
}

bool detail::CsvFields::begin_record() {
  while (at_ != end_ && (*at_ == '\n' || *at_ == '\r')) ++at_;  // also skips empty lines
  record_start_ = field_start_ = at_;
  column_ = 0;
  if (at_ == end_) return false;
  if (skip_initial_space_) at_ = skip_spaces(at_);
  return true;
}

bool detail::CsvFields::begin_next_field() {
  if (at_ == end_ || *at_ != separator_) return false;
  field_start_ = ++at_;
  ++column_;
  if (skip_initial_space_) at_ = skip_spaces(at_);
  return true;
}

std::string_view detail::CsvFields::read_field() {
  if (at_ != end_ && *at_ == '"') return read_quoted_field();
  const char* const start = at_;
  while (!is_at_field_end(at_)) ++at_;
  return {start, static_cast<size_t>(at_ - start)};
}

std::string_view detail::CsvFields::read_quoted_field() {
  const char* part = ++at_;  // first character that is not yet in unquoted_
  unquoted_.clear();
  bool has_doubled_quotes = false;
  while (true) {
    while (at_ != end_ && *at_ != '"') ++at_;
    if (at_ == end_)
      fail_in_field("the quote before " + quote_text({part, static_cast<size_t>(end_ - part)}) +
                    " is not closed; accepted: a quote at the end of the field, and two quotes for a quote in it");
    if (at_ + 1 == end_ || at_[1] != '"') break;
    has_doubled_quotes = true;
    unquoted_.append(part, at_ + 1);
    part = at_ += 2;
  }
  std::string_view text(part, static_cast<size_t>(at_ - part));
  if (has_doubled_quotes) text = unquoted_.append(text);
  ++at_;
  if (!is_at_field_end(at_)) {
    const char* rest_end = at_;
    while (!is_at_field_end(rest_end)) ++rest_end;
    fail_in_field("the quoted field " + quote_text(text) + " is followed by " +
                  quote_text({at_, static_cast<size_t>(rest_end - at_)}) +
                  "; accepted: a separator or the end of the line, and two quotes for a quote in the field");
  }
  return text;
}

void detail::CsvFields::skip_field() {
  if (at_ != end_ && *at_ == '"')
    read_quoted_field();
  else
    while (!is_at_field_end(at_)) ++at_;
}

const char* detail::parse_number(const char* begin, const char* end, double& value) {
  if (end - begin > 1 && *begin == '+' && begin[1] != '-') ++begin;  // from_chars accepts no plus sign
  const auto [p, error] = std::from_chars(begin, end, value);
  if (error == std::errc()) return p;
  if (error != std::errc::result_out_of_range) return nullptr;
  long double wide = 0;  // has a wider range, which shows whether the number is too small or too large
  if (std::from_chars(begin, end, wide).ec != std::errc() || std::abs(wide) > 1) return nullptr;
  value = static_cast<double>(wide);
  return p;
}

bool detail::CsvFields::try_read_number(double& value) {
  const char* p = parse_number(skip_spaces(at_), end_, value);
  if (!p || std::isnan(value)) return false;
  p = skip_spaces(p);
  if (!is_at_field_end(p)) return false;
  at_ = p;
  return true;
}

size_t detail::CsvFields::count_lines_until(const char* p) const {
  size_t line = 1;
  for (const char* c = begin_; c != p; ++c) line += *c == '\n' || (*c == '\r' && (c + 1 == end_ || c[1] != '\n'));
  return line;
}
std::string detail::CsvFields::describe_column() const {
  const std::string number = "column " + std::to_string(column_ + 1);
  return column_ < column_names_.size() ? number + " (" + quote_text(column_names_[column_]) + ")" : number;
}
void detail::CsvFields::fail_in_field(const std::string& message) const {
  TANDEM_FAIL("read_csv: ", name_, ", line ", count_lines_until(field_start_), ", ", describe_column(), ": ", message);
}
void detail::CsvFields::fail_in_record(const std::string& message) const {
  TANDEM_FAIL("read_csv: ", name_, ", line ", count_lines_until(record_start_), ": ", message);
}

}  // namespace tandem::data
