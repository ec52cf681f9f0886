// Draws charts with a label for each row: stacked bars, dots with intervals, and the timeline.
#include <algorithm>
#include <cmath>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

constexpr double kLeftMargin = 4, kRightMargin = 16,
                 kLabelHeight = 15;  // kLabelHeight: height of the line of text above a bar

/// Returns the SVG text above a row: the label on the left, the value at the right end.
std::string row_text(const std::string& label, const std::string& value, double y) {
  return str_cat("<text y=\"", format_coordinate(y), "\">",
                 truncate_text(label, kMinChartWidth - kLeftMargin - 4 - text_width(value)),
                 "</text><text class=\"e\" x=\"100%\" dx=\"", kRightMargin - 2, "\" y=\"", format_coordinate(y), "\">",
                 escape_html(value), "</text>\n");
}

/// Rows of a chart: the first row's label starts at `top`. Vertical lines are drawn beside the bars only, so that no
/// line crosses a label.
struct Rows {
  double top, pitch, bar_height;  // pitch: distance between rows; bar_height: height of the bar below a row's label
  size_t count;
  double bottom() const { return top + pitch * static_cast<double>(count); }
  std::string line(const std::string& kind, const std::string& x) const {
    return str_cat("<line class=\"", kind, "\" x1=\"", x, "\" x2=\"", x, "\" y1=\"",
                   format_coordinate(top + kLabelHeight), "\" y2=\"", format_coordinate(bottom()),
                   "\" stroke-dasharray=\"", format_coordinate(bar_height), " ", format_coordinate(pitch - bar_height),
                   "\"");
  }
};

std::string axis_below(const Axis& axis, const Scale& scale, const Rows& rows) {
  std::string out;
  const double width = kMinChartWidth - kLeftMargin - kRightMargin;
  double free_from = -INFINITY;
  for (const Tick& tick : scale.ticks()) {
    const double at = scale(tick.value), middle = at / 100 * width, half = text_width(tick.text) / 2;
    out += rows.line("g", format_x(at)) + "/>";
    const bool first = middle<half, last = middle + half> width + kRightMargin;
    if ((first ? 0 : last ? width - 2 * half : middle - half) < free_from) continue;
    free_from = (first ? 2 * half : middle + half) + 5;
    out += str_cat("<text class=\"",
                   first  ? "al"
                   : last ? "al e"
                          : "c",
                   "\" x=\"", format_x(at), "\"", last ? str_cat(" dx=\"", kRightMargin - 2, "\"") : "", " y=\"",
                   format_coordinate(rows.bottom() + 14), "\">", escape_html(tick.text), "</text>\n");
  }
  return out + str_cat("<text class=\"al e\" x=\"100%\" dx=\"", kRightMargin - 2, "\" y=\"",
                       format_coordinate(rows.bottom() + 29), "\">", truncate_text(axis.label, kMinChartWidth - 8),
                       "</text>\n");
}

std::string draw_bar(const std::vector<Segment>& segments, const Scale& x, double y, double height, bool labels) {
  std::string out;
  double sum = 0;
  for (const Segment& segment : segments) {
    if (!(segment.value > 0)) continue;
    const double from = x(sum), width = x(sum + segment.value) - from;
    sum += segment.value;
    out += str_cat("<rect class=\"", fill_class(segment.style), " seg\" x=\"", format_x(from), "\" y=\"",
                   format_coordinate(y), "\" width=\"", format_x(width), "\" height=\"", format_coordinate(height),
                   "\"><title>", escape_html(segment.name + ": " + segment.tooltip), "</title></rect>\n");
    const std::string& label = segment.label.empty() ? segment.name : segment.label;
    if (labels && text_width(label) + 8 < width / 100 * (kMinChartWidth - kLeftMargin - kRightMargin))
      out += str_cat("<text class=\"in i", fill_class(segment.style), "\" x=\"", format_x(from), "\" dx=\"4\" y=\"",
                     format_coordinate(y + height / 2 + 3.8), "\">", escape_html(label), "</text>\n");
  }
  return out;
}

}  // namespace

