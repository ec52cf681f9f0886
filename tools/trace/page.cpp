// Builds the page of `tandem trace --report`.
#include "tandem/tools/trace/page.h"

#include <algorithm>
#include <cstdio>

#include "tandem/tools/page/flame_graph.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/page.h"

namespace tandem::tools::trace {
namespace {

using Kind = Frame::Kind;
using page::escape_html;
using page::format_duration;
using page::format_integer;
using page::format_percent;
using page::str_cat;

constexpr double kNanosecond = 1e-9;
std::string cell_time(int64_t nanoseconds) {
  return nanoseconds > 0 ? format_duration(kNanosecond * static_cast<double>(nanoseconds)) : "–";
}
std::string cell_share(int64_t time, int64_t of) {
  return of > 0 ? format_percent(static_cast<double>(time) / static_cast<double>(of)) : "–";
}
std::string cell_bytes(int64_t bytes) { return bytes > 0 ? page::format_byte_size(static_cast<double>(bytes)) : "–"; }

/// Colour of a kind of frame.
int kind_style(Kind kind) {
  switch (kind) {
    case Kind::phase: return 1;
    case Kind::span: return 5;
    case Kind::module: return 0;
    case Kind::operation: return 2;
    case Kind::kernel: return 4;
    default: return page::kWaitingStyle;
  }
}
/// Colour of a frame. A kernel in no operation is an operation of its own, as in the table.
int frame_style(const Frame& frame) {
  const bool is_op = frame.kind == Kind::kernel && frame.parent && frame.parent->kind != Kind::operation &&
                     frame.parent->kind != Kind::kernel;
  return kind_style(is_op ? Kind::operation : frame.kind);
}
std::vector<page::Segment> flame_legend() {
  std::vector<page::Segment> entries;
  for (const auto& [name, kind] : {std::pair{"process or thread", Kind::thread}, std::pair{"phase", Kind::phase},
                                   std::pair{"span of the program", Kind::span}, std::pair{"module", Kind::module},
                                   std::pair{"operation", Kind::operation}, std::pair{"kernel", Kind::kernel}}) {
    page::Segment entry;
    entry.name = name, entry.style = kind_style(kind);
    entries.push_back(std::move(entry));
  }
  return entries;
}

/// Returns a frame's name without that of the module that contains it: "conv1" for "Net.conv1" in "Net".
std::string short_name(const Frame& frame) {
  if (frame.kind != Kind::module) return frame.name;
  for (const Frame* above = frame.parent; above; above = above->parent)
    if (above->kind == Kind::module && frame.name.starts_with(above->name + "."))
      return frame.name.substr(above->name.size() + 1);
  return frame.name;
}
/// Converts a frame and its children to frames of the flame graph.
page::FlameFrame to_flame(const Frame& frame, int64_t all) {
  page::FlameFrame out;
  out.name = short_name(frame), out.style = frame_style(frame), out.value = static_cast<double>(frame.total_time);
  out.tooltip = str_cat(frame.name, frame.backward ? " in backward" : "", ": ", cell_time(frame.total_time), ", ",
                        cell_share(frame.total_time, all));
  if (frame.num_calls > 0) out.tooltip += ", " + page::pluralize(frame.num_calls, "call");
  if (!frame.children.empty()) out.tooltip += "; " + cell_time(frame.self_time()) + " of it in nothing below";
  if (frame.gpu_time > 0) out.tooltip += "; " + cell_time(frame.gpu_time) + " on the GPU";
  if (!frame.shapes.empty()) out.tooltip += "; reads " + frame.shapes;
  if (const char* const meaning = explain_name(frame.name)) out.tooltip += str_cat(" (", meaning, ")");
  for (const auto& child : frame.children) out.children.push_back(to_flame(*child, all));
  return out;
}
std::string flame_graph(const CallTree& tree) {
  const Frame* top = &tree.root();  // skips the frame of the process or thread if there is only one
  while (top->children.size() == 1 && (top->kind == Kind::root || top->kind == Kind::process))
    top = top->children[0].get();
  page::FlameGraph graph;
  graph.title = "Time by call stack, added up over all calls";
  graph.description =
      "Each box is a phase, module, operation or kernel, as wide as its time. Boxes below it are what it called";
  graph.root = to_flame(*top, top->total_time);
  graph.legend = flame_legend();
  return render_svg(graph);
}

/// Returns the HTML of a table that is open when the page is.
std::string open_table(const page::Table& table) {
  const std::string html = table.render_html(), closed = "<details>";
  return html.starts_with(closed) ? "<details open>" + html.substr(closed.size()) : html;
}
std::string op_table(const std::vector<OpRow>& rows, int64_t wall_time, bool has_gpu) {
  std::vector<std::string> head = {"Operation", "Kernels", "Calls", "Self", "Share", "Total", "Share", "Mean", "Bytes"};
  if (has_gpu) head.emplace_back("On GPU");
  page::Table table(page::pluralize(static_cast<int64_t>(rows.size()), "operation"), head, 2);
  for (const OpRow& row : rows) {
    std::string kernels;
    for (const OpRow& kernel : row.kernels) kernels += (kernels.empty() ? "" : ", ") + kernel.name;
    std::vector<std::string> cells = {row.shapes.empty() ? row.name : row.name + ", reads " + row.shapes,
                                      kernels,
                                      format_integer(row.num_calls),
                                      cell_time(row.self_time),
                                      cell_share(row.self_time, wall_time),
                                      cell_time(row.total_time),
                                      cell_share(row.total_time, wall_time),
                                      cell_time(row.total_time / std::max<int64_t>(row.num_calls, 1)),
                                      cell_bytes(row.bytes)};
    if (has_gpu) cells.push_back(cell_time(row.gpu_time));
    table.add_row(cells);
  }
  return open_table(table);
}
std::string module_table(const std::vector<ModuleRow>& rows, int64_t wall_time, bool has_gpu) {
  std::vector<std::string> head = {"Module", "Calls",   "Self",     "Share", "Total",
                                   "Share",  "Forward", "Backward", "Bytes"};
  if (has_gpu) head.emplace_back("On GPU");
  page::Table table(page::pluralize(static_cast<int64_t>(rows.size()), "module"), head);
  for (const ModuleRow& row : rows) {
    std::vector<std::string> cells = {row.path,
                                      format_integer(row.num_calls),
                                      cell_time(row.self_time),
                                      cell_share(row.self_time, wall_time),
                                      cell_time(row.total_time()),
                                      cell_share(row.total_time(), wall_time),
                                      cell_time(row.forward),
                                      cell_time(row.backward),
                                      cell_bytes(row.bytes)};
    if (has_gpu) cells.push_back(cell_time(row.gpu_time));
    table.add_row(cells);
  }
  return open_table(table);
}
std::string phase_table(const std::vector<PhaseRow>& rows, int64_t wall_time, bool has_gpu) {
  std::vector<std::string> head = {"Phase", "Calls", "Self", "Share", "Total", "Share"};
  if (has_gpu) head.emplace_back("On GPU");
  page::Table table(page::pluralize(static_cast<int64_t>(rows.size()), "phase"), head);
  for (const PhaseRow& row : rows) {
    std::vector<std::string> cells = {row.is_span ? row.name + " (span of the program)" : row.name,
                                      format_integer(row.num_calls),
                                      cell_time(row.self_time),
                                      cell_share(row.self_time, wall_time),
                                      cell_time(row.total_time),
                                      cell_share(row.total_time, wall_time)};
    if (has_gpu) cells.push_back(cell_time(row.gpu_time));
    table.add_row(cells);
  }
  return open_table(table);
}

}  // namespace

std::string describe_gpu(const std::string& device, const GpuUtilization& utilization) {
  const double total_time = std::max(utilization.total_time(), 1e-12);
  char shares[120];
  std::snprintf(shares, sizeof shares, "computing %.1f %%, only copying %.1f %%, idle %.1f %%",
                100 * utilization.compute / total_time, 100 * utilization.non_compute / total_time,
                100 * utilization.idle / total_time);
  return device + ": " + format_duration(utilization.total_time()) + " from its first work to its last; " + shares;
}
std::string describe_dropped(int64_t num_dropped) {
  return num_dropped == 0 ? ""
                          : std::to_string(num_dropped) +
                                " later events are left out: the trace and the tables end before the program does";
}

std::string render_html(const Report& report) {
  const CallTree& tree = report.tree;
  const int64_t wall_time = tree.wall_time();
  const bool has_gpu = tree.root().gpu_total_time() > 0;
  const std::vector<OpRow> ops = op_rows(tree);
  std::string gpus;
  for (const auto& [device, utilization] : report.gpus) gpus += page::paragraph(describe_gpu(device, utilization));
  page::Page page;
  page.title = "tandem trace";
  page.heading = "Where the time went";
  page.introduction = "<p class=\"meta\"><code>" + escape_html(report.command) + "</code></p>\n";
  for (const std::string& sentence : describe_coverage(tree)) page.introduction += page::paragraph(sentence);
  page.introduction += page::paragraph(describe_dropped(report.num_dropped)) + gpus;
  page.sections.push_back(
      {"flame", "Flame graph",
       page::paragraph("Each box is as wide as its time, and lies below the box that called it. Nodes of backward are "
                       "below the module whose forward recorded them. Point at a box for its calls and its times.") +
           page::group_charts(flame_graph(tree))});
  page.sections.push_back(
      {"modules", "By module",
       page::paragraph("Self is the time in no other module, of forward and backward. A module is seen if the program "
                       "calls it as net(x); a call of net->forward(x) counts for the module around it.") +
           module_table(module_rows(tree), wall_time, has_gpu)});
  page.sections.push_back({"operations", "By operation",
                           page::paragraph("Self is the time in no other operation; it includes the operation's "
                                           "kernels.") +
                               op_table(ops, wall_time, has_gpu) +
                               page::bullet_list(explain_names(ops, /*with_kernels=*/true))});
  page.sections.push_back(
      {"phases", "By phase",
       page::paragraph(
           "Self is the time in no other phase. “forward” is the time in modules outside of other phases.") +
           phase_table(phase_rows(tree), wall_time, has_gpu)});
  page.footer = "Written by tandem trace. Times are the host's, except those on the GPU.";
  return page::render_html(page);
}

}  // namespace tandem::tools::trace
