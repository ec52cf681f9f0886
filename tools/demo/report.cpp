// Implements write_report(): builds the HTML page with curves, bars, table, confusion matrix and mistakes of the demo's
// runs.
#include "tandem/tools/demo/report.h"

#include <algorithm>
#include <cmath>

#include "tandem/data/images/tensor_to_png.h"
#include "tandem/ops/ops.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/page/parts.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools {
namespace {

using page::cat;
using page::count;
using page::escape;
using page::number;
using page::percent;
using page::plural;

/// Returns the style of a mode, which gives it the same colour in all charts.
int mode_style(const std::string& mode) {
  return mode == "single" ? page::kInk : mode == "dp" ? 1 : mode == "ddp_gloo" ? 0 : mode == "ddp_local" ? 2 : 5;
}
std::string mode_label(const std::string& mode) {
  return mode == "single"      ? "one device"
         : mode == "dp"        ? "DataParallel"
         : mode == "ddp_gloo"  ? "DDP, processes (Gloo)"
         : mode == "ddp_nccl"  ? "DDP, processes (NCCL)"
         : mode == "ddp_local" ? "DDP, threads"
                               : mode;
}

std::string summary(const DemoSettings& s, const std::vector<DemoRun>& runs) {
  const DemoRun& first = runs[0];
  const auto* fastest = &*std::max_element(runs.begin(), runs.end(), [](const DemoRun& a, const DemoRun& b) {
    return a.samples_per_second < b.samples_per_second;
  });
  std::string text =
      cat(s.model, " classifies ", number(100 * first.test_accuracy, 4), " % of the test images correctly after ",
          plural(s.epochs, "epoch"), " (", mode_label(first.mode), ").");
  if (runs.size() > 1)
    text += cat(" Of ", runs.size(), " training modes, ", mode_label(fastest->mode), " was the fastest, with ",
                count(std::llround(fastest->samples_per_second)), " images per second.");
  double largest = -1;
  for (const DemoRun& run : runs) largest = std::max(largest, run.max_parameter_difference.value_or(-1));
  if (largest >= 0)
    text += cat(" After ", s.compare_steps,
                " steps every parallel mode has the parameters of its reference on one device, ",
                largest == 0 ? "to the last bit." : cat("with a difference of up to ", number(largest), "."));
  return text;
}

/// Averages every `each` consecutive points into one, to smooth the noise of single batches.
std::vector<page::ChartPoint> average_points(const std::vector<History::Point>& points, size_t each) {
  std::vector<page::ChartPoint> out;
  for (size_t begin = 0; begin < points.size(); begin += each) {
    const size_t end = std::min(begin + each, points.size());
    double sum = 0, steps = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += points[i].value;
      steps += static_cast<double>(points[i].step);
    }
    const auto n = static_cast<double>(end - begin);
    out.push_back({steps / n, sum / n, 0, 0, ""});
  }
  return out;
}

std::string curves(const std::vector<DemoRun>& runs, int64_t test_images) {
  const size_t each = std::max<size_t>(1, runs[0].history.losses.size() / 60);
  page::LineChart loss, accuracy;
  loss.title = "Training loss";
  loss.description = "The loss of each training mode, over the steps.";
  loss.x = {"step"};
  loss.y = {each == 1 ? "cross entropy of a batch, nats" : cat("cross entropy, mean of ", each, " batches, nats")};
  accuracy.title = "Test accuracy";
  accuracy.description = "The share of test images that are classified correctly, over the steps.";
  accuracy.x = {"step"};
  accuracy.y = {cat("of ", count(std::min(test_images, History::kEvaluationImages)), " test images"),
                page::Unit::kPercent};
  accuracy.y.from_zero = false;
  for (const DemoRun& run : runs) {
    page::Series series{mode_label(run.mode), mode_style(run.mode), average_points(run.history.losses, each)};
    series.markers = series.points.size() < 2;
    series.dashed = run.mode == "dp";  // dashed, so that an identical line of one device stays visible below it
    loss.series.push_back(series);
    series.points.clear();
    series.markers = run.history.accuracies.size() < 2;
    for (const History::Point& point : run.history.accuracies)
      series.points.push_back(
          {static_cast<double>(point.step), point.value, 0, 0, cat(percent(point.value), " after step ", point.step)});
    accuracy.series.push_back(series);
  }
  const bool ranks =
      std::any_of(runs.begin(), runs.end(), [](const DemoRun& run) { return run.mode.starts_with("ddp"); });
  return page::charts(svg(loss) + svg(accuracy)) +
         page::paragraph(cat(ranks ? "The loss of DDP is that of rank 0's part of each batch. " : "",
                             "Training pauses while the accuracy is measured; that time is not counted."));
}

