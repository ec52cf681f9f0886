// Formats text for pages, charts and tables: numbers with units, and strings escaped for HTML.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>

namespace tandem::tools::page {

/// Returns the concatenation of all parts, each formatted by operator<<.
template <class... Parts> std::string str_cat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// Escapes &, <, > and quotes for use in text and attributes of HTML and SVG. Replaces control characters, except tabs
/// and newlines, and invalid UTF-8 by U+FFFD.
std::string escape_html(const std::string& text);

/// Counts the characters of UTF-8 text.
size_t character_count(const std::string& text);

/// Formats a number with `digits` significant digits: 1234.5 with 3 digits gives "1,230"; NaN gives "no number". Only
/// very small and very large numbers get an exponent.
std::string format_number(double value, int digits = 3);
/// Formats a number with at most six significant digits and no trailing zeros: "128", "0.25".
std::string format_short_number(double value);
/// Formats with thousands separators: "12,345".
std::string format_integer(int64_t value);
/// Formats a time as "1.23 ms", in the largest unit (s, ms, µs or ns) in which the number is at least 1, or else in ns.
std::string format_duration(double seconds);
/// Formats a size as "1.5 MiB", in GiB, MiB, KiB or B.
std::string format_byte_size(double bytes);
/// Formats a bandwidth as "3.2 GB/s". Units are powers of 1000, as in the specifications of links.
std::string format_bandwidth(double bytes_per_second);
/// Formats a fraction as a percentage: 0.042 is "4.2 %".
std::string format_percent(double part);
/// Returns "1 device", "2 devices".
std::string pluralize(int64_t n, const std::string& noun);

}  // namespace tandem::tools::page
