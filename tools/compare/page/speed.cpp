// Builds the page's sections on throughput (by number of devices and by batch), on the times of single steps, and on
// inference.
#include <algorithm>
#include <cmath>

#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/page/sections.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

ChartPoint throughput_point(const Run& run, double x) {
  const Interval& rate = run.examples_per_second;
  return {x, rate.median, rate.low, rate.high,
          str_cat(pluralize(run.devices, "device"), ", batch ", format_integer(run.batch), ": ",
                  format_number(rate.median), " examples/s")};
}

const Run* find_single_run(const Report& report, const std::string& model, int64_t batch) {
  for (const Run& run : report.runs)
    if (run.model == model && is_single(run) && run.batch == batch && run.failed.empty()) return &run;
  return nullptr;
}

/// Adds a line to the chart for each mode that occurs in `runs`. @param x  returns the x coordinate of a run
template <class X>
void add_series(LineChart& chart, const std::vector<const Run*>& runs, const ModeStyles& styles, X x) {
  for (const Run* run : runs) {
    auto found = std::find_if(chart.series.begin(), chart.series.end(),
                              [&](const Series& series) { return series.name == run->label; });
    if (found == chart.series.end()) {
      chart.series.push_back({run->label, styles[*run], {}});
      found = chart.series.end() - 1;
    }
    found->points.push_back(throughput_point(*run, x(*run)));
  }
  for (Series& series : chart.series)
    std::sort(series.points.begin(), series.points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
}

std::vector<double> distinct_values(const std::vector<const Run*>& runs, double (*get_value)(const Run&)) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const Run* run : runs) values.push_back(get_value(*run));
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}
double get_devices(const Run& run) { return run.devices; }
double get_batch(const Run& run) { return static_cast<double>(run.batch); }
double batch_per_device(const Run& run) { return static_cast<double>(run.batch) / run.devices; }

/// Returns the line of ideal throughput. Virtual devices share the cores of one machine, so their ideal is the constant
/// throughput of one device.
Series ideal_line(const Report& report, const Run& single, const std::vector<double>& devices) {
  const double one = single.examples_per_second.median;
  Series ideal{report.virtual_devices ? "one device, all cores" : "ideal: one device, times the devices",
               kTextColourStyle,
               {},
               true,
               false,
               true,
               true};
  for (const double n : devices) ideal.points.push_back({n, report.virtual_devices ? one : one * n, 0, 0, ""});
  return ideal;
}

std::string scaling_chart(const Report& report, const ModeStyles& styles, const std::string& model, bool weak,
                          double batch, std::vector<const Run*> runs) {
  const std::vector<double> counts = distinct_values(runs, get_devices);
  if (counts.size() < 2) return "";
  const Run* const single = find_single_run(report, model, static_cast<int64_t>(batch));
  LineChart chart;
  chart.title = str_cat(weak ? "Weak scaling: " : "Strong scaling: ", model, ", batch ", format_short_number(batch),
                        weak ? " per device" : "");
  chart.x = {"devices", Unit::kNone, true, false, false, counts};
  chart.y = {"examples per second", Unit::kNone};
  add_series(chart, runs, styles, get_devices);
  if (single) {
    chart.x.tick_values.insert(chart.x.tick_values.begin(), 1);
    Series one{"", kTextColourStyle, {throughput_point(*single, 1)}};
    one.in_legend = false;
    chart.series.push_back(one);
    chart.series.push_back(ideal_line(report, *single, chart.x.tick_values));
  }
  chart.note = median_note(runs, "Median");
  chart.description = str_cat(pluralize(static_cast<int64_t>(chart.series.size()), "line"), " over ",
                              pluralize(static_cast<int64_t>(counts.size()), "count"), " of devices.");
  return render_svg(chart);
}

/// Returns a sentence about the mode that is the fastest: how its throughput changes from the fewest devices to the
/// most.
std::string scaling_sentence(const std::string& model, bool weak, double batch, const std::vector<const Run*>& runs) {
  const Run *best = nullptr, *fewest_devices = nullptr;
  for (const Run* run : runs)
    if (!best || run->devices > best->devices ||
        (run->devices == best->devices && run->examples_per_second.median > best->examples_per_second.median))
      best = run;
  for (const Run* run : runs)
    if (best && run->mode == best->mode && (!fewest_devices || run->devices < fewest_devices->devices))
      fewest_devices = run;
  if (!best || !fewest_devices || fewest_devices == best) return "";
  return str_cat(model, weak ? ", weak scaling with " : ", strong scaling at ", "batch ", format_short_number(batch),
                 weak ? " per device: " : ": ", format_label(best->label), " goes from ",
                 format_number(fewest_devices->examples_per_second.median), " examples/s on ",
                 pluralize(fewest_devices->devices, "device"), " to ", format_number(best->examples_per_second.median),
                 " on ", best->devices, ".");
}

