// Builds the page's sections on how far the figures can be trusted: comparison with the reference, diagnosis, and
// provenance.
#include <algorithm>

#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

std::string loss_chart(const JobRuns& job, const ModeStyles& styles) {
  LineChart chart;
  chart.title = "Loss: " + job.name();
  chart.x = {"step", Unit::kNone};
  chart.y = {"loss", Unit::kNone};
  // Modes with identical losses share one line in the chart, and so do identical references. DP and DDP have different
  // references, because they sum gradients in different orders.
  struct Line {
    const std::vector<double>* losses;
    const Run* run;
    int64_t others;
  };
  std::vector<Line> lines, references;
  const auto add = [](std::vector<Line>& list, const std::vector<double>& losses, const Run* run) {
    if (losses.empty()) return;
    for (Line& line : list)
      if (*line.losses == losses) {
        ++line.others;
        return;
      }
    list.push_back({&losses, run, 0});
  };
  for (const Run* run : job.runs)
    for (const Agreement& agreement : run->agreement) {
      add(lines, agreement.losses, run);
      add(references, agreement.reference_losses, run);
    }
  if (lines.empty()) return "";
  const auto draw = [&](const std::string& name, int style, const std::vector<double>& losses, bool reference) {
    constexpr size_t kMaxMarkers = 40;
    Series series{name, style, {}, true, !reference && losses.size() <= kMaxMarkers, reference, true};
    for (size_t i = 0; i < losses.size(); ++i)
      series.points.push_back({static_cast<double>(i + 1), losses[i], 0, 0, ""});
    series.in_legend = !reference || losses == *references[0].losses;
    chart.series.push_back(series);
  };
  for (const Line& line : lines)
    draw(line.run->label +
             (line.others == 0 ? "" : str_cat(", and ", pluralize(line.others, "other mode"), " with the same losses")),
         styles[*line.run], *line.losses, false);
  for (const Line& line : references) draw("reference on one device", kTextColourStyle, *line.losses, true);
  chart.note = "n = 1 training of each mode.";
  chart.description = str_cat("Losses of ", job.runs.size(), " modes, step by step.");
  return render_svg(chart);
}

/// Returns the digits at the end of `name`: "12" for "rank 12", "0" for "cpu:0".
std::string trailing_number(const std::string& name) {
  const size_t before = name.find_last_not_of("0123456789");
  return before == std::string::npos ? name : name.substr(before + 1);
}

}  // namespace

std::string agreement_body(const Report& report, const ModeStyles& styles) {
  std::string figures;
  for (const JobRuns& job : main_jobs(report)) figures += loss_chart(job, styles);
  Table table("The figures: the largest difference of any parameter",
              {"run", "reference", "steps", "largest difference", "last loss", "reference's", "parts first at"}, 2);
  int64_t all = 0, equal = 0;
  int steps = 0;
  std::vector<std::string> different_runs;
  for (const Run& run : report.runs)
    for (const Agreement& agreement : run.agreement) {
      ++all;
      steps = std::max(steps, agreement.steps);
      const bool same = agreement.largest_difference == 0 && agreement.first_difference.empty();
      if (same)
        ++equal;
      else
        different_runs.push_back(str_cat(
            format_label(run.label), " (", job_name(run), ") differs by ", format_number(agreement.largest_difference),
            agreement.first_difference.empty() ? "" : ", first at " + agreement.first_difference, "."));
      const auto last = [](const std::vector<double>& losses) {
        return losses.empty() ? "" : format_number(losses.back(), 6);
      };
      table.add_row(
          {run.label + " (" + job_name(run) + ")", agreement.reference, format_integer(agreement.steps),
           format_number(agreement.largest_difference), last(agreement.losses), last(agreement.reference_losses),
           agreement.first_difference.empty() ? "none" : agreement.first_difference},
          !same);
    }
  if (all == 0) return "";
  std::string words =
      paragraph(equal == all ? str_cat("All ", format_integer(all),
                                       " runs end with the parameters of their reference to the last bit, after up to ",
                                       steps, " steps: the modes train the same model.")
                             : str_cat(format_integer(equal), " of ", format_integer(all),
                                       " runs end with the parameters of their reference to the last bit, after up to ",
                                       steps, " steps."));
  return group_charts(figures) + words + bullet_list(different_runs) + table.render_html();
}