std::string resources(const std::vector<DemoRun>& runs) {
  page::BarChart speed{"Speed", "Images per second of each training mode.", {"images per second"}, {}};
  page::BarChart memory{"Peak memory",
                        "Peak memory in use on each device.",
                        {"peak memory, all devices together", page::Unit::kBytes},
                        {}};
  page::Table table("All figures", {"Way", "Seconds", "Images/s", "Test accuracy", "Last loss", "Peak memory",
                                    "Moved per step", "Largest difference"});
  for (const DemoRun& run : runs) {
    const std::string images = count(std::llround(run.samples_per_second));
    speed.rows.push_back(
        {mode_label(run.mode), images, {{"images per second", 0, run.samples_per_second, images}}, {}});
    page::BarRow row{mode_label(run.mode), "", {}, {}};
    double sum = 0;
    std::string peaks;
    for (size_t i = 0; i < run.peak_mib_per_device.size(); ++i) {
      const double bytes = run.peak_mib_per_device[i] * (1 << 20);
      row.segments.push_back({cat("device ", i), static_cast<int>(i), bytes, page::byte_size(bytes)});
      peaks += (i == 0 ? "" : " + ") + page::byte_size(bytes);
      sum += bytes;
    }
    row.value = page::byte_size(sum);
    memory.rows.push_back(row);
    table.add({mode_label(run.mode), number(run.seconds), images, percent(run.test_accuracy), number(run.final_loss),
               peaks, page::byte_size(run.mib_moved_per_step * (1 << 20)),
               run.max_parameter_difference ? number(*run.max_parameter_difference) : "-"});
  }
  return page::charts(svg(speed) + svg(memory)) + table.html();
}

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t j = i; j < i + 3; ++j) bits = bits << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += i + j > bytes.size() ? '=' : kDigits[bits >> (18 - 6 * j) & 63];
  }
  return text;
}

/// Returns HTML that shows the mistakes side by side, highest probability first.
std::string mistakes(const DemoRun& run, const FashionMNIST& test) try {
  if (run.history.mistakes.empty()) return page::paragraph("There are none: every test image is classified correctly.");
  std::string out;
  for (const History::Mistake& m : run.history.mistakes) {
    const std::vector<size_t> row = {static_cast<size_t>(m.image)};
    const Tensor pixels = test.get_stacked(row).data[0].mul(255).round().to(kUInt8);
    const std::string what =
        cat("test image ", m.image, ": ", kClasses[m.truth], ", taken for ", kClasses[m.predicted]);
    out += cat("<figure><img alt=\"", what, "\" width=\"84\" height=\"84\" src=\"data:image/png;base64,",
               base64(data::tensor_to_png("demo", pixels)), "\"/><figcaption>is <b>", kClasses[m.truth],
               "</b><br/>taken for <b>", kClasses[m.predicted], "</b>, ", percent(m.probability),
               "</figcaption></figure>\n");
  }
  return page::paragraph(
             "The misclassified test images with the highest predicted probability, which is shown below each.") +
         "<div class=\"mistakes\">\n" + out + "</div>\n";
} catch (const NotImplementedError& error) {
  return page::paragraph(error.msg() + ".");
}

/// Returns a sentence that names the classes with the highest and the lowest fraction of correctly classified images.
std::string describe_class_accuracy(const std::vector<int64_t>& counts) {
  std::vector<std::pair<double, int>> class_accuracies;
  for (int truth = 0; truth < kClassCount; ++truth) {
    int64_t all = 0;
    for (int p = 0; p < kClassCount; ++p) all += counts[static_cast<size_t>(truth * kClassCount + p)];
    if (all > 0)
      class_accuracies.emplace_back(
          static_cast<double>(counts[static_cast<size_t>(truth * (kClassCount + 1))]) / static_cast<double>(all),
          truth);
  }
  if (class_accuracies.empty()) return "";
  std::sort(class_accuracies.begin(), class_accuracies.end());
  return cat("Best known: ", kClasses[class_accuracies.back().second], " (", percent(class_accuracies.back().first),
             "). Least known: ", kClasses[class_accuracies.front().second], " (",
             percent(class_accuracies.front().first), ").");
}

std::string provenance(const DemoSettings& s) {
  compare::Settings settings;
  settings.seed = s.seed;
  settings.command_line = s.command_line;
  compare::Report report;
  report.provenance = compare::provenance(settings);
  const auto row = [](const std::string& name, const std::string& value) {
    return cat("<dt>", name, "</dt><dd>", escape(value), "</dd>\n");
  };
  return "<dl>\n" + row("Model", s.model) + row("Data", s.data) + row("Epochs", cat(s.epochs)) +
         row("Batch", cat(s.batch_size, " images per step, over all devices")) + row("Optimizer", "Adam, rate 0.001") +
         row("Devices of DataParallel", cat(s.devices, s.device == "cpu" ? " virtual CPU devices" : " GPUs")) +
         row("Ranks of DDP", cat(s.ranks)) + "</dl>\n" + provenance_body(report, compare::ModeStyles(report));
}

const char* const kStyle = R"(
dl{grid-template-columns:12.5em 1fr}dl+dl{margin-top:-8px}
svg .cell{fill:var(--c3);stroke:var(--grid);stroke-width:.6}
svg .right{fill:var(--c0)}
svg .count{font-size:10px;text-anchor:middle;stroke:none}
svg .on{fill:var(--o0)}
svg .class{font-size:10px}
.mistakes{display:grid;grid-template-columns:repeat(auto-fill,minmax(104px,1fr));gap:16px 10px}
.mistakes figure{margin:0}
.mistakes b{white-space:nowrap}
.mistakes img{display:block;image-rendering:pixelated;border:1px solid var(--rule)}
.mistakes figcaption{font-weight:400;font-size:.78rem;line-height:1.3;margin-top:4px}
)";