/// Returns "1.2 / 3.4 ms" if both times have the same unit, else "800 µs / 1.2 ms".
std::string format_duration_range(double low, double high) {
  const std::string first = format_duration(low), last = format_duration(high);
  const size_t space = first.find(' ');
  const bool same = space != std::string::npos && last.ends_with(first.substr(space));
  return str_cat(same ? first.substr(0, space) : first, " / ", last);
}

std::string step_chart(const JobRuns& job, const ModeStyles& styles) {
  DotChart chart;
  chart.title = "Time of single steps: " + job.name();
  chart.x = {"time of a step", Unit::kSeconds};
  chart.dot_name = "p50 (median)";
  chart.second_value_name = "p95";
  std::vector<const Run*> runs = job.runs;
  if (job.single) runs.insert(runs.begin(), job.single);
  for (const Run* run : runs)
    if (run->p50 > 0)
      chart.rows.push_back(
          {run->label, styles[*run], run->p50, 0, 0, format_duration_range(run->p50, run->p95), run->p95});
  chart.note = str_cat("Half of all steps, and 95 % of them, are faster. Steps of ", describe_num_repeats(runs), ".");
  chart.description = str_cat(chart.rows.size(), " modes.");
  return render_svg(chart);
}

/// Returns a sentence for each error message, with the first run that failed with it and the number of other such runs.
std::string failed_runs_list(const Report& report) {
  std::vector<std::pair<const Run*, int>> reasons;
  for (const Run& run : report.runs) {
    if (run.failed.empty()) continue;
    const auto found =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first->failed == run.failed; });
    if (found == reasons.end())
      reasons.emplace_back(&run, 1);
    else
      ++found->second;
  }
  std::vector<std::string> sentences;
  sentences.reserve(reasons.size());
  for (const auto& [run, n] : reasons)
    sentences.push_back(str_cat(format_label(run->label), ", ", job_name(*run),
                                n > 1 ? str_cat(", and ", pluralize(n - 1, "other run")) : "", n > 1 ? " have" : " has",
                                " no figures: ", run->failed, "."));
  return bullet_list(sentences);
}

}  // namespace

std::string throughput_body(const Report& report, const ModeStyles& styles) {
  std::string figures, steps;
  std::vector<std::string> words;
  for (const std::string& model : list_models(report)) {
    for (const bool weak : {false, true}) {
      std::vector<const Run*> runs;
      for (const Run& run : report.runs)
        if (run.model == model && (run.scaling == "weak") == weak && run.failed.empty() && !is_single(run))
          runs.push_back(&run);
      const auto get_value = weak ? batch_per_device : get_batch;
      for (const double batch : distinct_values(runs, get_value)) {
        std::vector<const Run*> same;
        std::copy_if(runs.begin(), runs.end(), std::back_inserter(same),
                     [&](const Run* run) { return get_value(*run) == batch; });
        figures += scaling_chart(report, styles, model, weak, batch, same);
        if (const std::string text = scaling_sentence(model, weak, batch, same); !text.empty()) words.push_back(text);
      }
      if (weak) continue;
      // Charts of throughput against batch size, one for each number of devices.
      for (const double devices : distinct_values(runs, get_devices)) {
        std::vector<const Run*> same;
        for (const Run& run : report.runs)
          if (run.model == model && run.scaling != "weak" && run.failed.empty() &&
              (is_single(run) || run.devices == devices))
            same.push_back(&run);
        LineChart chart;
        chart.title = str_cat("Throughput by batch: ", model, ", ", pluralize(static_cast<int64_t>(devices), "device"));
        chart.x = {"batch over all devices", Unit::kNone, true, false};
        chart.y = {"examples per second", Unit::kNone};
        chart.note = median_note(same, "Median");
        add_series(chart, same, styles, get_batch);
        std::vector<const Run*> parallel;
        std::copy_if(same.begin(), same.end(), std::back_inserter(parallel),
                     [](const Run* run) { return !is_single(*run); });
        if (distinct_values(parallel, get_batch).size() < 2) continue;
        chart.x.tick_values = distinct_values(same, get_batch);
        figures += render_svg(chart);
      }
    }
  }
  const auto three = [](double value) { return format_number(value); };
  const auto four = [](double value) { return format_number(value, 4); };
  const Run* most_variable = nullptr;
  size_t min_repeats = SIZE_MAX;
  Table table("The figures: every run",
              {"model", "mode", "devices", "batch", "scaling", "p50", "p95", "examples/s", "from", "to", "speedup",
               "from", "to"},
              2);
  for (const Run& run : report.runs) {
    if (!run.failed.empty()) {
      table.add_failed_row({run.model, run.label, format_integer(run.devices), format_integer(run.batch), run.scaling},
                           run.failed);
      continue;
    }
    min_repeats = std::min(min_repeats, run.repeats.size());
    if (run.p50 > 0 && (!most_variable || run.p95 / run.p50 > most_variable->p95 / most_variable->p50))
      most_variable = &run;
    table.add_row({run.model, run.label, format_integer(run.devices), format_integer(run.batch), run.scaling,
                   format_duration(run.p50), format_duration(run.p95), format_number(run.examples_per_second.median, 4),
                   format_low(run.examples_per_second, four), format_high(run.examples_per_second, four),
                   format_number(run.speedup.median), format_low(run.speedup, three), format_high(run.speedup, three)});
  }
  if (table.empty()) return "";
  for (const JobRuns& job : main_jobs(report)) steps += step_chart(job, styles);
  std::string out = group_charts(figures) + bullet_list(words) + group_charts(steps);
  if (most_variable)
    out += paragraph(str_cat(
        "Single steps vary most for ", format_label(most_variable->label), " (", job_name(*most_variable), "): p95 is ",
        format_number(most_variable->p95 / most_variable->p50), " times p50. ",
        min_repeats < static_cast<size_t>(min_num_values())
            ? str_cat("Runs with fewer than ", min_num_values(), " repeats have no interval: n = ", min_repeats, ". ")
            : "",
        "Error bars are 95 % intervals of the throughput of each run by itself, over ", min_repeats,
        " repeats or more. They do not tell two modes apart: the verdict does, from ratios within each repeat."));
  return out + failed_runs_list(report) + table.render_html();
}

