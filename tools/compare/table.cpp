// Implements format_table(): formats the 80-column table that `tandem compare` prints above the verdict.
#include <algorithm>
#include <cstdio>
#include <sstream>

#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

constexpr size_t kTableWidth = 80;

/// Truncates or pads text to `width` characters. Line breaks and other control characters become spaces.
std::string align_left(const std::string& text, size_t width) {
  std::string out;
  size_t used = 0;
  for (const char c : text) {
    if ((c & 0xc0) != 0x80 && used++ == width) break;
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  }
  return out + std::string(width - std::min(width, page::character_count(out)), ' ');
}
std::string align_right(const std::string& text, size_t width) {
  return page::character_count(text) < width ? std::string(width - page::character_count(text), ' ') + text : text;
}

std::string wrap_text(const std::string& text) {
  std::istringstream words(text);
  std::string out, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && page::character_count(line) + 1 + page::character_count(word) > kTableWidth) {
      out += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return line.empty() ? out : out + line + "\n";
}

/// Returns the second line of the heading of the column of speedups.
std::string describe_intervals(const Report& report, const std::string& model, int64_t batch) {
  const Comparison comparison = compare_modes(report, model, batch);
  return comparison.has_intervals() ? "(joint 95 % interval)" : str_cat("(n = ", comparison.n, ": no interval)");
}

std::string format_row(const Run& run) {
  const std::string begin = align_left(run.label, 38) + align_right(format_integer(run.devices), 3);
  if (!run.failed.empty())
    return begin + "  " + align_left("failed: " + run.failed, kTableWidth - page::character_count(begin) - 2) + "\n";
  int64_t bytes = 0, peak = 0;
  for (const TransferTotals& transfers : run.transfers) bytes += transfers.bytes;
  for (const Memory& memory : run.memory) peak = std::max(peak, memory.peak);
  const auto mib = [](int64_t n, bool known) {
    return known ? format_number(static_cast<double>(n) / (1 << 20)) : std::string("-");
  };
  const auto decimals = [](double value) {
    char text[32];
    std::snprintf(text, sizeof text, value < 10 ? "%.2f" : "%.1f", value);
    return std::string(text);
  };
  const Interval& speedup = run.speedup;
  std::string times = is_single(run) ? "1" : decimals(speedup.median);
  if (!is_single(run))
    times += speedup.is_valid() ? str_cat(" (", decimals(speedup.low), "-", decimals(speedup.high), ")") : " (none)";
  return begin + align_right(format_number(1000 * step_seconds(run)), 8) + align_right(times, 18) +
         align_right(mib(bytes, !run.transfers.empty()), 6) + align_right(mib(peak, !run.memory.empty()), 7) + "\n";
}

}  // namespace

std::string format_table(const Report& report) {
  std::string out;
  size_t shown = 0;
  for (const std::string& model : list_models(report)) {
    const int64_t batch = main_batch(report, model);
    out += align_left(str_cat(model, ", batch ", format_integer(batch)), 37) + align_right("dev", 4) +
           align_right("ms/step", 8) + align_right("times one device", 18) + align_right("MiB", 6) +
           align_right("peak", 7) + "\n" + align_right(describe_intervals(report, model, batch), 67) +
           align_right("moved", 6) + align_right("MiB", 7) + "\n";
    for (const Run& run : report.runs) {
      if (run.model != model || run.batch != batch || run.scaling == "weak") continue;
      out += format_row(run);
      ++shown;
    }
    out += "\n";
  }
  // Explains the first device's memory for each model's largest number of devices.
  std::map<std::string, std::string> excess_by_model;
  for (const JobRuns& job : main_jobs(report))
    if (const std::string text = describe_first_device_excess(job); !text.empty()) excess_by_model[job.model] = text;
  for (const auto& [model, text] : excess_by_model) out += wrap_text(text);
  size_t agreeing = 0, compared = 0;
  for (const Run& run : report.runs)
    for (const Agreement& agreement : run.agreement) {
      ++compared;
      if (agreement.largest_difference == 0 && agreement.first_difference.empty())
        ++agreeing;
      else
        out += wrap_text(str_cat(format_label(run.label), ", ", job_name(run),
                                 ": its parameters differ from those of the reference by ",
                                 format_number(agreement.largest_difference), "."));
    }
  if (compared > 0)
    out += wrap_text(
        str_cat(agreeing, " of ", compared, " runs end with the parameters of their reference to the last bit."));
  if (shown < report.runs.size())
    out += wrap_text(str_cat(report.runs.size() - shown, " more runs, with other batches, are on the page."));
  out += wrap_text(describe_unpaired_times(report));
  if (!report.complete) out += wrap_text("This report is incomplete: " + report.incomplete_because);
  return out;
}

}  // namespace tandem::tools::compare
