// Draws charts with two axes: lines with error bars, and stacked areas.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

constexpr double kPlotHeight = 236, kTopMargin = 24, kBottomMargin = 40, kPlotRightMargin = 16;

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
  return width + 8;
}

std::string draw_axes(const Axis& x, const Axis& y, const Scale& scale_x, const Scale& scale_y, double left) {
  const double floor = kPlotHeight - kBottomMargin, width = kMinChartWidth - left - kPlotRightMargin;
  const auto px = format_coordinate;
  std::string out = str_cat("<text class=\"al\" x=\"", px(2 - left), "\" y=\"12\">",
                            truncate_text(y.label, kMinChartWidth - 4), "</text>\n");
  for (const Tick& tick : scale_y.ticks()) {
    const double at = scale_y(tick.value);
    out += str_cat("<line class=\"g\" x2=\"100%\" y1=\"", px(at), "\" y2=\"", px(at),
                   "\"/><text class=\"e\" x=\"-5\" y=\"", px(at + 3.5), "\">", escape_html(tick.text), "</text>\n");
  }
  double free_from = -INFINITY;
  for (const Tick& tick : scale_x.ticks()) {
    const double half = text_width(tick.text) / 2, at = scale_x(tick.value), middle = at / 100 * width;
    out += str_cat("<line class=\"ax\" x1=\"", format_x(at), "\" x2=\"", format_x(at), "\" y1=\"", px(floor),
                   "\" y2=\"", px(floor + 4), "\"/>");
    const bool last = middle + half > width + kPlotRightMargin;
    if ((last ? width + kPlotRightMargin - 2 * half : middle - half) < free_from) continue;
    free_from = middle + half + 5;
    out += str_cat("<text class=\"", last ? "al e" : "c", "\" x=\"", format_x(at), "\"",
                   last ? str_cat(" dx=\"", kPlotRightMargin - 2, "\"") : "", " y=\"", px(floor + 16), "\">",
                   escape_html(tick.text), "</text>\n");
  }
  return out + str_cat("<line class=\"ax\" x2=\"100%\" y1=\"", px(floor), "\" y2=\"", px(floor),
                       "\"/><text class=\"al e\" x=\"100%\" dx=\"", kPlotRightMargin - 2, "\" y=\"",
                       px(kPlotHeight - 7), "\">", truncate_text(x.label, kMinChartWidth - 4), "</text>\n");
}

/// Width of the coordinates of curves, which are stretched to the width of the chart.
constexpr double kCurveWidth = 500;
double curve_x(double percent) { return percent / 100 * kCurveWidth; }
std::string stretch_to_width(const std::string& paths) {
  return str_cat("<svg class=\"curves\" viewBox=\"0 0 ", kCurveWidth, " ", kPlotHeight, "\" width=\"100%\" height=\"",
                 kPlotHeight, "\" preserveAspectRatio=\"none\">\n", paths, "</svg>\n");
}

std::string draw_line(const Series& series, const Scale& x, const Scale& y) {
  if (!series.has_line || series.points.size() < 2) return "";
  std::string path;
  for (const ChartPoint& point : series.points)
    if (std::isfinite(point.y))
      path +=
          str_cat(path.empty() ? "M" : "L", format_coordinate(curve_x(x(point.x))), " ", format_coordinate(y(point.y)));
  return str_cat("<path class=\"", stroke_class(series.style), " l", series.is_dashed ? " dash" : "", "\" d=\"", path,
                 "\"><title>", escape_html(series.name), "</title></path>\n");
}

std::string draw_points(const Series& series, const Scale& x, const Scale& y) {
  std::string out;
  for (const ChartPoint& point : series.points) {
    if (!std::isfinite(point.y)) continue;
    const std::string at = format_x(x(point.x));
    if (point.high > point.low) {
      const double low = y(point.low), high = y(point.high);
      out += str_cat("<svg x=\"", at, "\"><path class=\"", stroke_class(series.style), " w\" d=\"M0 ",
                     format_coordinate(low), "V", format_coordinate(high), "M-3 ", format_coordinate(low), "h6M-3 ",
                     format_coordinate(high), "h6\"/></svg>\n");
    }
    if (series.has_markers)
      out += marker(series.style, at, y(point.y), 3.4,
                    point.tooltip.empty() ? series.name : series.name + ": " + point.tooltip) +
             "\n";
  }
  return out;
}

}  // namespace