std::string render_svg(const BarChart& chart) {
  if (chart.rows.empty()) return "";
  double longest = 0;
  bool has_sub_bars = false;
  // Legend entries. The value of each entry is its largest value in any row.
  std::vector<Segment> names;
  for (const BarRow& row : chart.rows) {
    double sum = 0;
    for (const Segment& segment : row.segments) sum += std::max(0.0, segment.value);
    longest = std::max(longest, sum);
    for (const auto* list : {&row.segments, &row.sub_bar})
      for (const Segment& segment : *list) {
        has_sub_bars |= list == &row.sub_bar && segment.value > 0;
        const auto found =
            std::find_if(names.begin(), names.end(), [&](const Segment& n) { return n.name == segment.name; });
        if (found == names.end())
          names.push_back(segment);
        else
          found->value = std::max(found->value, segment.value);
      }
  }
  constexpr double kBar = 16, kSubBar = 5;
  const Rows rows{2, has_sub_bars ? 44.0 : 38.0, has_sub_bars ? kBar + kSubBar + 2 : kBar, chart.rows.size()};
  const Scale x(chart.x, 0, longest, 0, 100, 5);
  std::string picture = axis_below(chart.x, x, rows), legend;
  double y = rows.top;
  for (const BarRow& row : chart.rows) {
    picture += row_text(row.label, row.value, y + 11) +
               draw_bar(row.segments, x, y + kLabelHeight, kBar, chart.has_labels) +
               draw_bar(row.sub_bar, x, y + kLabelHeight + kBar + 1.5, kSubBar, false);
    y += rows.pitch;
  }
  for (const Segment& entry : names)
    if (chart.has_legend && entry.value > 0) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(chart.title, chart.note, chart.description, {rows.bottom() + 34, kLeftMargin, kRightMargin}, picture,
                legend);
}

namespace {

/// Returns the marks of a row of a DotChart. @param middle  y coordinate of the marks
std::string dot_marks(const DotChart& chart, const DotRow& row, const Scale& x, double middle) {
  std::string out;
  const auto line = [&](const char* kind, double from, double to, double above, double below) {
    out += str_cat("<line class=\"", stroke_class(row.style), " ", kind, "\" x1=\"", format_x(x(from)), "\" x2=\"",
                   format_x(x(to)), "\" y1=\"", format_coordinate(middle - above), "\" y2=\"",
                   format_coordinate(middle + below), "\"/>");
  };
  if (row.high > row.low) {
    line("w", row.low, row.high, 0, 0);
    line("w", row.low, row.low, 3, 3);
    line("w", row.high, row.high, 3, 3);
  }
  if (row.second_value >= 0) {
    line("thin", row.value, row.second_value, 0, 0);
    out += str_cat("<circle class=\"", stroke_class(row.style), " hollow\" cx=\"", format_x(x(row.second_value)),
                   "\" cy=\"", format_coordinate(middle), "\" r=\"3.4\"><title>", escape_html(chart.second_value_name),
                   "</title></circle>");
  }
  return out + marker(row.style, format_x(x(row.value)), middle, 4, row.label + ": " + row.text) + "\n";
}

}  // namespace

