// Declares charts, drawn as inline SVG without scripts: lines, dots with intervals, stacked bars, stacked areas, and a
// timeline. Each chart is a <figure> with a title, a note, a legend and a description for screen readers. Its colours
// come from the CSS of the page (style.cpp). Horizontal positions are percentages of the chart's width, so a chart
// fills its column at any width, and its text keeps its size.
#pragma once
#include <string>
#include <vector>

namespace tandem::tools::page {

/// A style is a number that selects a colour and a pattern or marker. On a page, each colour stands for one thing;
/// patterns and markers tell its variants apart.
/// Styles of areas: 0 to 7 select a colour. Adding kStripedStyle draws stripes over the colour.
inline constexpr int kStripedStyle = 10;
/// Styles of lines and points: kLineStyle + 0 (text colour) to kLineStyle + 4 select a colour. Adding multiples of 10
/// changes the shape of the marker.
inline constexpr int kLineStyle = 100, kTextColourStyle = kLineStyle;
/// Style of a grey marker, for measurements published by others. kPublishedStyle + 1 and so on are grey markers of
/// other shapes.
inline constexpr int kPublishedStyle = 200;
/// Styles of areas: waiting (white), everything else (grey), and pale area 7 with stripes.
inline constexpr int kWaitingStyle = 300, kOtherStyle = 301, kFadedStyle = 302;

/// Unit of an axis. Determines which tick values are round and how tick labels are written.
enum class Unit { kNone, kSeconds, kBytes, kBandwidth, kPercent };

struct Axis {
  std::string label;
  Unit unit = Unit::kNone;
  bool log = false;
  bool includes_zero = true;             // linear axis only: whether the axis includes zero
  bool exact_ends = false;               // linear axis only: whether the axis ends at the data, not at round numbers
  std::vector<double> tick_values = {};  // positions of the ticks, such as 1, 2 and 4 devices; if empty, round numbers
};

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // ends of the error bar; equal values mean no error bar
  std::string tooltip;       // tooltip
};

struct Series {
  std::string name;
  int style = 0;  // colour and marker; see the list of styles above
  std::vector<ChartPoint> points;
  bool has_line = true, has_markers = true, is_dashed = false, in_legend = true;
};

/// In all charts, `note` is shown below the title: the number of measurements, and the meaning of a bar or whisker.
struct LineChart {
  std::string title, description;
  Axis x, y;
  std::vector<Series> series;
  double mark_x = 0;  // x coordinate of a vertical line; 0: no line
  std::string mark_name, note;
};
/// Returns the chart as a <figure>; "" if there is nothing to draw. The other overloads do the same.
std::string render_svg(const LineChart& chart);

struct Segment {
  std::string name;  // text in the legend
  int style = 0;     // colour and marker; see the list of styles above
  double value = 0;
  std::string tooltip;
  std::string label = {};  // text inside the segment if there is room; if empty, the name
};
/// One stacked bar. A segment with value 0 is not drawn, but keeps its position in the order of the legend. The legend
/// shows it if its value in another row is positive.
struct BarRow {
  std::string label, value;  // value: text at the right end of the bar
  std::vector<Segment> segments;
  std::vector<Segment> sub_bar;  // segments of a thin bar below the main one: hidden communication
};
/// A chart of horizontal stacked bars, each with a label above it.
struct BarChart {
  std::string title, description;
  Axis x;
  std::vector<BarRow> rows;
  std::string note = {};
  bool has_legend = true, has_labels = true;  // has_labels: whether segments have text inside
};
std::string render_svg(const BarChart& chart);

struct DotRow {
  std::string label;
  int style = 0;  // colour and marker; see the list of styles above
  double value = 0, low = 0, high = 0;
  std::string text;  // text at the right end of the row
  /// Position of a second, hollow mark, such as the 95th percentile or a prediction; negative: no mark.
  double second_value = -1;
};
/// A chart with one row per mode. Each row shows a value as a dot, and its interval.
struct DotChart {
  std::string title, description;
  Axis x;
  std::vector<DotRow> rows;
  double reference = -1;  // position of a vertical line; negative: no line
  std::string reference_name, dot_name, second_value_name, note;
};
std::string render_svg(const DotChart& chart);

struct AreaLayer {
  std::string name;
  int style = 0;  // colour and marker; see the list of styles above
  std::vector<double> values;
};
/// A chart of stacked step functions: each value holds from its x coordinate to the next one.
struct AreaChart {
  std::string title, description;
  Axis x, y;
  std::vector<double> at;  // x coordinates of the values of all layers
  std::vector<AreaLayer> layers;
  double y_max = 0;  // the y axis extends at least to this value, so that charts side by side can have the same scale
  std::string note;
};
std::string render_svg(const AreaChart& chart);

struct TimelineMark {
  int style = 0;  // colour and marker; see the list of styles above
  int level = 0;  // 0: phases of the lane; 1: communication, drawn below them; 2: kernels, drawn at the bottom
  double start = 0, end = 0;
  std::string tooltip;
};
struct TimelineLane {
  std::string name;
  std::vector<TimelineMark> marks;
};
struct TimelineGroup {
  std::string name;
  std::vector<TimelineLane> lanes;
};
/// Shows the devices of several runs, one below the other, on a common time axis. Each group's time starts at its first
/// mark. The chart is as wide as the page; on narrow screens it scrolls in a box of its own.
struct TimelineChart {
  std::string title, description;
  std::vector<TimelineGroup> groups;
  std::vector<Segment> legend;  // names and colours for the legend
  std::string note;
};
std::string render_svg(const TimelineChart& chart);

}  // namespace tandem::tools::page