using page::format_coordinate;

constexpr double kWidth = 360, kLeft = 66, kRight = 24, kTop = 68, kCell = (kWidth - kLeft - kRight) / kClassCount,
                 kCellHeight = 25;

/// Returns the opacity of a cell of the confusion matrix. The square root keeps small counts of wrong images visible
/// beside large counts of correct ones.
double opacity(double share) { return std::sqrt(share); }

std::string cell(int truth, int predicted, int64_t images, double share) {
  const double x = kLeft + kCell * predicted, y = kTop + kCellHeight * truth;
  const std::string tip = cat(count(images), " images of class ", kClasses[truth], ", ", percent(share),
                              " of them, are predicted as ", kClasses[predicted]);
  std::string out =
      cat("<rect class=\"cell", truth == predicted ? " right" : "", "\" x=\"", format_coordinate(x), "\" y=\"",
          format_coordinate(y), "\" width=\"", format_coordinate(kCell), "\" height=\"", format_coordinate(kCellHeight),
          "\" style=\"fill-opacity:", format_coordinate(100 * opacity(share)), "%\"><title>", escape(tip),
          "</title></rect>");
  if (images > 0)
    out += cat("<text class=\"count", opacity(share) > 0.6 ? " on" : "", "\" x=\"", format_coordinate(x + kCell / 2),
               "\" y=\"", format_coordinate(y + kCellHeight / 2 + 3.5), "\">", images, "</text>\n");
  return out;
}

std::string legend_key(int percent_of_row) {
  return cat(
      "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"cell right\" x=\"4\" y=\"1\" "
      "width=\"14\" height=\"10\" style=\"fill-opacity:",
      format_coordinate(100 * opacity(percent_of_row / 100.0)), "%\"/></svg>", percent_of_row, " %</li>");
}

}  // namespace

void write_report(const std::string& path, const DemoSettings& s, const DemoData& data,
                  const std::vector<DemoRun>& runs) {
  const DemoRun& first = runs[0];
  const std::string title = cat(s.model, " on FashionMNIST");
  page::Page page{.title = "tandem demo: " + title,
                  .heading = title,
                  .style = kStyle,
                  .introduction = "<p class=\"verdict\">" + escape(summary(s, runs)) + "</p>\n",
                  .footer = "Made by tandem demo --report."};
  page.sections = {{"curves", "Training curves", curves(runs, data.test.targets().size(0))},
                   {"resources", "Time and memory", resources(runs)},
                   {"confusion", "Confusion matrix",
                    confusion_chart(cat("The test images, ", mode_label(first.mode)), first.history.confusion) +
                        page::paragraph(describe_class_accuracy(first.history.confusion))},
                   {"mistakes", "Mistakes", mistakes(first, data.test)},
                   {"provenance", "Settings and versions", provenance(s)}};
  write_file_atomically("demo", path, html(page));
}

std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts) {
  std::string picture =
      cat("<text class=\"al\" x=\"2\" y=\"", format_coordinate(kTop - 6), "\">truth ↓</text><text class=\"al e\" x=\"",
          format_coordinate(kLeft - 4), "\" y=\"12\">predicted as →</text>\n");
  int64_t right = 0, all = 0;
  for (int truth = 0; truth < kClassCount; ++truth) {
    const double middle = kCell * (truth + 0.5) + kLeft, y = kTop + kCellHeight * (truth + 0.5) + 3.5;
    picture +=
        cat("<text class=\"e class\" x=\"", format_coordinate(kLeft - 4), "\" y=\"", format_coordinate(y), "\">",
            kClasses[truth], "</text><text class=\"class\" transform=\"translate(", format_coordinate(middle + 3), " ",
            format_coordinate(kTop - 5), ") rotate(-60)\">", kClasses[truth], "</text>\n");
    int64_t class_total = 0;
    for (int p = 0; p < kClassCount; ++p) class_total += counts[static_cast<size_t>(truth * kClassCount + p)];
    for (int p = 0; p < kClassCount; ++p) {
      const int64_t images = counts[static_cast<size_t>(truth * kClassCount + p)];
      const double share = class_total > 0 ? static_cast<double>(images) / static_cast<double>(class_total) : 0;
      picture += cell(truth, p, images, share);
      all += images;
      if (truth == p) right += images;
    }
  }
  const std::string description = cat("A row for each class, a column for each predicted class. ", right, " of ", all,
                                      " images are on the diagonal: they are classified correctly.");
  std::string legend = "<li>share of the class:</li>";
  for (const int share : {1, 10, 50, 100}) legend += legend_key(share);
  return page::figure(title, description, kWidth, kTop + kCellHeight * kClassCount + 2, picture, legend);
}

}  // namespace tandem::tools
