// Draws charts with two axes: lines with error bars, and stacked areas.
#include <algorithm>
#include <cmath>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

constexpr double kWidth = 360, kHeight = 232, kTop = 24, kBottom = 40, kRight = 14, kText = 11;

double text_width(const std::string& text) { return 0.56 * kText * static_cast<double>(character_count(text)); }

struct Range {
  double low = INFINITY, high = -INFINITY;
  void add(double value, bool log) {
    if (!std::isfinite(value) || (log && value <= 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

/// Returns the width of the labels of the y axis. It depends on the ticks that the scale chooses.
double left_margin(const Axis& y, const Range& range) {
  double width = 0;
  const Scale scale(y, range.low, range.high, 0, 1, 5);
  for (const Tick& tick : scale.ticks()) width = std::max(width, text_width(tick.text));
  return width + 9;
}

std::string axes(const Axis& x, const Axis& y, const Scale& scale_x, const Scale& scale_y, double left) {
  const double floor = kHeight - kBottom;
  std::string out = cat("<text class=\"al\" x=\"2\" y=\"12\">", truncate_text(y.label, kWidth - 4, kText), "</text>\n");
  for (const Tick& tick : scale_y.ticks()) {
    const double at = scale_y(tick.value);
    out +=
        cat("<line class=\"g\" x1=\"", format_coordinate(left), "\" x2=\"", format_coordinate(kWidth - kRight),
            "\" y1=\"", format_coordinate(at), "\" y2=\"", format_coordinate(at), "\"/><text class=\"e\" x=\"",
            format_coordinate(left - 5), "\" y=\"", format_coordinate(at + 3.5), "\">", escape(tick.text), "</text>\n");
  }
  double free_from = -INFINITY;
  for (const Tick& tick : scale_x.ticks()) {
    const double width = text_width(tick.text);
    const double at = scale_x(tick.value), middle = std::min(at, kWidth - width / 2 - 1);
    out += cat("<line class=\"ax\" x1=\"", format_coordinate(at), "\" x2=\"", format_coordinate(at), "\" y1=\"",
               format_coordinate(floor), "\" y2=\"", format_coordinate(floor + 4), "\"/>");
    if (middle - width / 2 < free_from) continue;
    free_from = middle + width / 2 + 5;
    out += cat("<text class=\"c\" x=\"", format_coordinate(middle), "\" y=\"", format_coordinate(floor + 16), "\">",
               escape(tick.text), "</text>\n");
  }
  return out + cat("<line class=\"ax\" x1=\"", format_coordinate(left), "\" x2=\"", format_coordinate(kWidth - kRight),
                   "\" y1=\"", format_coordinate(floor), "\" y2=\"", format_coordinate(floor),
                   "\"/><text class=\"al e\" x=\"", format_coordinate(kWidth - 2), "\" y=\"",
                   format_coordinate(kHeight - 7), "\">", truncate_text(x.label, kWidth - 4, kText), "</text>\n");
}

std::string draw(const Series& series, const Scale& x, const Scale& y) {
  std::string path, out;
  for (const ChartPoint& point : series.points)
    if (std::isfinite(point.y))
      path += cat(path.empty() ? "M" : "L", format_coordinate(x(point.x)), " ", format_coordinate(y(point.y)));
  if (series.line && series.points.size() > 1)
    out += cat("<path class=\"", stroke_class(series.style), " l", series.dashed ? " dash" : "", "\" d=\"", path,
               "\"><title>", escape(series.name), "</title></path>\n");
  for (const ChartPoint& point : series.points) {
    if (!std::isfinite(point.y)) continue;
    const double at = x(point.x);
    if (point.high > point.low)
      out += cat("<path class=\"", stroke_class(series.style), " w\" d=\"M", format_coordinate(at), " ",
                 format_coordinate(y(point.low)), "V", format_coordinate(y(point.high)), "M", format_coordinate(at - 3),
                 " ", format_coordinate(y(point.low)), "h6M", format_coordinate(at - 3), " ",
                 format_coordinate(y(point.high)), "h6\"/>\n");
    if (series.markers)
      out +=
          marker(series.style, at, y(point.y), 3.4, point.tip.empty() ? series.name : series.name + ": " + point.tip) +
          "\n";
  }
  return out;
}

}  // namespace

std::string svg(const LineChart& chart) {
  Range range_x, range_y;
  for (const Series& series : chart.series)
    for (const ChartPoint& point : series.points) {
      range_x.add(point.x, chart.x.log);
      range_y.add(point.y, chart.y.log);
      if (point.high > point.low) {
        range_y.add(point.low, chart.y.log);
        range_y.add(point.high, chart.y.log);
      }
    }
  if (range_x.high < range_x.low || range_y.high < range_y.low) return "";  // there is no point to draw
  const double left = left_margin(chart.y, range_y);
  const Scale y(chart.y, range_y.low, range_y.high, kHeight - kBottom, kTop, 5);
  // Keeps the first and last markers away from the edge of the chart.
  const double inset = chart.x.only_ticks.empty() ? 0 : 14;
  const Scale x(chart.x, range_x.low, range_x.high, left + inset, kWidth - kRight - inset, 5);
  std::string picture = axes(chart.x, chart.y, x, y, left), legend;
  if (chart.mark_x > 0) {
    const double at = x(chart.mark_x);
    picture += cat("<line class=\"si l dash\" x1=\"", format_coordinate(at), "\" x2=\"", format_coordinate(at),
                   "\" y1=\"", kTop, "\" y2=\"", format_coordinate(kHeight - kBottom), "\"><title>",
                   escape(chart.mark_name), "</title></line>\n");
    legend += legend_entry(chart.mark_name, kInk, 'd');
  }
  for (const Series& series : chart.series) {
    picture += draw(series, x, y);
    if (series.in_legend)
      legend += legend_entry(series.name, series.style,
                             !series.line     ? 'm'
                             : series.markers ? 'l'
                             : series.dashed  ? 'd'
                                              : 's');
  }
  return figure(chart.title, chart.description, kWidth, kHeight, picture, legend);
}

std::string svg(const AreaChart& chart) {
  if (chart.at.size() < 2) return "";
  std::vector<double> floor(chart.at.size(), 0);
  double highest = chart.y_max;
  for (size_t i = 0; i < chart.at.size(); ++i) {
    double sum = 0;
    for (const AreaLayer& layer : chart.layers) sum += layer.values[i];
    highest = std::max(highest, sum);
  }
  const Range range_y{0, highest};
  const double left = left_margin(chart.y, range_y);
  const Scale y(chart.y, 0, highest, kHeight - kBottom, kTop, 5);
  Axis axis_x = chart.x;
  axis_x.exact_ends = true;
  const Scale x(axis_x, chart.at.front(), chart.at.back(), left, kWidth - kRight, 5);
  std::string areas, legend;
  for (const AreaLayer& layer : chart.layers) {
    std::string above, below;
    for (size_t i = 0; i < chart.at.size(); ++i) {
      below = cat("L", format_coordinate(x(chart.at[i])), " ", format_coordinate(y(floor[i])), below);
      floor[i] += layer.values[i];
      above += cat(i == 0 ? "M" : "L", format_coordinate(x(chart.at[i])), " ", format_coordinate(y(floor[i])));
    }
    areas += cat("<path class=\"", fill_class(layer.style), " seg\" d=\"", above, below, "Z\"><title>",
                 escape(layer.name), "</title></path>\n");
    legend = legend_entry(layer.name, layer.style, 'b') + legend;  // lists the highest layer first
  }
  return figure(chart.title, chart.description, kWidth, kHeight, axes(axis_x, chart.y, x, y, left) + areas, legend);
}

}  // namespace tandem::tools::page
