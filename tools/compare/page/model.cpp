// Builds the page's section on the cost model: predictions beside measurements, and projections to more devices.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

bool is_predicted(const Run& run) { return run.failed.empty() && run.predicted > 0 && step_seconds(run) > 0; }
double relative_error(const Run& run) { return run.predicted / step_seconds(run) - 1; }

std::string draw_predicted_vs_measured(const Report& report) {
  std::string figures;
  for (const std::string& model : list_models(report)) {
    LineChart chart;
    chart.title = "Predicted and measured times: " + model;
    chart.x = {"measured time of a step", Unit::kSeconds, true, false};
    chart.y = {"predicted time of a step", Unit::kSeconds, true, false};
    std::vector<Series> kinds;
    for (const auto& [name, mode] : {std::pair{"one device", "single"},
                                     {"DP", "dp"},
                                     {"DDP over local", "ddp_local"},
                                     {"DDP over gloo", "ddp_gloo"},
                                     {"DDP over nccl", "ddp_nccl"}})
      kinds.push_back({name, mode_style(mode), {}, false, true, false, true});
    double low = INFINITY, high = 0;
    for (const Run& run : report.runs) {
      if (run.model != model || !is_predicted(run)) continue;
      const double seconds = step_seconds(run);
      std::find_if(kinds.begin(), kinds.end(), [&](const Series& kind) { return kind.style == mode_style(run.mode); })
          ->points.push_back({seconds, run.predicted, 0, 0,
                              str_cat(run.label, ", ", job_name(run), ": predicted ", format_duration(run.predicted),
                                      ", measured ", format_duration(seconds))});
      low = std::min({low, seconds, run.predicted});
      high = std::max({high, seconds, run.predicted});
    }
    for (const Series& series : kinds)
      if (!series.points.empty()) chart.series.push_back(series);
    if (chart.series.empty()) continue;
    chart.series.push_back(
        {"equal", kTextColourStyle, {{low, low, 0, 0, ""}, {high, high, 0, 0, ""}}, true, false, true, true});
    chart.note = str_cat("Point: a run; measured: median of ", describe_num_repeats(successful_runs(report)), ".");
    chart.description = "Points on the dashed line were predicted exactly.";
    figures += render_svg(chart);
  }
  return figures;
}

bool is_fitted(const Overhead& o) { return o.devices == o.fitted_devices && o.batch == o.fitted_batch; }

std::string overhead_charts(const Report& report, Table& table) {
  std::string figures;
  for (const std::string& model : list_models(report)) {
    DotChart chart;
    chart.title = "What communication adds to a step: " + model;
    chart.description = "Measured with its 95 % interval, and predicted from the one row that was fitted.";
    chart.x = {"extra time of a step of DDP", Unit::kSeconds};
    chart.note = median_note(successful_runs(report), "Measured: median");
    chart.dot_name = "measured";
    chart.second_value_name = "predicted (in brackets)";
    for (const Overhead& o : report.overheads) {
      if (o.model != model) continue;
      const std::string name = str_cat(o.backend, ", ", pluralize(o.devices, "rank"), ", batch ",
                                       format_integer(o.batch), is_fitted(o) ? " (fitted)" : "");
      chart.rows.push_back({name, backend_style(o.backend), o.measured.median, o.measured.low, o.measured.high,
                            str_cat(format_duration(o.measured.median), " (", format_duration(o.predicted.median), ")"),
                            o.predicted.median});
      table.add_row({model, name, format_duration(o.measured.median), format_low(o.measured, format_duration),
                     format_high(o.measured, format_duration), format_duration(o.predicted.median),
                     format_low(o.predicted, format_duration), format_high(o.predicted, format_duration)});
    }
    figures += render_svg(chart);
  }
  return figures;
}

std::string projection_charts(const Report& report) {
  std::string figures;
  std::vector<std::string> done;
  for (const Projection& first : report.projections) {
    const std::string key = str_cat(first.model, ", ", first.device, ", ", first.link, ", ",
                                    format_integer(first.batch_per_device), " per device");
    if (std::find(done.begin(), done.end(), key) != done.end()) continue;
    done.push_back(key);
    LineChart chart;
    chart.title = "Predicted, not measured: " + key;
    chart.description = "Throughput per device over that of one device.";
    chart.x = {"devices", Unit::kNone, true, false};
    chart.y = {"efficiency (predicted)", Unit::kPercent};
    std::set<double> counts;
    int lines = 0;
    for (const Projection& projection : report.projections) {
      if (projection.model != first.model || projection.device != first.device || projection.link != first.link ||
          projection.batch_per_device != first.batch_per_device)
        continue;
      const bool is_ddp_mode = projection.mode.starts_with("DDP") || projection.mode.starts_with("ddp");
      const int style = (is_ddp_mode ? backend_style("nccl") : mode_style("dp")) + 10 * (lines++ / 2 % 4);
      Series series{projection.mode + (is_ddp_mode ? " over nccl (predicted)" : " (predicted)"),
                    style,
                    {},
                    true,
                    false,
                    true,
                    true};
      for (size_t i = 0; i < projection.devices.size(); ++i) {
        series.points.push_back({static_cast<double>(projection.devices[i]), projection.efficiency[i], 0, 0, ""});
        counts.insert(projection.devices[i]);
      }
      chart.series.push_back(series);
    }
    chart.note = "Lines: predicted, n = 0 measurements. Marks: published by others, n = 1 each.";
    int shown = 0;
    for (const Published& published : report.published) {
      if (published.devices.empty()) continue;
      Series series{published.what + " (published)", kPublishedStyle + shown++, {}, false, true, false, true};
      for (size_t i = 0; i < published.values.size(); ++i) {
        series.points.push_back(
            {published.devices[i], published.values[i], 0, 0,
             str_cat(published.labels[i], ": ", format_percent(published.values[i]), " (", published.source, ")")});
        counts.insert(published.devices[i]);
      }
      chart.series.push_back(series);
    }
    chart.x.tick_values.assign(counts.begin(), counts.end());
    figures += render_svg(chart);
  }
  return figures;
}

