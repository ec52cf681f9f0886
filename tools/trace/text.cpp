// Formats the tables of a trace as text.
#include <algorithm>
#include <cstdio>

#include "tandem/tools/page/format.h"
#include "tandem/tools/trace/tables.h"

namespace tandem::tools::trace {
namespace {

/// Formats a value with three digits, an SI prefix and a unit, in at most 8 characters: "1.25 ms", "34.0 G".
std::string format_si(double value, const char* unit = "", double smallest = 1) {
  static const char* const kPrefixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P"};
  if (value <= 0) return "-";
  int prefix = 3;
  for (; value >= 999.5 && prefix < 8; ++prefix) value /= 1e3;
  for (; value < smallest && prefix > 0; --prefix) value *= 1e3;
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s%s",
                value < 9.995   ? 2
                : value < 99.95 ? 1
                                : 0,
                value, kPrefixes[prefix], unit);
  return text;
}
std::string time_text(int64_t nanoseconds) { return format_si(1e-9 * static_cast<double>(nanoseconds), "s"); }
std::string share_text(int64_t time, int64_t wall_time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%",
                wall_time > 0 ? 100 * static_cast<double>(time) / static_cast<double>(wall_time) : 0);
  return text;
}
std::string rate_text(double amount, int64_t time) {
  return time > 0 ? format_si(amount / (1e-9 * static_cast<double>(time))) : "-";
}

/// Shortens a name to `width` characters, with two dots in place of its middle.
std::string pad_or_truncate(const std::string& name, size_t width) {
  if (name.size() <= width) return name;
  const size_t end = (width - 2) / 2, start = width - 2 - end;
  return name.substr(0, start) + ".." + name.substr(name.size() - end);
}
/// Formats a line: a name of 32 columns, then numbers that are right-aligned in columns of these widths.
std::string format_line(const std::string& name, const std::vector<std::pair<std::string, int>>& cells) {
  char text[64];
  std::snprintf(text, sizeof text, "%-32s", name.c_str());
  std::string line = text;
  for (const auto& [cell, width] : cells) {
    std::snprintf(text, sizeof text, " %*s", width, cell.c_str());
    line += text;
  }
  return line + "\n";
}

constexpr size_t kNameWidth = 32, kMaxRows = 50;

template <class Row> std::string format_rows(const std::vector<Row>& rows, const auto& format_row) {
  std::string out;
  for (size_t i = 0; i < std::min(rows.size(), kMaxRows); ++i) out += format_row(rows[i]);
  if (rows.size() > kMaxRows)
    out +=
        "and " + std::to_string(rows.size() - kMaxRows) + " rows with less time; --json and --report have them all\n";
  return out;
}

