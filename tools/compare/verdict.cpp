// Derives the conclusions of a report for each model: which mode to use, its speedup, and the batch sizes at which the
// verdict changes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

const char* const kOneDevicePhrase = "one device with all the cores";
const char* const kVirtualDevicesNote =
    "These are virtual CPU devices: they share the cores, and their links are memory copies. The report shows that the "
    "modes train the same model, and how many bytes, calls and how much memory they need. It says nothing about the "
    "speed of GPUs.";

/// Wording of the verdicts for the hardware on which the times were measured.
struct Scope {
  const char *where, *limits;  // where: first words of a verdict; limits: clause on what it does not tell, or ""
  bool recommends = true;      // whether times on this hardware can recommend a parallel mode
};
Scope get_scope(const Report& report) {
  if (report.measured_on == "gpus") return {"On these GPUs", ""};
  if (report.measured_on == "shared gpu")
    return {"With all ranks on one GPU", "; this says nothing about several GPUs", false};
  if (report.measured_on == "emulated gpus")
    return {"On GPUs that the CPU emulates", "; this says nothing about real GPUs", false};
  return {"On this machine's CPU", "; all modes share its cores, so this says nothing about GPUs"};
}

std::string describe_run(const Report& report, const Run& run) {
  const bool cpu = report.measured_on == "cpu", processes = run.mode.find("gloo") != std::string::npos;
  const std::string devices = pluralize(run.devices, processes ? "process" : cpu ? "virtual device" : "device");
  return str_cat(format_label(run.label), " on ",
                 processes && run.devices > 1 ? str_cat(run.devices, " processes") : devices);
}
std::string format_speedup(const Interval& speedup) { return format_with_interval(speedup, " times"); }

/// Returns the names of all runs but `first`, up to three of them.
std::string list_others(const Report& report, const std::vector<const Run*>& runs, const Run* first) {
  constexpr size_t kMost = 3;
  std::string out;
  size_t others = 0;
  for (const Run* run : runs) {
    if (run == first || ++others > kMost) continue;
    out += str_cat(out.empty() ? "" : ", ", describe_run(report, *run));
  }
  return others > kMost ? str_cat(out, " and ", pluralize(static_cast<int64_t>(others - kMost), "other")) : out;
}

/// Returns the sentence that recommends parallel modes: the simplest of them, and the one with the best median.
std::string recommend(const Report& report, const Scope& scope, const std::string& job, const Comparison& comparison) {
  const Run& first = *comparison.recommended.front();
  std::string out =
      str_cat(scope.where, ", use ", describe_run(report, first), " for ", job, ": it trains ",
              format_speedup(comparison.speedup(&first)), " as fast as ", kOneDevicePhrase, scope.limits, ".");
  if (comparison.tied_with_best.size() == 1) return out;
  out += str_cat(" It is the simplest of ", comparison.tied_with_best.size(),
                 " modes that may be the best; the others are ", list_others(report, comparison.tied_with_best, &first),
                 ".");
  if (comparison.best != &first)
    out += str_cat(" The best median has ", describe_run(report, *comparison.best), ", ",
                   format_speedup(comparison.speedup(comparison.best)), ".");
  return out;
}

/// Returns the sentence for a comparison that recommends no parallel mode.
std::string keep_one_device(const Report& report, const Scope& scope, const std::string& job,
                            const Comparison& comparison) {
  // Index of the parallel mode with the best median. (comparison.best may be the run on one device.)
  size_t best = 0;
  for (size_t i = 1; i < comparison.modes.size(); ++i)
    if (comparison.speedups[i].median > comparison.speedups[best].median) best = i;
  const std::string reaches = str_cat(describe_run(report, *comparison.modes[best]), ", reaches ",
                                      format_speedup(comparison.speedups[best]), " its throughput", scope.limits, ".");
  if (!scope.recommends)
    return str_cat(scope.where, ", no mode is recommended for ", job, ": the best median, of ", reaches);
  const std::string begin = str_cat(scope.where, ", use ", kOneDevicePhrase, " for ", job),
                    margin = str_cat(format_short_number(100 * kMinRelevantDifference), " %");
  if (comparison.is_conclusive())
    return str_cat(begin, ": no parallel mode is more than ", margin, " faster, and the best median, of ", reaches);
  return str_cat(begin, ", the simplest of ", comparison.tied_with_best.size(),
                 " that may be the best: no parallel mode is ", "certainly more than ", margin,
                 " faster, and the best median, of ", reaches);
}

