// Derives the conclusions of a report for each model: the best mode, its speedup, and the batch sizes at which the best
// mode changes.
#include <algorithm>
#include <utility>

#include "tandem/tools/compare/page/parts.h"

namespace tandem::tools::compare {
namespace {

const char* const kVirtual =
    "These are virtual CPU devices: they share the cores, and their links are memory copies. The report shows that the "
    "modes train the same model, and how many bytes, calls and how much memory they need. It says nothing about the "
    "speed of GPUs.";

std::string describe_run(const Run& run) { return cat(format_label(run.label), " on ", plural(run.devices, "device")); }
std::string format_speedup(const Run& run) {
  return cat(number(run.speedup.median), " times (95 % interval ", number(run.speedup.low), " to ",
             number(run.speedup.high), ")");
}

/// Returns the key by which runs are ranked. The first part is the lower end of the speedup's interval (at least 1),
/// which is the certain part of the speedup; the second part is the median speedup.
std::pair<double, double> ranking_key(const Run& run) { return {std::max(run.speedup.low, 1.0), run.speedup.median}; }

/// Returns the model's fastest parallel run at this batch, by the lower end of the speedup's interval. If no run is
/// certainly faster than one device, compares the median speedups. (Comparing only medians would favour runs with much
/// noise.) Returns null if there is no successful parallel run.
const Run* find_fastest(const Report& report, const std::string& model, int64_t batch) {
  const Run* best = nullptr;
  for (const Run& run : report.runs)
    if (run.model == model && run.batch == batch && !is_single(run) && run.failed.empty() && run.speedup.median > 0 &&
        (!best || ranking_key(run) > ranking_key(*best)))
      best = &run;
  return best;
}

}  // namespace

std::string verdict_from_runs(const Report& report) {
  std::string out;
  for (const std::string& model : models(report)) {
    const int64_t batch = main_batch(report, model);
    const Run* const best = find_fastest(report, model, batch);
    if (!best) continue;
    if (!out.empty()) out += " ";
    if (best->speedup.low > 1)
      out += cat("For ", model, " at batch ", count(batch), " use ", describe_run(*best), ": it trains ",
                 format_speedup(*best), " as fast as one device with all the cores.");
    else if (best->speedup.high < 1)
      out +=
          cat("For ", model, " at batch ", count(batch), " use one device with all the cores: the best parallel mode, ",
              describe_run(*best), ", reaches ", format_speedup(*best), " its throughput.");
    else
      out += cat("For ", model, " at batch ", count(batch),
                 " no parallel mode is clearly faster than one device with all the cores: the best, ",
                 describe_run(*best), ", reaches ", format_speedup(*best), " its throughput.");
  }
  return out;
}

std::vector<std::string> find_turning_points(const Report& report) {
  std::vector<std::string> out;
  for (const std::string& model : models(report)) {
    std::vector<int64_t> batches;
    for (const Run& run : report.runs)
      if (run.model == model && run.scaling != "weak" &&
          std::find(batches.begin(), batches.end(), run.batch) == batches.end())
        batches.push_back(run.batch);
    std::sort(batches.begin(), batches.end());
    std::vector<std::pair<int64_t, std::string>> winners;
    for (const int64_t batch : batches)
      if (const Run* const best = find_fastest(report, model, batch))
        winners.emplace_back(batch, best->speedup.low > 1 ? describe_run(*best) : "one device with all the cores");
    if (winners.size() < 2) continue;
    const size_t before = out.size();
    for (size_t i = 1; i < winners.size(); ++i)
      if (winners[i].second != winners[i - 1].second)
        out.push_back(cat(model, ": between batch ", count(winners[i - 1].first), " and ", count(winners[i].first),
                          " the best mode changes from ", winners[i - 1].second, " to ", winners[i].second, "."));
    if (out.size() == before)
      out.push_back(cat(model, ": ", winners[0].second, " is the best at every batch from ",
                        count(winners.front().first), " to ", count(winners.back().first), "."));
  }
  return out;
}

std::string verdict_body(const Report& report, const ModeStyles& styles) {
  const std::string verdict = report.verdict.empty() ? verdict_from_runs(report) : report.verdict;
  std::string out = verdict.empty() ? "" : "<p class=\"verdict\">" + escape(verdict) + "</p>\n", figures;
  if (report.virtual_devices && verdict.find("irtual") == std::string::npos)
    out += cat("<p class=\"note\">", kVirtual, "</p>\n");
  Table table("The figures: throughput over that of one device with all the cores",
              {"model", "mode", "devices", "batch", "speedup", "from", "to"}, 2);
  for (const JobRuns& job : main_jobs(report)) {
    DotChart chart;
    chart.title = "Throughput against one device: " + job.name();
    chart.x = {"times one device with all the cores", Unit::kNone};
    chart.reference = 1;
    chart.reference_name = "one device, all cores";
    chart.note = median_note(job.runs, "Median");
    chart.dot_name = "median";
    const Run* best = nullptr;
    for (const Run* run : job.runs) {
      if (run->speedup.median <= 0) continue;
      if (!best || run->speedup.median > best->speedup.median) best = run;
      chart.rows.push_back({run->label, styles[*run], run->speedup.median, run->speedup.low, run->speedup.high,
                            cat(number(run->speedup.median), " ×"), -1});
      table.add({run->model, run->label, count(run->devices), count(run->batch), number(run->speedup.median),
                 number(run->speedup.low), number(run->speedup.high)});
    }
    if (best)
      chart.description = cat("The fastest is ", format_label(best->label), " with ", format_speedup(*best), ".");
    figures += svg(chart);
  }
  out += charts(figures);
  const std::vector<std::string> turning_points =
      report.turning_points.empty() ? find_turning_points(report) : report.turning_points;
  if (!turning_points.empty()) out += "<h3>Where the best mode changes</h3>\n" + bullets(turning_points);
  return out.empty() ? "" : out + table.html();
}

}  // namespace tandem::tools::compare
