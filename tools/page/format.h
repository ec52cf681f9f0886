// Numbers and strings as the pages, charts and tables of `tandem compare` show them.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>

#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

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
/// A run's label within a sentence: "DP, x" becomes "DP (x)", and so of DDP.
std::string in_words(const std::string& label);
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
/// "1.84 (1.80 to 1.88)"
std::string with_interval(const Interval& interval, const std::string& unit = "");
/// "1 device", "2 devices"
std::string plural(int64_t n, const std::string& noun);

/// The kinds of modes, by their keys: "single", "dp...", "ddp_<backend>_...".
bool is_single(const Run& run);
bool is_dp(const Run& run);
bool is_ddp(const Run& run);
/// A DP mode that computes the loss inside the replicas: its key has "loss".
bool has_loss_inside(const Run& run);
/// "mlp, 2 devices, batch 128"
std::string job_name(const Run& run);

}  // namespace tandem::tools::compare