std::string render_svg(const DotChart& chart) {
  if (chart.rows.empty()) return "";
  double low = INFINITY, high = -INFINITY;
  const auto add = [&](double value) {
    if (!std::isfinite(value) || (chart.x.log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  };
  for (const DotRow& row : chart.rows) {
    add(row.value);
    if (row.high > row.low) {
      add(row.low);
      add(row.high);
    }
    if (row.second_value >= 0) add(row.second_value);
  }
  if (chart.reference >= 0) add(chart.reference);
  if (high < low) return "";
  const Rows rows{2, 31, 14, chart.rows.size()};
  const Scale x(chart.x, low, high, 0, 100, 4);
  std::string picture = axis_below(chart.x, x, rows), legend;
  if (chart.reference >= 0)
    picture += str_cat(rows.line("s0 ref", format_x(x(chart.reference))), "><title>", escape_html(chart.reference_name),
                       "</title></line>\n");
  double y = rows.top;
  for (const DotRow& row : chart.rows) {
    picture += row_text(row.label, row.text, y + 11) + dot_marks(chart, row, x, y + kLabelHeight + 7);
    y += rows.pitch;
  }
  if (!chart.dot_name.empty())
    legend +=
        legend_entry(chart.dot_name, chart.rows[0].style >= kPublishedStyle ? kPublishedStyle : kTextColourStyle, 'm');
  if (!chart.second_value_name.empty()) legend += legend_entry(chart.second_value_name, kTextColourStyle, 'h');
  if (chart.reference >= 0) legend += legend_entry(chart.reference_name, kTextColourStyle, 's');
  return figure(chart.title, chart.note, chart.description, {rows.bottom() + 34, kLeftMargin, kRightMargin}, picture,
                legend);
}

namespace {

constexpr double kLaneNamesWidth = 140;  // width of the lanes' names, left of a timeline

/// Returns the time at which a group's first mark starts.
double group_start(const TimelineGroup& group) {
  double start = INFINITY;
  for (const TimelineLane& lane : group.lanes)
    for (const TimelineMark& mark : lane.marks) start = std::min(start, mark.start);
  return std::isfinite(start) ? start : 0;
}

/// Returns a lane of a timeline, and adds its height to y.
std::string draw_lane(const TimelineLane& lane, const std::string& name, double start, const Scale& x, double& y) {
  bool phases = false, sub_bar = false, kernels = false;
  for (const TimelineMark& mark : lane.marks) {
    phases |= mark.level == 0;
    sub_bar |= mark.level == 1;
    kernels |= mark.level == 2;
  }
  // If a lane shows only communication, the row is as high as the lane's name.
  const double sub_bar_top = phases ? y + 19 : y + 5;
  const double tops[] = {y, sub_bar_top, sub_bar ? sub_bar_top + 8 : sub_bar_top};
  const double heights[] = {18, 7, 4};
  std::string out = str_cat("<text", phases ? "" : " class=\"al\"", " x=\"", -kLaneNamesWidth + 2, "\" y=\"",
                            format_coordinate(y + 13), "\">", truncate_text(name, kLaneNamesWidth - 6), "</text>\n");
  for (const TimelineMark& mark : lane.marks) {
    const double from = x(mark.start - start), width = std::max(0.07, x(mark.end - start) - from);
    out += str_cat("<rect class=\"", fill_class(mark.style), width > 0.4 && mark.level < 2 ? " seg" : "", "\" x=\"",
                   format_x(from), "\" y=\"", format_coordinate(tops[mark.level]), "\" width=\"", format_x(width),
                   "\" height=\"", heights[mark.level], "\"><title>", escape_html(mark.tooltip), "</title></rect>\n");
  }
  y += (phases ? 26 : 12) + (sub_bar ? 8 : 0) + (kernels ? 5 : 0);
  return out;
}

}  // namespace

std::string render_svg(const TimelineChart& chart) {
  double end = 0;
  for (const TimelineGroup& group : chart.groups)
    for (const TimelineLane& lane : group.lanes)
      for (const TimelineMark& mark : lane.marks) end = std::max(end, mark.end - group_start(group));
  if (end <= 0) return "";
  Axis axis{"time since the first lane began the step", Unit::kSeconds};
  axis.exact_ends = true;
  const Scale x(axis, 0, end, 0, 100, 10);
  std::string rows, grid, legend;
  double y = 4;
  for (const TimelineGroup& group : chart.groups) {
    rows += str_cat("<text class=\"b\" x=\"", -kLaneNamesWidth + 2, "\" y=\"", format_coordinate(y + 11), "\">",
                    escape_html(group.name), "</text>\n");
    y += 18;
    const double top = y;
    std::string previous;
    for (const TimelineLane& lane : group.lanes) {
      const bool part = !previous.empty() && lane.name.starts_with(previous + ", ");
      rows += draw_lane(lane, part ? lane.name.substr(previous.size() + 2) : lane.name, group_start(group), x, y);
      if (!part) previous = lane.name;
    }
    for (const Tick& tick : x.ticks())
      grid += str_cat("<line class=\"g\" x1=\"", format_x(x(tick.value)), "\" x2=\"", format_x(x(tick.value)),
                      "\" y1=\"", format_coordinate(top), "\" y2=\"", format_coordinate(y), "\"/>");
    y += 8;
  }
  for (const Tick& tick : x.ticks())
    grid += str_cat("<text class=\"c\" x=\"", format_x(x(tick.value)), "\" y=\"", format_coordinate(y + 8), "\">",
                    escape_html(tick.text), "</text>\n");
  grid += str_cat("<text class=\"al e\" x=\"100%\" dx=\"20\" y=\"", format_coordinate(y + 24), "\">", axis.label,
                  "</text>\n");
  for (const Segment& entry : chart.legend) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(chart.title, chart.note, chart.description, {y + 30, kLaneNamesWidth, 24}, grid + rows, legend, "wide");
}

}  // namespace tandem::tools::page