std::string published_charts(const Report& report) {
  std::string figures;
  for (const Published& published : report.published) {
    DotChart chart;
    chart.title = str_cat(published.what, " (", published.source, ")");
    chart.x = {published.unit, Unit::kNone};
    chart.note = "n = 1 published value in each row.";
    chart.dot_name = "published";
    if (!published.predicted.empty()) chart.second_value_name = "predicted (in brackets)";
    for (size_t i = 0; i < published.values.size(); ++i) {
      const bool has = !published.predicted.empty();
      chart.rows.push_back({published.labels[i], kPublishedStyle, published.values[i], 0, 0,
                            str_cat(format_number(published.values[i]),
                                    has ? str_cat(" (", format_number(published.predicted[i]), ")") : ""),
                            has ? published.predicted[i] : -1});
    }
    chart.description = "Published values and what the cost model predicts.";
    figures += render_svg(chart);
  }
  return figures;
}

}  // namespace

std::string model_body(const Report& report, const ModeStyles&) {
  Table runs("The figures: predictions and measurements", {"run", "measured", "predicted", "error"});
  std::vector<double> errors;
  const Run* worst = nullptr;
  for (const Run& run : report.runs) {
    if (!is_predicted(run)) continue;
    errors.push_back(std::abs(relative_error(run)));
    if (!worst || std::abs(relative_error(run)) > std::abs(relative_error(*worst))) worst = &run;
    runs.add_row({run.label + " (" + job_name(run) + ", " + run.scaling + ")", format_duration(step_seconds(run)),
                  format_duration(run.predicted) + " (predicted)",
                  (relative_error(run) > 0 ? "+" : "") + format_percent(relative_error(run))});
  }
  std::string words;
  if (worst) {
    std::sort(errors.begin(), errors.end());
    words += paragraph(str_cat("Over ", errors.size(), " runs the prediction is off by ",
                               format_percent(errors[errors.size() / 2]), " in the median and by ",
                               format_percent(errors.back()), " at worst (", format_label(worst->label), ", ",
                               job_name(*worst), ")."));
  }
  Table projections("The figures: projections, each predicted",
                    {"model", "device", "link", "mode", "batch per device", "devices", "efficiency"}, 4);
  for (const Projection& projection : report.projections)
    for (size_t i = 0; i < projection.devices.size(); ++i)
      projections.add_row({projection.model, projection.device, projection.link, projection.mode,
                           format_integer(projection.batch_per_device), format_integer(projection.devices[i]),
                           format_percent(projection.efficiency[i]) + " (predicted)"});
  std::vector<std::string> ends;
  for (const Projection& projection : report.projections)
    if (!projection.devices.empty())
      ends.push_back(str_cat(projection.model, " under ", format_label(projection.mode), ", ", projection.device,
                             " over ", projection.link, ": predicted to keep ",
                             format_percent(projection.efficiency.back()), " of each device's throughput on ",
                             format_integer(projection.devices.back()), " devices."));
  Table published("The figures: published measurements", {"what", "source", "value of", "published", "predicted"}, 3);
  for (const Published& item : report.published)
    for (size_t i = 0; i < item.values.size(); ++i)
      published.add_row({item.what, item.source, item.labels[i], format_number(item.values[i]) + " " + item.unit,
                         item.predicted.empty() ? "the source has too little data"
                                                : format_number(item.predicted[i]) + " " + item.unit + " (predicted)"});
  Table overheads("The figures: what communication adds to a step",
                  {"model", "job", "measured", "from", "to", "predicted", "from", "to"}, 2);
  const std::string overhead = group_charts(overhead_charts(report, overheads));
  return group_charts(draw_predicted_vs_measured(report)) + words + overhead + runs.render_html() +
         overheads.render_html() +
         collapsible("Where the predictions are better than simple guesses, and where not", bullet_list(report.notes)) +
         collapsible("Predictions for devices that this machine does not have",
                     group_charts(projection_charts(report)) + bullet_list(ends) + projections.render_html()) +
         collapsible("Measurements that others published",
                     group_charts(published_charts(report)) + published.render_html());
}

}  // namespace tandem::tools::compare
