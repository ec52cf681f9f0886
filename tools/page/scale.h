// Maps values to positions on an axis with round ticks, and builds the frame (title, SVG, legend) that all charts
// share.
#pragma once
#include "tandem/tools/page/chart.h"

namespace tandem::tools::page {

struct Tick {
  double value;
  std::string text;
};

/// Maps the values of an axis to positions between `from` and `to`, in the chart's units, and chooses the ticks.
class Scale {
 public:
  /// Chooses the ends of the axis so that it contains [low, high]: round numbers, unless axis.exact_ends is set or the
  /// range of a logarithmic axis is short. @param count  approximate number of ticks
  Scale(const Axis& axis, double low, double high, double from, double to, int count);
  /// Returns the position of a value. A value outside the axis gets a position at most 2 % of its length outside.
  double operator()(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  void make_linear(const Axis& axis, int count);
  void make_log(const Axis& axis, int count);
  bool is_log_;
  double low_, high_, start_position_, end_position_;
  std::vector<Tick> ticks_;
};

/// Smallest width in pixels at which a chart's text must fit: the column on a phone's screen.
inline constexpr double kMinChartWidth = 350;
inline constexpr double kChartFontSize = 11.5;  // font size of a chart's text, in pixels

/// Formats an SVG coordinate with one decimal place.
std::string format_coordinate(double value);
/// Formats a horizontal position as a percentage of the chart's width, such as "12.34%".
std::string format_x(double value);
/// Returns the width of text in a chart, in pixels. Assumes wide letters.
double text_width(const std::string& text);
/// Truncates `text` with an ellipsis, so that it fits in `width` pixels if its letters have an average width, and
/// escapes it.
std::string truncate_text(const std::string& text, double width);
/// Return the CSS class for the fill or stroke colour of a style.
std::string fill_class(int style);
std::string stroke_class(int style);
/// Returns the SVG marker of a point. Its shape depends on the style: circle, square, triangle or diamond.
/// @param x  position as returned by format_x()
std::string marker(int style, const std::string& x, double y, double size, const std::string& tooltip);

/// Size of the area between a chart's axes: its height, and the space on its left and right, in pixels.
struct PlotArea {
  double height, left, right;
};
/// Returns a <figure> with a title, a note, an SVG image with the content `picture`, and the legend below it.
std::string figure(const std::string& title, const std::string& note, const std::string& description,
                   const PlotArea& area, const std::string& picture, const std::string& legend,
                   const std::string& kind = "");
/// Returns a legend entry. @param mark  symbol of the entry: 'b' box, 'l' line with marker, 'm' marker, 'd' dashed
/// line, 's' solid line, 'h' hollow marker
std::string legend_entry(const std::string& name, int style, char mark);

}  // namespace tandem::tools::page