std::string format_ops(const std::vector<OpRow>& rows, int64_t wall_time, bool has_gpu, bool with_kernels) {
  const auto line = [&](const OpRow& row, const std::string& name) {
    const int64_t work = row.gpu_time > 0 ? row.gpu_time : row.self_time;
    std::vector<std::pair<std::string, int>> cells = {
        {std::to_string(row.num_calls), 7},
        {time_text(row.self_time), 8},
        {share_text(row.self_time, wall_time), 6},
        {time_text(row.total_time), 8},
        {share_text(row.total_time, wall_time), 6},
        {time_text(row.total_time / std::max<int64_t>(row.num_calls, 1)), 8},
        {format_si(static_cast<double>(row.bytes), "B"), 7},
        {rate_text(static_cast<double>(row.bytes), work), 6},
        {rate_text(row.flops, work), 6}};
    if (has_gpu) cells.emplace_back(time_text(row.gpu_time), 8);
    return format_line(pad_or_truncate(name, kNameWidth), cells);
  };
  std::string out = format_line("operation", {{"calls", 7},
                                              {"self", 8},
                                              {"share", 6},
                                              {"total", 8},
                                              {"share", 6},
                                              {"mean", 8},
                                              {"bytes", 7},
                                              {"B/s", 6},
                                              {"FLOP/s", 6}});
  if (has_gpu) out.insert(out.size() - 1, "   on GPU");
  return out + format_rows(rows, [&](const OpRow& row) {
           std::string text = line(row, row.name);
           if (!row.shapes.empty()) text += "    reads " + row.shapes + "\n";
           if (with_kernels)
             for (const OpRow& kernel : row.kernels) text += line(kernel, "    " + kernel.name);
           return text;
         });
}
std::string format_modules(const std::vector<ModuleRow>& rows, int64_t wall_time, bool has_gpu) {
  std::string out = format_line("module", {{"calls", 7},
                                           {"self", 8},
                                           {"share", 6},
                                           {"total", 8},
                                           {"share", 6},
                                           {"forward", 8},
                                           {"backward", 8},
                                           {"bytes", 7}});
  if (has_gpu) out.insert(out.size() - 1, "   on GPU");
  return out + format_rows(rows, [&](const ModuleRow& row) {
           std::vector<std::pair<std::string, int>> cells = {{std::to_string(row.num_calls), 7},
                                                             {time_text(row.self_time), 8},
                                                             {share_text(row.self_time, wall_time), 6},
                                                             {time_text(row.total_time()), 8},
                                                             {share_text(row.total_time(), wall_time), 6},
                                                             {time_text(row.forward), 8},
                                                             {time_text(row.backward), 8},
                                                             {format_si(static_cast<double>(row.bytes), "B"), 7}};
           if (has_gpu) cells.emplace_back(time_text(row.gpu_time), 8);
           return format_line(pad_or_truncate(row.path, kNameWidth), cells);
         });
}
std::string format_phases(const std::vector<PhaseRow>& rows, int64_t wall_time, bool has_gpu) {
  std::string out = format_line("phase", {{"calls", 7}, {"self", 8}, {"share", 6}, {"total", 8}, {"share", 6}});
  if (has_gpu) out.insert(out.size() - 1, "   on GPU");
  return out + format_rows(rows, [&](const PhaseRow& row) {
           std::vector<std::pair<std::string, int>> cells = {{std::to_string(row.num_calls), 7},
                                                             {time_text(row.self_time), 8},
                                                             {share_text(row.self_time, wall_time), 6},
                                                             {time_text(row.total_time), 8},
                                                             {share_text(row.total_time, wall_time), 6}};
           if (has_gpu) cells.emplace_back(time_text(row.gpu_time), 8);
           return format_line(pad_or_truncate(row.is_span ? "\"" + row.name + "\"" : row.name, kNameWidth), cells);
         });
}

}  // namespace

std::vector<std::string> describe_coverage(const CallTree& tree) {
  const size_t processes = tree.root().children.size();
  const std::string text =
      "Shares are of the wall time, " + time_text(tree.wall_time()) + " from the first to the last event" +
      (processes > 1 ? ", summed over " + std::to_string(processes) + " processes." : ".") +
      (tree.num_threads() > processes ? " Several threads worked at once, so shares can add up to more than 100 %."
                                      : "");
  return {text, "Nothing was recorded for " + time_text(tree.uncovered_time()) + " (" +
                    page::format_percent(static_cast<double>(tree.uncovered_time()) /
                                         static_cast<double>(std::max<int64_t>(tree.wall_time(), 1))) +
                    " of the wall time): the program ran code of its own then, outside of modules, phases and "
                    "operations, or waited."};
}

std::string format_tables(const CallTree& tree, bool with_kernels) {
  const std::vector<OpRow> ops = op_rows(tree);
  const std::vector<ModuleRow> modules = module_rows(tree);
  const bool has_gpu = tree.root().gpu_total_time() > 0;
  std::string out = format_ops(ops, tree.wall_time(), has_gpu, with_kernels);
  if (!modules.empty()) out += "\n" + format_modules(modules, tree.wall_time(), has_gpu);
  out += "\n" + format_phases(phase_rows(tree), tree.wall_time(), has_gpu) + "\n";
  for (const std::string& sentence : describe_coverage(tree)) out += sentence + "\n";
  for (const std::string& name : explain_names(ops, with_kernels)) out += name + "\n";
  return out;
}

}  // namespace tandem::tools::trace
