// Texts of pages, charts and tables: numbers with their units, and strings escaped for HTML.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>

namespace tandem::tools::page {

/// All parts one after the other, as a stream prints them.
template <class... Parts> std::string cat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

/// For text and attributes of HTML and SVG: &, <, > and quotes are escaped; control characters and bytes that are no
/// UTF-8 are replaced.
std::string escape(const std::string& text);

/// Significant digits without an exponent: 1234.5 with 3 is "1,230"; NaN is "no number".
std::string number(double value, int digits = 3);
/// At most six digits, without zeros at the end: 128, 0.25, for numbers that are round.
std::string round_number(double value);
/// "12,345"
std::string count(int64_t value);
/// "1.23 ms"; s, ms, µs or ns, whichever leaves 1 to 999.
std::string duration(double seconds);
/// "1.5 MiB"; GiB, MiB, KiB or B.
std::string byte_size(double bytes);
/// "3.2 GB/s", decimal as links are sold.
std::string bandwidth(double bytes_per_second);
/// "4.2 %" of a part of 1.
std::string percent(double part);
/// "1 device", "2 devices"
std::string plural(int64_t n, const std::string& noun);

}  // namespace tandem::tools::page