std::string inference_body(const Report& report, const ModeStyles&) {
  const std::vector<const Run*> all_runs = successful_runs(report);
  std::string figures, words;
  Table table("The figures: seconds of a forward pass (95 % interval, each by itself)",
              {"model", "devices", "batch", "one device", "DP", "DP, persistent"});
  for (const Inference& inference : report.inference) {
    LineChart chart;
    chart.title = str_cat("Inference: ", inference.model, ", ", pluralize(inference.devices, "device"));
    chart.note = median_note(all_runs, "Median");
    chart.x = {"batch over all devices", Unit::kNone, true, false};
    chart.y = {"examples per second", Unit::kNone};
    struct Line {
      const char* name;
      int style;
      const std::vector<Interval>* seconds;
    };
    int64_t crossover_batch = 0;
    for (const Line& line : {Line{"one device, all cores", kTextColourStyle, &inference.single},
                             Line{"DP, replicas per step", mode_style("dp"), &inference.dp},
                             Line{"DP, persistent replicas", mode_style("dp") + 10, &inference.dp_persistent}}) {
      Series series{line.name, line.style, {}};
      for (size_t i = 0; i < line.seconds->size(); ++i) {
        const Interval& seconds = (*line.seconds)[i];
        const auto batch = static_cast<double>(inference.batch[i]);
        if (seconds.median <= 0) continue;
        series.points.push_back({batch, batch / seconds.median, seconds.high > 0 ? batch / seconds.high : 0,
                                 seconds.low > 0 ? batch / seconds.low : 0,
                                 str_cat("batch ", format_short_number(batch), ": ",
                                         format_number(batch / seconds.median), " examples/s")});
        chart.x.tick_values.push_back(batch);
        if (crossover_batch == 0 && line.style != kTextColourStyle && i < inference.single.size() &&
            (1 + kMinRelevantDifference) * seconds.high < inference.single[i].low)
          crossover_batch = inference.batch[i];
      }
      if (!series.points.empty()) chart.series.push_back(series);
    }
    std::sort(chart.x.tick_values.begin(), chart.x.tick_values.end());
    chart.x.tick_values.erase(std::unique(chart.x.tick_values.begin(), chart.x.tick_values.end()),
                              chart.x.tick_values.end());
    chart.description = crossover_batch == 0 ? "DP is never faster than one device."
                                             : str_cat("DP overtakes one device at batch ", crossover_batch, ".");
    figures += render_svg(chart);
    words += paragraph(str_cat(
        inference.model, ": ",
        crossover_batch == 0 ? "DP is at no measured batch clearly faster than one device."
                             : str_cat("DP is clearly faster than one device from batch ", crossover_batch, " on.")));
    const auto text = [](const std::vector<Interval>& list, size_t i) {
      if (i >= list.size()) return std::string();
      if (!list[i].is_valid()) return str_cat(format_duration(list[i].median), " (n = ", list[i].n, ": no interval)");
      return str_cat(format_duration(list[i].median), " (", format_duration(list[i].low), " to ",
                     format_duration(list[i].high), ")");
    };
    for (size_t i = 0; i < inference.batch.size(); ++i)
      table.add_row({inference.model, format_integer(inference.devices), format_integer(inference.batch[i]),
                     text(inference.single, i), text(inference.dp, i), text(inference.dp_persistent, i)});
  }
  return group_charts(figures) + words + table.render_html();
}

}  // namespace tandem::tools::compare
