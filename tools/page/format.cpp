// Converts numbers to text with significant digits, separators and units, and escapes text for HTML.
#include "tandem/tools/page/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tandem::tools::page {
namespace {

/// Returns the number of bytes of the UTF-8 character at text[i]; 0 if the bytes are not valid UTF-8 or a control
/// character.
size_t character_bytes(const std::string& text, size_t i) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(i);
  if (first < 0x80) return first >= 0x20 || first == '\t' || first == '\n' ? 1 : 0;
  const size_t size = first >= 0xc2 && first < 0xe0   ? 2
                      : first >= 0xe0 && first < 0xf0 ? 3
                      : first >= 0xf0 && first < 0xf5 ? 4
                                                      : 0;
  if (size == 0 || i + size > text.size()) return 0;
  for (size_t k = 1; k < size; ++k)
    if ((byte(i + k) & 0xc0) != 0x80) return 0;
  return size;
}

std::string add_separators(std::string digits) {
  const size_t sign = !digits.empty() && digits[0] == '-' ? 1 : 0;
  size_t end = digits.find('.');
  if (end == std::string::npos) end = digits.size();
  for (size_t at = end; at > sign + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

template <size_t N>
std::string format_with_unit(double value, const std::array<std::pair<double, const char*>, N>& units) {
  if (!std::isfinite(value)) return "no number";
  for (const auto& [size, name] : units)
    if (std::abs(value) >= 0.9995 * size) return format_number(value / size) + " " + name;
  return format_number(value / units.back().first) + " " + units.back().second;
}

}  // namespace

size_t character_count(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string escape_html(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t size = character_bytes(text, i);
    if (size == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD, the replacement character
      ++i;
      continue;
    }
    switch (text[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out.append(text, i, size);
    }
    i += size;
  }
  return out;
}

std::string format_number(double value, int digits) {
  if (std::isnan(value)) return "no number";
  if (std::isinf(value)) return value < 0 ? "-∞" : "∞";
  if (value == 0) return "0";
  char text[64];
  std::snprintf(text, sizeof text, "%.*e", digits - 1, value);
  // Number of digits before the decimal point, after rounding.
  const int before = std::atoi(std::strchr(text, 'e') + 1) + 1;
  if (before < -5 || before > 15) return text;
  if (before > digits) {
    const double unit = std::pow(10.0, before - digits);
    value = std::round(value / unit) * unit;
  }
  std::snprintf(text, sizeof text, "%.*f", std::max(0, digits - before), value);
  return add_separators(text);
}

std::string format_short_number(double value) {
  std::string text = format_number(value, 6);
  if (text.find('.') == std::string::npos || text.find('e') != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string format_integer(int64_t value) { return add_separators(std::to_string(value)); }

std::string format_duration(double seconds) {
  if (seconds == 0) return "0 ms";
  return format_with_unit(
      seconds, std::array<std::pair<double, const char*>, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}});
}

std::string format_byte_size(double bytes) {
  if (std::abs(bytes) < 1024) return format_short_number(bytes) + " B";
  return format_with_unit(bytes, std::array<std::pair<double, const char*>, 3>{
                                     {{1024.0 * 1024 * 1024, "GiB"}, {1024.0 * 1024, "MiB"}, {1024, "KiB"}}});
}

std::string format_bandwidth(double bytes_per_second) {
  return format_with_unit(bytes_per_second, std::array<std::pair<double, const char*>, 4>{
                                                {{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}});
}

std::string format_percent(double part) {
  if (std::isnan(part)) return "no number";
  if (part == 0) return "0 %";
  char text[32];
  std::snprintf(text, sizeof text, std::abs(part) < 0.0995 ? "%.1f %%" : "%.0f %%", 100 * part);
  return text;
}

std::string pluralize(int64_t n, const std::string& noun) {
  return str_cat(format_integer(n), " ", noun, n == 1 ? "" : "s");
}

}  // namespace tandem::tools::page