std::string describe_repeats(const Report& report, const std::string& model, const Comparison& comparison) {
  std::string ended;
  for (const Repeats& repeats : report.repeats) {
    if (repeats.model != model) continue;
    if (repeats.ended == "settled") ended = ", after which the verdict was settled";
    if (repeats.ended == "time up") ended = ", after which the time was up";
    if (repeats.ended == "most") ended = ", the most that `tandem compare` measures";
    if (repeats.ended == "interrupted") ended = ", until the interruption";
  }
  return str_cat("This is from ", pluralize(comparison.n, "repeat"), ended, "; the intervals of ",
                 pluralize(static_cast<int64_t>(comparison.modes.size()), "parallel mode"),
                 ", which hold together with a ", "probability of 95 %, need ", comparison.needed, ".");
}

std::string make_verdict(const Report& report, const std::string& model) {
  const int64_t batch = main_batch(report, model);
  const std::string job = str_cat(model, " at batch ", format_integer(batch));
  const Comparison comparison = compare_modes(report, model, batch);
  if (!comparison.single) return str_cat("There is no verdict for ", job, ": one device has no figures.");
  if (comparison.modes.empty()) return str_cat("There is no verdict for ", job, ": no parallel mode has figures.");
  if (!comparison.has_intervals())
    return str_cat("There is no verdict for ", job, ": ", pluralize(comparison.n, "repeat"),
                   comparison.n == 1 ? " is" : " are", " too few. ", describe_repeats(report, model, comparison));
  const Scope scope = get_scope(report);
  if (comparison.recommended.empty() || !scope.recommends)
    return str_cat(keep_one_device(report, scope, job, comparison), " ", describe_repeats(report, model, comparison));
  return str_cat(recommend(report, scope, job, comparison), " ", describe_repeats(report, model, comparison));
}

}  // namespace

std::string verdict_from_runs(const Report& report) {
  std::string out;
  for (const std::string& model : list_models(report))
    out += str_cat(out.empty() ? "" : "\n", make_verdict(report, model));
  return out;
}

std::string describe_unpaired_times(const Report& report) {
  const Run *example = nullptr, *example_single = nullptr;
  int64_t number_of_runs = 0;
  double largest = std::log1p(kMinRelevantDifference);
  for (const JobRuns& job : main_jobs(report))
    for (const Run* run : job.runs) {
      if (!job.single || run->speedup.median <= 0 || step_seconds(*run) <= 0) continue;
      const double unpaired = step_seconds(*job.single) / step_seconds(*run);
      const double difference = std::abs(std::log(unpaired / run->speedup.median));
      if (difference > std::log1p(kMinRelevantDifference)) ++number_of_runs;
      if (difference <= largest) continue;
      largest = difference;
      example = run;
      example_single = job.single;
    }
  if (!example) return "";
  return str_cat(
      "Times and speedups of ", pluralize(number_of_runs, "run"), " seem to contradict each other: a step takes ",
      format_duration(step_seconds(*example)), " with ", describe_run(report, *example), " (", example->model, ") and ",
      format_duration(step_seconds(*example_single)), " on one device, but the speedup is ",
      format_number(example->speedup.median), ". Times are medians over all repeats. Speedups are medians of the ",
      "ratios within each repeat, because this machine was slower in some repeats than in others.");
}

