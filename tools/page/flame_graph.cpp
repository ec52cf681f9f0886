// Draws flame graphs.
#include "tandem/tools/page/flame_graph.h"

#include <algorithm>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

// Height of a row in pixels; widths below are percentages of the chart's width, which is at least kMinWidth pixels.
constexpr double kRowHeight = 18, kMinFrameWidth = 0.05, kMinWidth = 760;

/// Appends the SVG of a frame and its children. Returns the bottom of the lowest of them.
double draw_frame(std::string& out, const FlameFrame& frame, double x, double y, double scale) {
  const double width = frame.value * scale;
  if (width < kMinFrameWidth) return y;
  out += str_cat("<g><title>", escape_html(frame.tooltip), "</title><rect class=\"", fill_class(frame.style),
                 " seg\" x=\"", format_x(x), "\" y=\"", format_coordinate(y), "\" width=\"", format_x(width),
                 "\" height=\"", kRowHeight - 1, "\"/>");
  constexpr double kMargin = 3, kShortestText = 24;
  const double pixels = width / 100 * kMinWidth;
  if (pixels > kShortestText)
    out += str_cat("<text class=\"in i", fill_class(frame.style), "\" x=\"", format_x(x), "\" dx=\"", kMargin,
                   "\" y=\"", format_coordinate(y + kRowHeight - 6), "\">",
                   truncate_text(frame.name, pixels - 2 * kMargin), "</text>");
  out += "</g>\n";
  double bottom = y + kRowHeight;
  for (const FlameFrame& child : frame.children) {
    bottom = std::max(bottom, draw_frame(out, child, x, y + kRowHeight, scale));
    x += child.value * scale;
  }
  return bottom;
}

}  // namespace

std::string render_svg(const FlameGraph& graph) {
  if (graph.root.value <= 0) return "";
  constexpr double kEdge = 1;
  std::string picture, legend;
  const double bottom = draw_frame(picture, graph.root, 0, kEdge, 100 / graph.root.value);
  for (const Segment& entry : graph.legend) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(graph.title, /*note=*/"", graph.description, {bottom + kEdge, kEdge, kEdge}, picture, legend, "wide");
}

}  // namespace tandem::tools::page
