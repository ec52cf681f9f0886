// Draws charts with a label for each row: stacked bars, dots with intervals, and the timeline.
#include <algorithm>
#include <cmath>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

constexpr double kWidth = 360, kLeft = 4, kRight = 14, kText = 11;

/// Returns the SVG text above a row: the label on the left, the value at the right end.
std::string row_text(const std::string& label, const std::string& value, double y) {
  const double value_width = 0.56 * kText * static_cast<double>(value.size());
  return cat("<text x=\"", kLeft, "\" y=\"", format_coordinate(y), "\">",
             truncate_text(label, kWidth - 12 - value_width, kText), "</text><text class=\"e\" x=\"", kWidth - 2,
             "\" y=\"", format_coordinate(y), "\">", escape(value), "</text>\n");
}

std::string axis_below(const Axis& axis, const Scale& scale, double top, double floor) {
  std::string out;
  double free_from = -INFINITY;
  for (const Tick& tick : scale.ticks()) {
    const double at = scale(tick.value), width = 0.66 * kText * static_cast<double>(tick.text.size());
    const double middle = std::clamp(at, width / 2 + 1, kWidth - width / 2 - 1);
    out += cat("<line class=\"g\" x1=\"", format_coordinate(at), "\" x2=\"", format_coordinate(at), "\" y1=\"",
               format_coordinate(top), "\" y2=\"", format_coordinate(floor), "\"/>");
    if (middle - width / 2 < free_from) continue;
    free_from = middle + width / 2 + 5;
    out += cat("<text class=\"c\" x=\"", format_coordinate(middle), "\" y=\"", format_coordinate(floor + 14), "\">",
               escape(tick.text), "</text>\n");
  }
  return out + cat("<text class=\"al e\" x=\"", kWidth - 2, "\" y=\"", format_coordinate(floor + 29), "\">",
                   truncate_text(axis.label, kWidth - 4, kText), "</text>\n");
}

std::string bar(const std::vector<Segment>& segments, const Scale& x, double y, double height, bool labels) {
  std::string out;
  double sum = 0;
  for (const Segment& segment : segments) {
    if (!(segment.value > 0)) continue;
    const double from = x(sum), width = x(sum + segment.value) - from;
    sum += segment.value;
    out += cat("<rect class=\"", fill_class(segment.style), " seg\" x=\"", format_coordinate(from), "\" y=\"",
               format_coordinate(y), "\" width=\"", format_coordinate(width), "\" height=\"", format_coordinate(height),
               "\"><title>", escape(segment.name + ": " + segment.tip), "</title></rect>\n");
    if (labels && 0.56 * kText * static_cast<double>(segment.name.size()) + 6 < width)
      out += cat("<text class=\"in i", segment.style >= kInk ? "w" : std::to_string(segment.style % 10), "\" x=\"",
                 format_coordinate(from + 4), "\" y=\"", format_coordinate(y + height / 2 + 3.6), "\">",
                 escape(segment.name), "</text>\n");
  }
  return out;
}

}  // namespace

std::string svg(const BarChart& chart) {
  if (chart.rows.empty()) return "";
  double longest = 0;
  bool has_sub_bars = false;
  // Legend entries. The value of each entry is its largest value in any row.
  std::vector<Segment> names;
  for (const BarRow& row : chart.rows) {
    double sum = 0;
    for (const Segment& segment : row.segments) sum += std::max(0.0, segment.value);
    longest = std::max(longest, sum);
    has_sub_bars |= !row.sub_bar.empty();
    for (const auto* list : {&row.segments, &row.sub_bar})
      for (const Segment& segment : *list) {
        const auto found =
            std::find_if(names.begin(), names.end(), [&](const Segment& n) { return n.name == segment.name; });
        if (found == names.end())
          names.push_back(segment);
        else
          found->value = std::max(found->value, segment.value);
      }
  }
  const double pitch = has_sub_bars ? 46 : 40, floor = 4 + pitch * static_cast<double>(chart.rows.size());
  Axis axis = chart.x;
  const Scale x(axis, 0, longest, kLeft, kWidth - kRight, 5);
  std::string picture = axis_below(axis, x, 4, floor), legend;
  double y = 4;
  for (const BarRow& row : chart.rows) {
    picture += row_text(row.label, row.value, y + 11) + bar(row.segments, x, y + 15, 17, true) +
               bar(row.sub_bar, x, y + 33.5, 5, false);
    y += pitch;
  }
  for (const Segment& entry : names)
    if (entry.value > 0) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(chart.title, chart.description, kWidth, floor + 34, picture, legend);
}

