// The confusion matrix as SVG.
#include <algorithm>
#include <cmath>

#include "tandem/tools/demo/report.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools {
namespace {

using page::cat;
using page::count;
using page::escape;
using page::percent;
using page::place;

constexpr double kWidth = 360, kLeft = 66, kRight = 24, kTop = 68, kCell = (kWidth - kLeft - kRight) / kClassCount,
                 kCellHeight = 25;

/// The root makes the few that are wrong visible beside the many that are right.
double opacity(double share) { return std::sqrt(share); }

std::string cell(int truth, int predicted, int64_t images, double share) {
  const double x = kLeft + kCell * predicted, y = kTop + kCellHeight * truth;
  const std::string tip = cat(count(images), " images of class ", kClasses[truth], ", ", percent(share),
                              " of them, are taken for ", kClasses[predicted]);
  std::string out =
      cat("<rect class=\"cell", truth == predicted ? " right" : "", "\" x=\"", place(x), "\" y=\"", place(y),
          "\" width=\"", place(kCell), "\" height=\"", place(kCellHeight),
          "\" style=\"fill-opacity:", place(100 * opacity(share)), "%\"><title>", escape(tip), "</title></rect>");
  if (images > 0)
    out += cat("<text class=\"count", opacity(share) > 0.6 ? " on" : "", "\" x=\"", place(x + kCell / 2), "\" y=\"",
               place(y + kCellHeight / 2 + 3.5), "\">", images, "</text>\n");
  return out;
}

std::string key(int percent_of_row) {
  return cat(
      "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"cell right\" x=\"4\" y=\"1\" "
      "width=\"14\" height=\"10\" style=\"fill-opacity:",
      place(100 * opacity(percent_of_row / 100.0)), "%\"/></svg>", percent_of_row, " %</li>");
}

}  // namespace

std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts) {
  std::string picture =
      cat("<text class=\"al\" x=\"2\" y=\"", place(kTop - 6), "\">truth ↓</text><text class=\"al e\" x=\"",
          place(kLeft - 4), "\" y=\"12\">taken for →</text>\n");
  int64_t right = 0, all = 0;
  for (int truth = 0; truth < kClassCount; ++truth) {
    const double middle = kCell * (truth + 0.5) + kLeft, y = kTop + kCellHeight * (truth + 0.5) + 3.5;
    picture += cat("<text class=\"e class\" x=\"", place(kLeft - 4), "\" y=\"", place(y), "\">", kClasses[truth],
                   "</text><text class=\"class\" transform=\"translate(", place(middle + 3), " ", place(kTop - 5),
                   ") rotate(-60)\">", kClasses[truth], "</text>\n");
    int64_t of_class = 0;
    for (int p = 0; p < kClassCount; ++p) of_class += counts[static_cast<size_t>(truth * kClassCount + p)];
    for (int p = 0; p < kClassCount; ++p) {
      const int64_t images = counts[static_cast<size_t>(truth * kClassCount + p)];
      const double share = of_class > 0 ? static_cast<double>(images) / static_cast<double>(of_class) : 0;
      picture += cell(truth, p, images, share);
      all += images;
      if (truth == p) right += images;
    }
  }
  const std::string description = cat("A row for each class, a column for what its images are taken for. ", right,
                                      " of ", all, " images lie on the diagonal, where both are the same.");
  std::string legend = "<li>share of the class:</li>";
  for (const int share : {1, 10, 50, 100}) legend += key(share);
  return page::figure(title, description, kWidth, kTop + kCellHeight * kClassCount + 2, picture, legend);
}

}  // namespace tandem::tools