std::string render_svg(const LineChart& chart) {
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
  const Scale y(chart.y, range_y.low, range_y.high, kPlotHeight - kBottomMargin, kTopMargin, 5);
  // Keeps the first and last markers away from the edge of the chart.
  const double inset = chart.x.tick_values.empty() ? 0 : 5;
  const Scale x(chart.x, range_x.low, range_x.high, inset, 100 - inset, 5);
  std::string picture = draw_axes(chart.x, chart.y, x, y, left), lines, points, legend;
  if (chart.mark_x > 0) {
    const std::string at = format_x(x(chart.mark_x));
    picture += str_cat("<line class=\"s0 l dash\" x1=\"", at, "\" x2=\"", at, "\" y1=\"", kTopMargin, "\" y2=\"",
                       format_coordinate(kPlotHeight - kBottomMargin), "\"><title>", escape_html(chart.mark_name),
                       "</title></line>\n");
    legend += legend_entry(chart.mark_name, kTextColourStyle, 'd');
  }
  for (const Series& series : chart.series) {
    lines += draw_line(series, x, y);
    points += draw_points(series, x, y);
    if (series.in_legend)
      legend += legend_entry(series.name, series.style,
                             !series.has_line     ? 'm'
                             : series.has_markers ? 'l'
                             : series.is_dashed   ? 'd'
                                                  : 's');
  }
  return figure(chart.title, chart.note, chart.description, {kPlotHeight, left, kPlotRightMargin},
                picture + stretch_to_width(lines) + points, legend);
}

namespace {

/// Draws the area between two step functions. Both hold their i-th value from at[i] to at[i + 1].
std::string step_path(const std::vector<double>& at, const std::vector<double>& above, const std::vector<double>& below,
                      const Scale& x, const Scale& y) {
  const size_t n = at.size();
  const auto across = [&](size_t i) { return "H" + format_coordinate(curve_x(x(at[i]))); };
  const auto up = [&](double value) { return "V" + format_coordinate(y(value)); };
  std::string path = str_cat("M", format_coordinate(curve_x(x(at[0]))), " ", format_coordinate(y(above[0])));
  for (size_t i = 1; i < n; ++i)
    if (above[i] != above[i - 1]) path += across(i) + up(above[i]);
  path += across(n - 1) + up(below[n - 1]);
  for (size_t i = n - 1; i > 0; --i)
    if (below[i] != below[i - 1]) path += across(i) + up(below[i - 1]);
  return path + across(0) + "Z";
}

}  // namespace

std::string render_svg(const AreaChart& chart) {
  if (chart.at.size() < 2) return "";
  double highest = chart.y_max;
  for (size_t i = 0; i < chart.at.size(); ++i) {
    double sum = 0;
    for (const AreaLayer& layer : chart.layers) sum += layer.values[i];
    highest = std::max(highest, sum);
  }
  const double left = left_margin(chart.y, {0, highest});
  const Scale y(chart.y, 0, highest, kPlotHeight - kBottomMargin, kTopMargin, 5);
  Axis axis_x = chart.x;
  axis_x.exact_ends = true;
  const Scale x(axis_x, chart.at.front(), chart.at.back(), 0, 100, 5);
  std::vector<double> below(chart.at.size(), 0);
  std::string areas, legend;
  for (const AreaLayer& layer : chart.layers) {
    std::vector<double> above = below;
    for (size_t i = 0; i < above.size(); ++i) above[i] += layer.values[i];
    areas += str_cat("<path class=\"", fill_class(layer.style), " seg\" d=\"", step_path(chart.at, above, below, x, y),
                     "\"><title>", escape_html(layer.name), "</title></path>\n");
    legend = legend_entry(layer.name, layer.style, 'b') + legend;  // lists the highest layer first
    below = std::move(above);
  }
  return figure(chart.title, chart.note, chart.description, {kPlotHeight, left, kPlotRightMargin},
                draw_axes(axis_x, chart.y, x, y, left) + stretch_to_width(areas), legend);
}

}  // namespace tandem::tools::page
