// Charts as inline SVG without scripts: lines, dots with intervals, stacked bars, stacked areas, a timeline. Each is a
// <figure> with its title, legend and a description for screen readers; it takes its colours from the page's style
// (style.cpp: classes f0... fill and s0... stroke). Charts are 360 units wide, which a phone shows unscaled.
#pragma once
#include <string>
#include <vector>

namespace tandem::tools::page {

/// Styles are colours (0 to 9; beyond, the same colours with other markers), and these.
inline constexpr int kInk = 100, kWaiting = 101, kUnattributed = 102, kHidden = 103;

/// How a number of an axis is written, and which round numbers it has.
enum class Unit { kNone, kSeconds, kBytes, kBandwidth, kPercent };

struct Axis {
  std::string label;
  Unit unit = Unit::kNone;
  bool log = false;
  bool from_zero = true;                // of a linear axis
  bool exact_ends = false;              // of a linear axis: it ends where the data end, not at a round number
  std::vector<double> only_ticks = {};  // in place of round numbers: 1, 2, 4 devices
};

struct ChartPoint {
  double x = 0, y = 0;
  double low = 0, high = 0;  // of the error bar, if they differ
  std::string tip;           // what a pointer over it shows
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
  double mark_x = 0;  // a vertical line, where not 0
  std::string mark_name;
};
std::string svg(const LineChart& chart);

struct Segment {
  std::string name;  // of the legend
  int style = 0;     // a colour
  double value = 0;
  std::string tip;
};
/// A segment without length has its place in the legend's order, and enters it where another row has some.
struct BarRow {
  std::string label, value;  // value: what stands at the bar's right end
  std::vector<Segment> segments;
  std::vector<Segment> beside;  // a thin bar under it, from the left: hidden communication
};
/// Horizontal stacked bars, each below its label.
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
  std::string text;    // at the right end
  double second = -1;  // another mark, hollow, where not negative: the p95, a prediction
};
/// A row for each mode: a dot with its interval.
struct DotChart {
  std::string title, description;
  Axis x;
  std::vector<DotRow> rows;
  double reference = -1;  // a vertical line, where not negative
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
  std::vector<double> at;  // along x
  std::vector<AreaLayer> layers;
  double y_max = 0;  // the same for charts that stand beside each other
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
/// All devices of several runs below each other, on one clock. Wider than the others: it scrolls in its own box.
struct TimelineChart {
  std::string title, description;
  std::vector<TimelineGroup> groups;
  std::vector<Segment> legend;  // names and colours
};
std::string svg(const TimelineChart& chart);

}  // namespace tandem::tools::page