std::vector<std::string> find_turning_points(const Report& report) {
  std::vector<std::string> out;
  for (const std::string& model : list_models(report)) {
    std::vector<int64_t> batches;
    for (const Run& run : report.runs)
      if (run.model == model && run.scaling != "weak" &&
          std::find(batches.begin(), batches.end(), run.batch) == batches.end())
        batches.push_back(run.batch);
    std::sort(batches.begin(), batches.end());
    std::vector<std::pair<int64_t, std::string>> winners;
    for (const int64_t batch : batches) {
      const Comparison comparison = compare_modes(report, model, batch);
      if (comparison.has_intervals())
        winners.emplace_back(batch, comparison.recommended.empty()
                                        ? kOneDevicePhrase
                                        : describe_run(report, *comparison.recommended.front()));
    }
    if (winners.size() < 2) continue;
    const size_t before = out.size();
    for (size_t i = 1; i < winners.size(); ++i)
      if (winners[i].second != winners[i - 1].second)
        out.push_back(str_cat(model, ": between batch ", format_integer(winners[i - 1].first), " and ",
                              format_integer(winners[i].first), " the verdict changes from ", winners[i - 1].second,
                              " to ", winners[i].second, "."));
    if (out.size() == before)
      out.push_back(str_cat(model, ": the verdict is ", winners[0].second, " at every batch from ",
                            format_integer(winners.front().first), " to ", format_integer(winners.back().first), "."));
  }
  return out;
}

std::string verdict_body(const Report& report, const ModeStyles& styles) {
  const std::string verdict = report.verdict.empty() ? verdict_from_runs(report) : report.verdict;
  std::string out = "", figures;
  std::istringstream models_verdicts(verdict);
  for (std::string line; std::getline(models_verdicts, line);)
    out += "<p class=\"verdict\">" + escape_html(line) + "</p>\n";
  if (report.virtual_devices && report.measured_on == "cpu")
    out += str_cat("<p class=\"note\">", kVirtualDevicesNote, "</p>\n");
  if (const std::string text = describe_unpaired_times(report); !text.empty()) out += paragraph(text);
  Table table("The figures: throughput over that of one device with all the cores",
              {"model", "mode", "devices", "batch", "repeats", "speedup", "from", "to", "may be the best"}, 2);
  for (const JobRuns& job : main_jobs(report)) {
    DotChart chart;
    chart.title = "Throughput against one device: " + job.name();
    chart.x = {"times one device with all the cores", Unit::kNone};
    chart.reference = 1;
    chart.reference_name = "one device, all cores";
    const Comparison comparison = compare_modes(report, job.model, job.batch);
    chart.note = comparison.has_intervals()
                     ? str_cat("Median of n = ", comparison.n, " repeats; whisker: interval (all together 95 %).")
                     : str_cat("Median of n = ", comparison.n, " repeats: too few for an interval.");
    chart.dot_name = "median";
    const Run* best = nullptr;
    for (const Run* run : job.runs) {
      if (run->speedup.median <= 0) continue;
      if (!best || run->speedup.median > best->speedup.median) best = run;
      chart.rows.push_back({run->label, styles[*run], run->speedup.median, run->speedup.low, run->speedup.high,
                            str_cat(format_number(run->speedup.median), " ×"), -1});
      const auto format = [](double value) { return format_number(value); };
      const std::vector<const Run*>& tied_with_best = comparison.tied_with_best;
      const bool is_tied_with_best =
          std::find(tied_with_best.begin(), tied_with_best.end(), run) != tied_with_best.end();
      table.add_row({run->model, run->label, format_integer(run->devices), format_integer(run->batch),
                     format_integer(run->speedup.n), format_number(run->speedup.median),
                     format_low(run->speedup, format), format_high(run->speedup, format),
                     !comparison.has_intervals() ? "unknown"
                     : is_tied_with_best         ? "yes"
                                                 : "no"});
    }
    if (best)
      chart.description =
          str_cat("The best median has ", format_label(best->label), ", ", format_speedup(best->speedup), ".");
    figures += render_svg(chart);
  }
  out += group_charts(figures);
  const std::vector<std::string> turning_points =
      report.turning_points.empty() ? find_turning_points(report) : report.turning_points;
  if (!turning_points.empty()) out += "<h3>Where the verdict changes</h3>\n" + bullet_list(turning_points);
  return out.empty() ? "" : out + table.render_html();
}

}  // namespace tandem::tools::compare
