// From figures to places on an axis: round numbers, their texts, and the frame that charts share.
#pragma once
#include "tandem/tools/page/chart.h"

namespace tandem::tools::page {

struct Tick {
  double value;
  std::string text;
};

/// The places of an axis's numbers between two ends in the chart's own units.
class Scale {
 public:
  /// Chooses round ends around [low, high]. @param count  about how many ticks there is room for
  Scale(const Axis& axis, double low, double high, double from, double to, int count);
  double operator()(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  void make_linear(const Axis& axis, int count);
  void make_log(const Axis& axis, int count);
  bool log_;
  double low_, high_, from_, to_;
  std::vector<Tick> ticks_;
};

/// A coordinate with one decimal.
std::string place(double value);
/// `text` cut to `width` units at `size` units a line, with an ellipsis, escaped. Characters are taken as 0.56 wide.
std::string fitted(const std::string& text, double width, double size);
/// Classes of the colour, its number reduced to those that there are.
std::string fill_class(int style);
std::string stroke_class(int style);
/// A point's mark: circle, square, triangle, diamond, by the style's number.
std::string marker(int style, double x, double y, double size, const std::string& tip);
/// A <figure> with the title, `picture` (what is inside of <svg>), and the legend below, which wraps.
std::string figure(const std::string& title, const std::string& description, double width, double height,
                   const std::string& picture, const std::string& legend, const std::string& kind = "");
/// An entry of a legend, with a mark as the chart has it: 'b' a box, 'l' a line and marker, 'm' a marker, 'd' a dashed
/// line, 's' a line.
std::string legend_entry(const std::string& name, int style, char mark);

}  // namespace tandem::tools::page
