// A flame graph, drawn as inline SVG without scripts: where a program spends its time, by call stack.
#pragma once
#include <string>
#include <vector>

#include "tandem/tools/page/chart.h"

namespace tandem::tools::page {

/// A function, module or operation on one stack. Its width is its value.
struct FlameFrame {
  std::string name;
  int style = 0;  // index of the colour
  double value = 0;
  std::string tooltip;               // tooltip
  std::vector<FlameFrame> children;  // their values add up to at most `value`; the rest is left blank below the frame
};
struct FlameGraph {
  std::string title, description;
  FlameFrame root;
  std::vector<Segment> legend;  // names and colours for the legend
};
/// Draws the graph with the root at the top and children below their parents, in the given order. Frames narrower than
/// 0.05 % of the chart are left out. Like a timeline, the graph is wide and scrolls in a box of its own. Returns the
/// chart as a <figure>; "" if the root's value is 0.
std::string render_svg(const FlameGraph& graph);

}  // namespace tandem::tools::page
