// Implements as_text(): formats the text and tables of `tandem simulate --check-skill`.
#include <algorithm>
#include <cmath>
#include <map>

#include "tandem/tools/simulate/skill.h"
#include "tandem/tools/simulate/text.h"

namespace tandem::simulate {
namespace {

void append_provenance(std::string& text, const Skill& skill) {
  append_printf(text, "What these rows are\n");
  if (skill.additivity > 1e-6) {
    append_printf(text, "  The difference between two numbers of GPUs varies by up to %.3g ms with the batch size.\n\n",
                  1e3 * skill.additivity);
    return;
  }
  append_printf(
      text,
      "  Their authors call the rows measured. Yet the recorded difference between two numbers of GPUs is the same "
      "for\n"
      "  every batch size, to %.1g ns, at steps of up to a second; measured times would not repeat so exactly. All "
      "rows\n"
      "  are sums of about %zu figures. So the errors below say how well the model follows these figures, which look\n"
      "  computed; they do not prove its skill on a real machine, and must not be compared with the error of a "
      "simulator\n"
      "  on measurements. The all-reduce table has a clock's noise: its errors are errors of predicted "
      "measurements.\n\n",
      std::max(1.0, 1e9 * skill.additivity), skill.num_distinct);
}

void append_held_out(std::string& text, const Skill& skill) {
  append_printf(
      text,
      "Steps that the model was not fitted to: relative errors, in %%\n"
      "                                          model                in the 90 %%   FLOPs    nearest  constant\n"
      "held out                       rows   median   mean  largest    interval   median     median    median\n");
  for (const HeldOutErrors& h : skill.held_out)
    append_printf(text, "%-29s %5zu %8.1f %6.1f %8.1f %10.0f %% %8.1f %10.1f %9.1f\n", h.what.c_str(), h.model.rows,
                  100 * h.model.median, 100 * h.model.mean, 100 * h.model.largest, 100 * h.interval_coverage,
                  100 * h.flops.median, 100 * h.nearest.median, 100 * h.constant.median);
  append_printf(text, "Calibrated by any one row of that width, the median error on the others is %.1f to %.1f %%.\n",
                100 * skill.min_calibrated_error, 100 * skill.max_calibrated_error);
  for (const HeldOutErrors& h : skill.held_out) {
    if (h.model.median > h.nearest.median)
      append_printf(text, "No skill: for \"%s\", the nearest fitted row is a better prediction than the model.\n",
                    h.what.c_str());
    if (h.interval_coverage < 0.7)
      append_printf(text, "Too narrow: only %.0f %% of \"%s\" lie in the 90 %% interval.\n", 100 * h.interval_coverage,
                    h.what.c_str());
  }
}

void append_all_reduces(std::string& text, const Skill& skill) {
  append_printf(text,
                "\nAll-reduces of 3, 5, 6 and 7 GPUs, predicted from those of 2, 4 and 8: relative errors, in %%\n"
                "                                          all sizes                   from 64 MiB on\n"
                "                                 points  median   mean  largest   points  median   mean  largest\n");
  for (const AllReduceErrors& e : skill.all_reduces) {
    append_printf(text, "%-32s", e.what.c_str());
    for (const ErrorStatistics* errors : {&e.all, &e.large})
      append_printf(text, " %6zu %7.1f %6.1f %8.1f  ", errors->rows, 100 * errors->median, 100 * errors->mean,
                    100 * errors->largest);
    append_printf(text, "\n");
  }
  if (skill.all_reduces.front().all.median > skill.all_reduces.back().all.median)
    append_printf(text, "No skill: the nearest number of GPUs that was fitted is a better prediction than the ring.\n");
}

void append_overheads(std::string& text, const Skill& skill) {
  append_printf(
      text,
      "\nWhat n GPUs add to a step of two GPUs, the work of each the same; the ring is fitted to 3, 5, 6 and 7 GPUs\n"
      "hidden  layers  GPUs   recorded, ms   part of the step, %%   predicted, ms   90 %% interval, ms\n");
  struct WidthSummary {
    size_t count = 0, outside = 0, negative = 0;
    double model_error = 0, none_error = 0;
  };
  std::map<int, WidthSummary> widths;
  double min_fraction = 1, max_fraction = 0;
  for (const Overhead& o : skill.overheads) {
    append_printf(text, "%6d %7d %5d %14.3f %10.2f to %5.2f %15.3f %12.3f to %.3f\n", o.hidden_size, o.num_layers,
                  o.num_gpus, 1e3 * o.recorded, 100 * o.min_step_fraction, 100 * o.max_step_fraction, 1e3 * o.predicted,
                  1e3 * o.low, 1e3 * o.high);
    WidthSummary& width = widths[o.hidden_size];
    ++width.count;
    width.outside += o.recorded < o.low || o.recorded > o.high;
    width.negative += o.recorded < 0;
    width.model_error += std::abs(o.predicted - o.recorded);
    width.none_error += std::abs(o.recorded);
    for (const double part : {o.min_step_fraction, o.max_step_fraction}) {
      min_fraction = std::min(min_fraction, std::abs(part));
      max_fraction = std::max(max_fraction, std::abs(part));
    }
  }
  for (const auto& [hidden_size, w] : widths) {
    const double count = static_cast<double>(w.count);
    append_printf(
        text,
        "%s at hidden %d: the model is off by %.2f ms on average, \"no overhead\" by %.2f ms; %zu of %zu lie in their "
        "interval.\n",
        w.model_error < w.none_error ? "Skill" : "No skill", hidden_size, 1e3 * w.model_error / count,
        1e3 * w.none_error / count, w.count - w.outside, w.count);
    if (w.negative > 0)
      append_printf(
          text,
          "  %zu of them are negative: more GPUs are recorded as faster. The ring model predicts no such thing. These\n"
          "  gradients are larger than any all-reduce of the table.\n",
          w.negative);
  }
  append_printf(text, "These are %.2f to %.2f %% of a step: less than the model's own error of a whole step.\n",
                100 * min_fraction, 100 * max_fraction);
}

}  // namespace

std::string as_text(const Skill& skill) {
  std::string text;
  append_provenance(text, skill);
  const GptTimeModel& m = skill.model;
  append_printf(
      text,
      "The model, fitted to the rows of the least width: an operation takes at least %.0f us, %.0f TFLOP/s, memory\n"
      "%.2f TB/s, a pass %.1f ms outside of its layers, the optimizer %.1f ps for each parameter; ring %.1f us, %.0f "
      "GB/s, copies %.0f GB/s\n\n",
      1e6 * m.min_op_seconds, 1e-12 * m.flops_per_second, 1e-12 * m.bandwidth, 1e3 * m.fixed_seconds_per_pass,
      1e12 * m.optimizer_seconds_per_parameter, 1e6 * m.link.latency, 1e-9 * m.link.bandwidth,
      m.link.per_byte > 0 ? 1e-9 / m.link.per_byte : 0);
  append_held_out(text, skill);
  append_all_reduces(text, skill);
  append_overheads(text, skill);
  return text;
}

}  // namespace tandem::simulate