std::string svg(const DotChart& chart) {
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
    if (row.second >= 0) add(row.second);
  }
  if (chart.reference >= 0) add(chart.reference);
  if (high < low) return "";
  const double pitch = 33, floor = 6 + pitch * static_cast<double>(chart.rows.size());
  double texts = 0;  // width of the column with the values' texts, which marks must not overlap
  for (const DotRow& row : chart.rows) texts = std::max(texts, 0.56 * kText * static_cast<double>(row.text.size()));
  const Scale x(chart.x, low, high, kLeft + 6, kWidth - texts - 12, 4);
  std::string picture = axis_below(chart.x, x, 6, floor), legend;
  if (chart.reference >= 0)
    picture += cat("<line class=\"si l dash\" x1=\"", format_coordinate(x(chart.reference)), "\" x2=\"",
                   format_coordinate(x(chart.reference)), "\" y1=\"6\" y2=\"", format_coordinate(floor), "\"><title>",
                   escape(chart.reference_name), "</title></line>\n");
  double y = 6;
  for (const DotRow& row : chart.rows) {
    const double middle = y + 22;
    picture += row_text(row.label, row.text, y + 11);
    if (row.high > row.low)
      picture += cat("<path class=\"", stroke_class(row.style), " w\" d=\"M", format_coordinate(x(row.low)), " ",
                     format_coordinate(middle), "H", format_coordinate(x(row.high)), "M", format_coordinate(x(row.low)),
                     " ", format_coordinate(middle - 3), "v6M", format_coordinate(x(row.high)), " ",
                     format_coordinate(middle - 3), "v6\"/>\n");
    if (row.second >= 0)
      picture +=
          cat("<path class=\"", stroke_class(row.style), " thin\" d=\"M", format_coordinate(x(row.value)), " ",
              format_coordinate(middle), "H", format_coordinate(x(row.second)), "\"/><circle class=\"",
              stroke_class(row.style), " hollow\" cx=\"", format_coordinate(x(row.second)), "\" cy=\"",
              format_coordinate(middle), "\" r=\"3.4\"><title>", escape(chart.second_name), "</title></circle>\n");
    picture += marker(row.style, x(row.value), middle, 4, row.label + ": " + row.text) + "\n";
    y += pitch;
  }
  if (!chart.dot_name.empty())
    legend += "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\">" + marker(kInk, 11, 6, 4, "") +
              "</svg>" + escape(chart.dot_name) + "</li>";
  if (!chart.second_name.empty())
    legend +=
        "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><circle class=\"si hollow\" cx=\"11\" "
        "cy=\"6\" "
        "r=\"3.4\"/></svg>" +
        escape(chart.second_name) + "</li>";
  if (chart.reference >= 0) legend += legend_entry(chart.reference_name, kInk, 'd');
  return figure(chart.title, chart.description, kWidth, floor + 34, picture, legend);
}

std::string svg(const TimelineChart& chart) {
  constexpr double kWide = 960, kNames = 150;
  double end = 0;
  for (const TimelineGroup& group : chart.groups)
    for (const TimelineLane& lane : group.lanes)
      for (const TimelineMark& mark : lane.marks) end = std::max(end, mark.end);
  if (end <= 0) return "";
  Axis axis{"time since the step began", Unit::kSeconds};
  axis.exact_ends = true;
  const Scale x(axis, 0, end, kNames, kWide - 24, 10);
  std::string rows, legend;
  double y = 8;
  for (const TimelineGroup& group : chart.groups) {
    rows += cat("<text class=\"b\" x=\"2\" y=\"", format_coordinate(y + 11), "\">",
                truncate_text(group.name, kWide - 10, 12), "</text>\n");
    y += 18;
    for (const TimelineLane& lane : group.lanes) {
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
      rows += cat("<text x=\"2\" y=\"", format_coordinate(y + 13), "\">", truncate_text(lane.name, kNames - 6, kText),
                  "</text>\n");
      for (const TimelineMark& mark : lane.marks) {
        const double from = x(mark.start), width = std::max(0.6, x(mark.end) - from);
        rows += cat("<rect class=\"", fill_class(mark.style), " seg\" x=\"", format_coordinate(from), "\" y=\"",
                    format_coordinate(tops[mark.level]), "\" width=\"", format_coordinate(width), "\" height=\"",
                    format_coordinate(heights[mark.level]), "\"><title>", escape(mark.tip), "</title></rect>\n");
      }
      y += (phases ? 26 : 12) + (sub_bar ? 8 : 0) + (kernels ? 5 : 0);
    }
    y += 8;
  }
  std::string picture;
  for (const Tick& tick : x.ticks())
    picture +=
        cat("<line class=\"g\" x1=\"", format_coordinate(x(tick.value)), "\" x2=\"", format_coordinate(x(tick.value)),
            "\" y1=\"24\" y2=\"", format_coordinate(y), "\"/><text class=\"c\" x=\"", format_coordinate(x(tick.value)),
            "\" y=\"", format_coordinate(y + 14), "\">", escape(tick.text), "</text>\n");
  picture += cat("<text class=\"al e\" x=\"", kWide - 4, "\" y=\"", format_coordinate(y + 29), "\">", axis.label,
                 "</text>\n", rows);
  for (const Segment& entry : chart.legend) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(chart.title, chart.description, kWide, y + 34, picture, legend, "wide");
}

}  // namespace tandem::tools::page
