// Implements write_report(): builds the HTML page with curves, bars, table, confusion matrix and mistakes of the demo's
// runs.
#include "tandem/tools/demo/report.h"

#include <algorithm>
#include <cmath>

#include "tandem/data/images/tensor_to_png.h"
#include "tandem/ops/ops.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/page/sections.h"
#include "tandem/tools/page/scale.h"

namespace tandem::tools {
namespace {

using compare::mode_style;
using page::escape_html;
using page::format_integer;
using page::format_number;
using page::format_percent;
using page::pluralize;
using page::str_cat;

std::string mode_label(const std::string& mode) {
  return mode == "single"      ? "one device"
         : mode == "dp"        ? "DataParallel"
         : mode == "ddp_gloo"  ? "DDP, processes (Gloo)"
         : mode == "ddp_nccl"  ? "DDP, processes (NCCL)"
         : mode == "ddp_local" ? "DDP, threads"
                               : mode;
}

double sum_memory(const DemoRun& run) {
  double mib = 0;
  for (const double each : run.peak_mib_per_device) mib += each;
  return mib * (1 << 20);
}

/// Returns "A to B", or only "A" if both texts are equal.
std::string format_range(const std::string& low, const std::string& high) {
  return low == high ? low : low + " to " + high;
}

/// Returns what the runs prove: agreement, accuracy, memory and bytes. Their times are not repeated, so they prove
/// nothing.
std::string summary_section(const DemoSettings& s, const DemoData& data, const std::vector<DemoRun>& runs) {
  const auto by = [&](auto value) {
    return std::minmax_element(runs.begin(), runs.end(),
                               [&](const DemoRun& a, const DemoRun& b) { return value(a) < value(b); });
  };
  const auto accuracy = by([](const DemoRun& run) { return run.test_accuracy; });
  const auto memory = by(sum_memory);
  const auto moved = by([](const DemoRun& run) { return run.mib_moved_per_step; });
  double largest = -1;
  for (const DemoRun& run : runs) largest = std::max(largest, run.max_parameter_difference.value_or(-1));
  std::string text;
  if (largest >= 0)
    text +=
        largest == 0
            ? str_cat("All modes train the same model: after ", s.compare_steps,
                      " steps every parallel mode has the parameters of its reference on one device, to the last bit. ")
            : str_cat("After ", s.compare_steps, " steps the parameters of a parallel mode differ by up to ",
                      format_number(largest), " from those of its reference on one device. ");
  text += str_cat("After ", pluralize(s.epochs, "epoch"), " ", s.model, " classifies ",
                  format_range(format_number(100 * accuracy.first->test_accuracy, 4),
                               format_number(100 * accuracy.second->test_accuracy, 4)),
                  " % of the ", format_integer(data.test.targets().size(0)), " test images correctly. It needs ",
                  format_range(page::format_byte_size(sum_memory(*memory.first)),
                               page::format_byte_size(sum_memory(*memory.second))),
                  " of memory");
  if (moved.second->mib_moved_per_step > 0)
    text += str_cat(", and moves ",
                    format_range(page::format_byte_size(moved.first->mib_moved_per_step * (1 << 20)),
                                 page::format_byte_size(moved.second->mib_moved_per_step * (1 << 20))),
                    " between devices in a step");
  return text + (runs.size() > 1 ? ", depending on the mode." : ".");
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

std::string curves_section(const std::vector<DemoRun>& runs, int64_t test_images) {
  const size_t each = std::max<size_t>(1, runs[0].history.losses.size() / 60);
  page::LineChart loss, accuracy;
  loss.title = "Training loss";
  loss.note = accuracy.note = "n = 1 run of each mode.";
  loss.description = "The loss of each training mode, over the steps.";
  loss.x = {"step"};
  loss.y = {each == 1 ? "cross entropy of a batch, nats" : str_cat("cross entropy, mean of ", each, " batches, nats")};
  accuracy.title = "Test accuracy";
  accuracy.description = "The share of test images that are classified correctly, over the steps.";
  accuracy.x = {"step"};
  accuracy.y = {
      str_cat("of ", format_integer(std::min(test_images, History::kEvaluationImages)), " test images (not from 0)"),
      page::Unit::kPercent};
  accuracy.y.includes_zero = false;
  for (const DemoRun& run : runs) {
    page::Series series{mode_label(run.mode), mode_style(run.mode), average_points(run.history.losses, each)};
    series.has_markers = series.points.size() < 2;
    series.is_dashed = run.mode == "dp";  // dashed, so that an identical line of one device stays visible below it
    loss.series.push_back(series);
    series.points.clear();
    series.has_markers = run.history.accuracies.size() < 2;
    for (const History::Point& point : run.history.accuracies)
      series.points.push_back({static_cast<double>(point.step), point.value, 0, 0,
                               str_cat(format_percent(point.value), " after step ", point.step)});
    accuracy.series.push_back(series);
  }
  const bool ranks =
      std::any_of(runs.begin(), runs.end(), [](const DemoRun& run) { return run.mode.starts_with("ddp"); });
  return page::group_charts(render_svg(loss) + render_svg(accuracy)) +
         page::paragraph(str_cat(ranks ? "The loss of DDP is that of rank 0's part of each batch. " : "",
                                 "Lines of modes with the same values cover each other; the dashed one shows what is "
                                 "below. Training pauses "
                                 "while the accuracy is measured; that time is not counted."));
}

std::string resources_section(const std::vector<DemoRun>& runs) {
  page::BarChart memory{"Peak memory",
                        "Peak memory in use on each device.",
                        {"peak memory, all devices together", page::Unit::kBytes},
                        {},
                        "n = 1 run of each mode. Bar: the sum of the devices' peaks.",
                        false};
  page::BarChart moved{"Bytes moved",
                       "Bytes sent between devices in a step.",
                       {"sent in a step, all devices together", page::Unit::kBytes},
                       {},
                       "n = 1 run of each mode. Bar: counted bytes.",
                       false,
                       false};
  page::BarChart speed{"Speed, not repeated",
                       "Images per second of each training mode.",
                       {"images per second"},
                       {},
                       "n = 1 run of each mode, so timings are indicative.",
                       false,
                       false};
  page::Table table("All figures", {"Mode", "Seconds", "Images/s", "Test accuracy", "Last loss", "Peak memory",
                                    "Moved per step", "Largest difference"});
  for (const DemoRun& run : runs) {
    const std::string images = format_integer(std::llround(run.samples_per_second)), label = mode_label(run.mode);
    const double bytes_moved = run.mib_moved_per_step * (1 << 20);
    const std::string moved_text = page::format_byte_size(bytes_moved);
    const int style = mode_style(run.mode);
    speed.rows.push_back({label, images, {{"images per second", style, run.samples_per_second, images}}, {}});
    moved.rows.push_back({label, moved_text, {{"bytes", style, bytes_moved, moved_text}}, {}});
    page::BarRow row{label, page::format_byte_size(sum_memory(run)), {}, {}};
    std::string peaks;
    for (size_t i = 0; i < run.peak_mib_per_device.size(); ++i) {
      const double bytes = run.peak_mib_per_device[i] * (1 << 20);
      row.segments.push_back({str_cat("device ", i), style, bytes, page::format_byte_size(bytes)});
      peaks += (i == 0 ? "" : " + ") + page::format_byte_size(bytes);
    }
    memory.rows.push_back(row);
    table.add_row({label, format_number(run.seconds), images, format_percent(run.test_accuracy),
                   format_number(run.final_loss), peaks, moved_text,
                   run.max_parameter_difference ? format_number(*run.max_parameter_difference) : "-"});
  }
  return page::group_charts(render_svg(memory) + render_svg(moved) + render_svg(speed)) + table.render_html();
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
std::string mistakes_section(const DemoRun& run, const FashionMNIST& test) try {
  if (run.history.mistakes.empty()) return page::paragraph("There are none: every test image is classified correctly.");
  std::string out;
  for (const History::Mistake& m : run.history.mistakes) {
    const std::vector<size_t> row = {static_cast<size_t>(m.image)};
    const Tensor pixels = test.get_stacked(row).data[0].mul(255).round().to(kUInt8);
    const std::string what =
        str_cat("test image ", m.image, ": ", kClassNames[m.truth], ", taken for ", kClassNames[m.predicted]);
    out += str_cat("<figure><img alt=\"", what, "\" width=\"84\" height=\"84\" src=\"data:image/png;base64,",
                   base64(data::tensor_to_png("demo", pixels)), "\"/><figcaption>is <b>", kClassNames[m.truth],
                   "</b><br/>taken for <b>", kClassNames[m.predicted], "</b>, <span>", format_percent(m.probability),
                   "</span></figcaption></figure>\n");
  }
  return page::paragraph(
             "The misclassified test images with the highest predicted probability, which is shown below each.") +
         "<div class=\"mistakes\">\n" + out + "</div>\n";
} catch (const NotImplementedError& error) {
  return page::paragraph(error.msg() + ".");
}

/// Style of correctly classified images: the colour of the confusion matrix's diagonal.
constexpr int kCorrectStyle = 1;

/// Returns a chart of the fraction of each class's images that are classified correctly.
std::string class_accuracy_chart(const DemoRun& run) {
  page::BarChart chart{"Accuracy of each class, " + mode_label(run.mode),
                       "The share of each class's test images that are classified correctly.",
                       {"of the class's images", page::Unit::kPercent},
                       {},
                       "n = all test images of the class. Bar: share that is classified correctly.",
                       false,
                       false};
  for (int truth = 0; truth < kNumClasses; ++truth) {
    int64_t all = 0;
    const auto row = run.history.confusion.begin() + truth * kNumClasses;
    for (int p = 0; p < kNumClasses; ++p) all += row[p];
    if (all == 0) continue;
    const double share = static_cast<double>(row[truth]) / static_cast<double>(all);
    const std::string text = str_cat(format_percent(share), " of ", format_integer(all));
    chart.rows.push_back({kClassNames[truth], text, {{"correct", kCorrectStyle, share, text}}, {}});
  }
  return render_svg(chart);
}

std::string provenance_section(const DemoSettings& s) {
  compare::Settings settings;
  settings.seed = s.seed;
  settings.command_line = s.command_line;
  compare::Report report;
  report.provenance = compare::collect_provenance(settings);
  const auto row = [](const std::string& name, const std::string& value) {
    return str_cat("<dt>", name, "</dt><dd>", escape_html(value), "</dd>\n");
  };
  return "<dl>\n" + row("Model", s.model) + row("Data", s.data) + row("Epochs", str_cat(s.epochs)) +
         row("Batch", str_cat(s.batch_size, " images per step, over all devices")) +
         row("Optimizer", "Adam, rate 0.001") +
         row("Devices of DataParallel", str_cat(s.devices, s.device == "cpu" ? " virtual CPU devices" : " GPUs")) +
         row("Ranks of DDP", str_cat(s.ranks)) + "</dl>\n" + provenance_body(report, compare::ModeStyles(report));
}

const char* const kPageCss = R"(
dl{grid-template-columns:12.5em 1fr}dl+dl{margin-top:-8px}
svg .cell{fill:var(--p5);stroke:var(--rule);stroke-width:.6}
svg .right{fill:var(--p1)}
svg .count{font-size:11px;text-anchor:middle}
svg .on-right{fill:var(--o1)}svg .on-wrong{fill:var(--o5)}
.mistakes{display:grid;grid-template-columns:repeat(auto-fill,minmax(104px,1fr));gap:16px 10px}
.mistakes figure{margin:0}
.mistakes b,.mistakes span{white-space:nowrap}
.mistakes img{display:block;image-rendering:pixelated;border:1px solid var(--rule)}
.mistakes figcaption{font-weight:400;font-size:.78rem;line-height:1.3;margin-top:4px}
)";

using page::format_coordinate;
using page::format_x;

constexpr double kLeftMargin = 76, kRightMargin = 40, kTopMargin = 68, kCellWidthPercent = 100.0 / kNumClasses,
                 kCellHeight = 25;

/// Returns the opacity of a cell of the confusion matrix. The square root keeps small counts of wrong images visible
/// beside large counts of correct ones.
double cell_opacity(double share) { return std::sqrt(share); }

std::string confusion_cell(int truth, int predicted, int64_t images, double share) {
  const double x = kCellWidthPercent * predicted, y = kTopMargin + kCellHeight * truth;
  const std::string tooltip = str_cat(format_integer(images), " images of class ", kClassNames[truth], ", ",
                                      format_percent(share), " of them, are predicted as ", kClassNames[predicted]);
  std::string out =
      str_cat("<rect class=\"cell", truth == predicted ? " right" : "", "\" x=\"", format_x(x), "\" y=\"",
              format_coordinate(y), "\" width=\"", format_x(kCellWidthPercent), "\" height=\"",
              format_coordinate(kCellHeight), "\" style=\"fill-opacity:", format_coordinate(100 * cell_opacity(share)),
              "%\"><title>", escape_html(tooltip), "</title></rect>");
  if (images > 0)
    out += str_cat("<text class=\"count",
                   cell_opacity(share) <= 0.6 ? ""
                   : truth == predicted       ? " on-right"
                                              : " on-wrong",
                   "\" x=\"", format_x(x + kCellWidthPercent / 2), "\" y=\"",
                   format_coordinate(y + kCellHeight / 2 + 4), "\">", images, "</text>\n");
  return out;
}

std::string legend_key(int percent_of_row) {
  return str_cat(
      "<li><svg class=\"key\" viewBox=\"0 0 22 12\" aria-hidden=\"true\"><rect class=\"cell right\" x=\"4\" y=\"1\" "
      "width=\"14\" height=\"10\" style=\"fill-opacity:",
      format_coordinate(100 * cell_opacity(percent_of_row / 100.0)), "%\"/></svg>", percent_of_row, " %</li>");
}

}  // namespace

void write_report(const std::string& path, const DemoSettings& s, const DemoData& data,
                  const std::vector<DemoRun>& runs) {
  const DemoRun& first = runs[0];
  const std::string title = str_cat(s.model, " on FashionMNIST");
  page::Page page{.title = "tandem demo: " + title,
                  .heading = title,
                  .style = kPageCss,
                  .introduction = "<p class=\"verdict\">" + escape_html(summary_section(s, data, runs)) +
                                  "</p>\n<p class=\"note\">Each mode ran once, not repeated: timings are indicative. "
                                  "<code>tandem compare</code> repeats them.</p>\n",
                  .footer = "Made by tandem demo --report."};
  page.sections = {
      {"curves", "Training curves", curves_section(runs, data.test.targets().size(0))},
      {"resources", "Memory, bytes and speed", resources_section(runs)},
      {"confusion", "Confusion matrix",
       page::group_charts(confusion_chart("Confusion matrix, " + mode_label(first.mode), first.history.confusion) +
                          class_accuracy_chart(first))},
      {"mistakes", "Mistakes", mistakes_section(first, data.test)},
      {"provenance", "Settings and versions", provenance_section(s)}};
  write_file_atomically("demo", path, render_html(page));
}

std::string confusion_chart(const std::string& title, const std::vector<int64_t>& counts) {
  std::string picture =
      str_cat("<text class=\"al\" x=\"", 2 - kLeftMargin, "\" y=\"", kTopMargin - 6,
              "\">truth ↓</text><text class=\"al\" x=\"", 2 - kLeftMargin, "\" y=\"12\">predicted →</text>\n");
  int64_t right = 0, all = 0;
  for (int truth = 0; truth < kNumClasses; ++truth) {
    picture += str_cat("<text class=\"e\" x=\"-5\" y=\"",
                       format_coordinate(kTopMargin + kCellHeight * (truth + 0.5) + 4), "\">", kClassNames[truth],
                       "</text><svg x=\"", format_x(kCellWidthPercent * (truth + 0.5)), "\" y=\"", kTopMargin - 5,
                       "\"><text transform=\"translate(4 0) rotate(-55)\">", kClassNames[truth], "</text></svg>\n");
    int64_t class_total = 0;
    for (int p = 0; p < kNumClasses; ++p) class_total += counts[static_cast<size_t>(truth * kNumClasses + p)];
    for (int p = 0; p < kNumClasses; ++p) {
      const int64_t images = counts[static_cast<size_t>(truth * kNumClasses + p)];
      const double share = class_total > 0 ? static_cast<double>(images) / static_cast<double>(class_total) : 0;
      picture += confusion_cell(truth, p, images, share);
      all += images;
      if (truth == p) right += images;
    }
  }
  const std::string description = str_cat("A row for each class, a column for each predicted class. ", right, " of ",
                                          all, " images are on the diagonal: they are classified correctly.");
  std::string legend = "<li>share of the class:</li>";
  for (const int share : {1, 10, 50, 100}) legend += legend_key(share);
  return page::figure(
      title, str_cat("n = ", format_integer(all), " test images. Number: images; shade: share of the class's images."),
      description, {kTopMargin + kCellHeight * kNumClasses + 2, kLeftMargin, kRightMargin}, picture, legend);
}

}  // namespace tandem::tools