std::string diagnosis_body(const Report& report, const ModeStyles&) {
  std::string figures;
  Table table("The figures: devices and ranks waited for", {"run", "waits", "for", "time", "part of the step"}, 3);
  std::vector<std::string> words;
  for (const JobRuns& job : main_jobs(report)) {
    BarChart chart;
    chart.title = "Waiting time by device or rank waited for: " + job.name();
    chart.x = {"mean waiting of a device or rank, per step", Unit::kSeconds};
    chart.note = "n = 1 recording of each mode. Bar: mean over its steps and over its devices or ranks.";
    const Run* worst = nullptr;
    std::string longest_wait_name;
    double longest = 0;
    for (const Run* run : job.runs) {
      std::map<std::string, double> sums;
      for (const Lane& lane : run->lanes)
        for (const auto& [name, seconds] : lane.waiting_for)
          sums[name] += seconds / static_cast<double>(run->lanes.size());
      BarRow row{run->label, "", {}, {}};
      double all = 0;
      for (const auto& [name, seconds] : sums) {
        // A name without a number, such as "cpu", is the first device. "threads to wake up" is not a device.
        const std::string number =
            name.find(' ') == std::string::npos && trailing_number(name).empty() ? "0" : trailing_number(name);
        row.segments.push_back(
            {number.empty() ? "a free core, or threads to wake up" : "waiting; inside: the device or rank waited for",
             number.empty() ? kOtherStyle : kWaitingStyle, seconds, name + ", " + format_duration(seconds),
             number.empty() ? name : number});
        all += seconds;
        if (seconds > longest) {
          longest = seconds;
          worst = run;
          longest_wait_name = name;
        }
      }
      row.value = format_duration(all);
      if (all > 0) chart.rows.push_back(row);
    }
    if (!worst) continue;
    chart.description = str_cat(longest_wait_name, " is waited for longest, under ", format_label(worst->label), ".");
    figures += render_svg(chart);
    words.push_back(str_cat(job.name(), ": ", longest_wait_name, " is waited for longest, ", format_duration(longest),
                            " of a lane's step in the mean, under ", format_label(worst->label), "."));
  }
  for (const Run& run : report.runs)
    for (const Lane& lane : run.lanes)
      for (const auto& [name, seconds] : lane.waiting_for)
        if (seconds > 0)
          table.add_row({run.label + " (" + job_name(run) + ")", lane.name, name, format_duration(seconds),
                         lane.step > 0 ? format_percent(seconds / lane.step) : ""});
  std::string out = group_charts(figures) + bullet_list(words);
  if (!report.diagnosis.empty()) out += "<h3>Diagnosis</h3>\n<dl>\n";
  for (const Diagnosis& diagnosis : report.diagnosis)
    out += str_cat("<dt>", escape_html(diagnosis.kind), "</dt><dd>", escape_html(diagnosis.sentence),
                   " <span class=\"meta\">(", escape_html(diagnosis.row), ")</span></dd>\n");
  if (!report.diagnosis.empty()) out += "</dl>\n";
  const bool traced =
      std::any_of(report.runs.begin(), report.runs.end(), [](const Run& r) { return !r.steps.empty(); });
  if (report.diagnosis.empty() && traced)
    out += paragraph("No diagnosis: in no run does a cause take a large part of the steps that is certain over them.");
  return out + table.render_html();
}

std::string provenance_body(const Report& report, const ModeStyles&) {
  const Provenance& from = report.provenance;
  std::string out;
  const auto add = [&](const std::string& name, const std::string& value, bool code = false) {
    if (!value.empty())
      out += str_cat("<dt>", name, "</dt><dd>", code ? "<code>" : "", escape_html(value), code ? "</code>" : "",
                     "</dd>\n");
  };
  const auto joined = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
    return text;
  };
  add("Command", from.command, true);
  add("Date", from.date);
  add("Tandem", from.version);
  add("Commit", from.commit, true);
  add("Seed", str_cat(from.seed));
  add("Processor", from.cpu);
  if (from.cores > 0)
    add("Cores", str_cat(pluralize(from.cores, "core"), ", ", pluralize(from.threads, "thread"), " used"));
  if (from.memory_gib > 0) add("Memory", str_cat(format_number(from.memory_gib), " GiB"));
  add("GPUs", from.gpus.empty() ? "none" : joined(from.gpus));
  add("System", from.os);
  add("Compiler", from.compiler);
  add("Libraries", joined(from.libraries));
  std::vector<std::string> links;
  for (const LinkProbe& link : report.links)
    links.push_back(
        str_cat(link.name, " ", format_bandwidth(link.bandwidth), " after ", format_duration(link.latency)));
  std::string topology;
  for (const std::string& link : links) topology += (topology.empty() ? "" : "; ") + link;
  add("Links", topology);
  return "<dl>\n" + out + "</dl>\n";
}

}  // namespace tandem::tools::compare
