// Draws flame graphs.
#include "tandem/tools/page/flame_graph.h"

#include <algorithm>

#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools::page {
namespace {

constexpr double kWidth = 960, kRow = 18, kNarrowest = 0.4, kText = 11;

/// Appends the SVG of a frame and its children. Returns the bottom of the lowest of them.
double draw(std::string& out, const FlameFrame& frame, double x, double y, double scale) {
  const double width = frame.value * scale;
  if (width < kNarrowest) return y;
  out += cat("<g><title>", escape(frame.tip), "</title><rect class=\"", fill_class(frame.style), " seg\" x=\"",
             format_coordinate(x), "\" y=\"", format_coordinate(y), "\" width=\"", format_coordinate(width),
             "\" height=\"", kRow - 1, "\"/>");
  constexpr double kMargin = 3, kShortestText = 24;
  if (width > kShortestText)
    out += cat("<text class=\"in ", frame.style < kInk ? cat("i", frame.style % 10) : "iw", "\" x=\"",
               format_coordinate(x + kMargin), "\" y=\"", format_coordinate(y + kRow - 6), "\">",
               truncate_text(frame.name, width - 2 * kMargin, kText), "</text>");
  out += "</g>\n";
  double bottom = y + kRow;
  for (const FlameFrame& child : frame.children) {
    bottom = std::max(bottom, draw(out, child, x, y + kRow, scale));
    x += child.value * scale;
  }
  return bottom;
}

}  // namespace

std::string svg(const FlameGraph& graph) {
  if (graph.root.value <= 0) return "";
  constexpr double kEdge = 1;
  std::string picture, legend;
  const double bottom = draw(picture, graph.root, kEdge, kEdge, (kWidth - 2 * kEdge) / graph.root.value);
  for (const Segment& entry : graph.legend) legend += legend_entry(entry.name, entry.style, 'b');
  return figure(graph.title, graph.description, kWidth, bottom + kEdge, picture, legend, "wide");
}

}  // namespace tandem::tools::page
