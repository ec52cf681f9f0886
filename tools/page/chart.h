// Charts as inline SVG without scripts: lines, dots with intervals, stacked bars, stacked areas, a timeline. Each chart
// is a <figure> with a title, a legend and a description for screen readers. Its colours come from the page's style
// (style.cpp: classes f0... for fills, s0... for strokes). Charts are 360 units wide, which a phone shows unscaled.
#pragma once
#include <string>
#include <vector>

namespace tandem::tools::page {

/// Special styles. The other styles are colours: 0 to 9; from 10 on, the same colours with other markers.
inline constexpr int kInk = 100, kWaiting = 101, kUnattributed = 102, kHidden = 103;

/// Unit of an axis; determines the round values of the ticks and their texts.
enum class Unit { kNone, kSeconds, kBytes, kBandwidth, kPercent };

struct Axis {
  std::string label;
  Unit unit = Unit::kNone;
  bool log = false;
  bool from_zero = true;                // linear axis only: include zero
  bool exact_ends = false;              // linear axis only: end at the data, not at round numbers
  std::vector<double> only_ticks = {};  // ticks to use in place of round numbers: 1, 2, 4 devices
};

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // ends of the error bar; no bar if they are equal
  std::string tip;           // tooltip
};

struct Series {
  std::string name;
  int style = 0;  // colour and marker
  std::vector<ChartPoint> points;
  bool line = true, markers = true, dashed = false, in_legend = true;
};

struct LineChart {
  std::string title, description;
  Axis x, y;
  std::vector<Series> series;
  double mark_x = 0;  // position of a vertical line; 0: none
  std::string mark_name;
};
std::string svg(const LineChart& chart);

struct Segment {
  std::string name;  // text in the legend
  int style = 0;     // colour
  double value = 0;
  std::string tip;
};
/// A stacked bar. A segment of value 0 keeps its place in the order of the legend, which lists it if another row has a
/// positive value.
struct BarRow {
  std::string label, value;  // value: text at the right end
  std::vector<Segment> segments;
  std::vector<Segment> beside;  // a thin bar below, from the left: hidden communication
};
/// Horizontal stacked bars, each with a label above it.
struct BarChart {
  std::string title, description;
  Axis x;
  std::vector<BarRow> rows;
};
std::string svg(const BarChart& chart);

struct DotRow {
  std::string label;
  int style = 0;
  double value = 0, low = 0, high = 0;
  std::string text;    // text at the right end
  double second = -1;  // position of a second, hollow mark (p95, a prediction); negative: none
};
/// Rows of a dot with its interval, one for each mode.
struct DotChart {
  std::string title, description;
  Axis x;
  std::vector<DotRow> rows;
  double reference = -1;  // position of a vertical line; negative: none
  std::string reference_name, dot_name, second_name;
};
std::string svg(const DotChart& chart);

struct AreaLayer {
  std::string name;
  int style = 0;
  std::vector<double> values;
};
struct AreaChart {
  std::string title, description;
  Axis x, y;
  std::vector<double> at;  // x of the values
  std::vector<AreaLayer> layers;
  double y_max = 0;  // least upper end of the y axis, to align charts that stand side by side
};
std::string svg(const AreaChart& chart);

struct TimelineMark {
  int style = 0;
  int level = 0;  // 0: the lane's own phases; 1: communication beside it; 2: kernels
  double start = 0, end = 0;
  std::string tip;
};
struct TimelineLane {
  std::string name;
  std::vector<TimelineMark> marks;
};
struct TimelineGroup {
  std::string name;
  std::vector<TimelineLane> lanes;
};
/// The devices of several runs, one below the other, on one time axis. Wider than other charts, so it scrolls in its
/// own box.
struct TimelineChart {
  std::string title, description;
  std::vector<TimelineGroup> groups;
  std::vector<Segment> legend;  // names and colours
};
std::string svg(const TimelineChart& chart);

}  // namespace tandem::tools::page
