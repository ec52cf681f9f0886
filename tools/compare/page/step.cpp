// Builds the page's sections on a training step: its time breakdown and its timeline.
#include <algorithm>
#include <cmath>

#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

struct TimeBreakdown {
  double step = 0, waiting = 0, unattributed = 0, hidden = 0;
  std::map<std::string, double> phases;
};
TimeBreakdown compute_breakdown(const Lane& lane) {
  TimeBreakdown breakdown{lane.step, 0, lane.unattributed, lane.hidden, lane.phases};
  for (const auto& [name, seconds] : lane.waiting_for) breakdown.waiting += seconds;
  return breakdown;
}
/// Returns the mean of compute_breakdown() over a run's lanes (devices or ranks).
TimeBreakdown mean_breakdown(const Run& run) {
  TimeBreakdown mean;
  const auto n = static_cast<double>(run.lanes.size());
  for (const Lane& lane : run.lanes) {
    const TimeBreakdown breakdown = compute_breakdown(lane);
    mean.step += breakdown.step / n;
    mean.waiting += breakdown.waiting / n;
    mean.unattributed += breakdown.unattributed / n;
    mean.hidden += breakdown.hidden / n;
    for (const auto& [phase, seconds] : breakdown.phases) mean.phases[phase] += seconds / n;
  }
  return mean;
}

/// Returns the phases in the order of kPhases, followed by phases that kPhases does not list.
std::vector<std::string> sort_phases(const std::map<std::string, double>& phases) {
  std::vector<std::string> order;
  for (const std::string& phase : kPhases)
    if (phases.count(phase) != 0) order.push_back(phase);
  for (const auto& [phase, seconds] : phases)
    if (std::find(kPhases.begin(), kPhases.end(), phase) == kPhases.end()) order.push_back(phase);
  return order;
}

BarRow bar_row(const std::string& label, const TimeBreakdown& breakdown) {
  BarRow row{label, format_duration(breakdown.step), {}, {}};
  const auto tooltip = [&](double seconds) {
    return str_cat(format_duration(seconds), breakdown.step > 0 ? ", " + format_percent(seconds / breakdown.step) : "");
  };
  std::map<std::string, double> phases = breakdown.phases;
  for (const std::string& phase : kPhases) phases.emplace(phase, 0);
  for (const std::string& phase : sort_phases(phases)) {
    const double seconds = phases.at(phase);
    row.segments.push_back({phase, phase_style(phase), seconds, tooltip(seconds)});
  }
  row.segments.push_back({"waiting", kWaitingStyle, breakdown.waiting, tooltip(breakdown.waiting)});
  row.segments.push_back({"unattributed", kOtherStyle, breakdown.unattributed, tooltip(breakdown.unattributed)});
  row.sub_bar.push_back({"hidden communication", kFadedStyle, breakdown.hidden, tooltip(breakdown.hidden)});
  return row;
}

std::string describe_waits(const Lane& lane) {
  std::string out;
  for (const auto& [name, seconds] : lane.waiting_for)
    if (seconds > 0) out += str_cat(out.empty() ? "" : ", ", format_duration(seconds), " for ", name);
  return out;
}

/// Returns a sentence about the lane (device or rank) that waits for the largest fraction of its step, among all runs
/// of a job.
std::string waiting_sentence(const JobRuns& job) {
  const Run* longest_run = nullptr;
  const Lane* longest = nullptr;
  double part = 0;
  for (const Run* run : job.runs)
    for (const Lane& lane : run->lanes)
      if (lane.step > 0 && compute_breakdown(lane).waiting / lane.step > part) {
        longest_run = run;
        longest = &lane;
        part = compute_breakdown(lane).waiting / lane.step;
      }
  if (!longest) return "";
  return str_cat(longest->name, " waits the longest, ", format_percent(part), " of the step of ",
                 format_label(longest_run->label), " (", describe_waits(*longest), "). ");
}
std::string exposed_sentence(const JobRuns& job) {
  const Run* most_exposed = nullptr;
  double exposed = 0, hidden = 0;
  for (const Run* run : job.runs) {
    const TimeBreakdown breakdown = mean_breakdown(*run);
    const auto found = breakdown.phases.find("exposed communication");
    if (found != breakdown.phases.end() && breakdown.step > 0 && found->second / breakdown.step > exposed) {
      most_exposed = run;
      exposed = found->second / breakdown.step;
      hidden = breakdown.hidden / breakdown.step;
    }
  }
  return most_exposed ? str_cat("Exposed communication is largest under ", format_label(most_exposed->label), ", with ",
                                format_percent(exposed), " of the step; another ", format_percent(hidden),
                                " is hidden behind computation.")
                      : "";
}

/// Returns the bars to draw for a row of the timeline. To keep the page small, extends the previous bar on the same
/// level instead of adding a bar if the new one is shorter than two pixels, has the same style, and starts less than a
/// pixel after the previous one.
std::vector<TimelineMark> make_marks(const TimelineRow& row, double step) {
  std::vector<TimelineMark> marks;
  std::map<int, size_t> last;  // index (in `marks`) of the last mark on each level
  std::vector<TimelineEvent> events = row.events;
  std::sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  const double pixel = step / 800;
  for (const TimelineEvent& event : events) {
    const int level = event.kind == "kernel" ? 2 : event.kind == "communication" ? 1 : 0;
    const int style = phase_style(event.kind);
    const auto found = last.find(level);
    if (found != last.end()) {
      TimelineMark& before = marks[found->second];
      if (before.style == style && event.start - before.end < pixel && event.end - event.start < 2 * pixel) {
        before.end = std::max(before.end, event.end);
        continue;
      }
    }
    last[level] = marks.size();
    marks.push_back(
        {style, level, event.start, event.end,
         str_cat(event.name, ": ", format_duration(event.end - event.start), " from ", format_duration(event.start),
                 " on", event.bytes > 0 ? ", " + format_byte_size(static_cast<double>(event.bytes)) : "")});
  }
  return marks;
}

/// Returns the number of traced steps of the runs: "40 traced steps", or "12 to 40 traced steps".
std::string describe_num_traced_steps(const Report& report) {
  int least = 0, most = 0;
  for (const Run& run : report.runs)
    if (const int n = run.shown_step.of; n > 0) {
      least = least == 0 ? n : std::min(least, n);
      most = std::max(most, n);
    }
  if (most == 0) return "the traced steps";
  return least == most ? pluralize(most, "traced step")
                       : str_cat(format_integer(least), " to ", pluralize(most, "traced step"), " of each mode");
}

/// Returns which step the timeline shows. @param seconds  length of the timeline
std::string describe_step(const Run& run, double seconds) {
  const ShownStep& step = run.shown_step;
  if (step.of == 0) return str_cat("one step of ", format_duration(seconds));
  return str_cat("step ", format_integer(step.number), " of ", format_integer(step.of),
                 ", the median: ", format_duration(step.seconds));
}

}  // namespace

std::string anatomy_body(const Report& report, const ModeStyles&) {
  std::string overview, lanes;
  std::vector<std::string> words;
  std::map<std::string, double> all_phases;
  for (const Run& run : report.runs)
    for (const Lane& lane : run.lanes) all_phases.insert(lane.phases.begin(), lane.phases.end());
  std::vector<std::string> head = {"run", "lane", "waits", "traced steps", "mean step"};
  const std::vector<std::string> phases = sort_phases(all_phases);
  head.insert(head.end(), phases.begin(), phases.end());
  head.insert(head.end(), {"waiting", "unattributed", "hidden communication"});
  Table table("The figures: each lane of each run, as the mean over the traced steps", head, 3);
  double unattributed = 0;
  for (const JobRuns& job : main_jobs(report)) {
    BarChart chart;
    chart.title = "Where a step goes: " + job.name();
    chart.description = "The mean over the traced steps and over the devices or ranks of each mode.";
    chart.note = "n = 12 to 40 traced steps of each mode. Bar: mean over these steps and over the devices or ranks.";
    chart.x = {"mean over the lanes", Unit::kSeconds};
    if (job.single && !job.single->lanes.empty())
      chart.rows.push_back(bar_row(job.single->label, mean_breakdown(*job.single)));
    for (const Run* run : job.runs)
      if (!run->lanes.empty()) chart.rows.push_back(bar_row(run->label, mean_breakdown(*run)));
    overview += render_svg(chart);
    BarChart each;
    each.title = "Each lane: " + job.name();
    each.description = "Each device of DP and each rank of DDP.";
    each.note = "n = 1 recording of each mode. Bar: mean over its steps.";
    each.x = {"time of a step", Unit::kSeconds};
    for (const Run* run : job.example_runs())
      for (const Lane& lane : run->lanes)
        each.rows.push_back(bar_row(lane.name + ": " + run->label, compute_breakdown(lane)));
    lanes += render_svg(each);
    if (const std::string text = waiting_sentence(job) + exposed_sentence(job); !text.empty())
      words.push_back(job.name() + ": " + text);
  }
  for (const Run& run : report.runs)
    for (const Lane& lane : run.lanes) {
      std::vector<std::string> cells = {run.label + " (" + job_name(run) + ")", lane.name, describe_waits(lane),
                                        run.shown_step.of > 0 ? format_integer(run.shown_step.of) : "",
                                        format_duration(lane.step)};
      for (const std::string& phase : phases)
        cells.push_back(lane.phases.count(phase) != 0 ? format_duration(lane.phases.at(phase)) : "");
      cells.insert(cells.end(), {format_duration(compute_breakdown(lane).waiting), format_duration(lane.unattributed),
                                 format_duration(lane.hidden)});
      if (lane.step > 0) unattributed = std::max(unattributed, lane.unattributed / lane.step);
      table.add_row(cells);
    }
  if (table.empty()) return "";
  return group_charts(overview) + group_charts(lanes) + bullet_list(words) +
         paragraph(str_cat("All figures are means over ", describe_num_traced_steps(report),
                           ". Each moment of a lane is counted once; at most ", format_percent(unattributed),
                           " of a step belongs to no phase.")) +
         (report.tracing_cost.empty()
              ? ""
              : paragraph(str_cat("Recording costs ", format_percent(report.tracing_cost[0].median), " of a step of ",
                                  list_models(report).at(0), " on one device (",
                                  report.tracing_cost[0].is_valid()
                                      ? str_cat("95 % interval ", format_percent(report.tracing_cost[0].low), " to ",
                                                format_percent(report.tracing_cost[0].high))
                                      : str_cat("n = ", report.tracing_cost[0].n, ": no interval"),
                                  "); the times elsewhere on this page are of steps that were not recorded."))) +
         table.render_html();
}

std::string timeline_body(const Report& report, const ModeStyles&) {
  std::string out;
  std::vector<std::string> words;
  Table table("The figures: what each lane of the timelines did", {"run", "lane", "kind", "events", "time", "bytes"},
              3);
  for (const JobRuns& job : main_jobs(report)) {
    TimelineChart chart;
    chart.title = "One step: " + job.name();
    chart.note = "n = 1 step of each mode. Tall: phases; below them: communication, then kernels.";
    std::map<std::string, int> kinds;
    std::string sentence;
    for (const Run* run : {job.dp(), job.ddp()}) {
      if (!run || run->timeline.empty()) continue;
      double end = 0, start = INFINITY;
      for (const TimelineRow& row : run->timeline)
        for (const TimelineEvent& event : row.events) {
          start = std::min(start, event.start);
          end = std::max(end, event.end);
        }
      TimelineGroup group{run->label, {}};
      for (const TimelineRow& row : run->timeline) {
        group.lanes.push_back({row.name, make_marks(row, end - start)});
        struct EventTotals {
          int64_t events = 0, bytes = 0;
          double seconds = 0;
        };
        std::map<std::string, EventTotals> sums;
        for (const TimelineEvent& event : row.events) {
          EventTotals& sum = sums[event.kind];
          ++sum.events;
          sum.bytes += event.bytes;
          sum.seconds += event.end - event.start;
          kinds[event.kind] = phase_style(event.kind);
        }
        for (const auto& [kind, sum] : sums)
          table.add_row({run->label + " (" + job.name() + ")", row.name, kind, format_integer(sum.events),
                         format_duration(sum.seconds), format_byte_size(static_cast<double>(sum.bytes))});
      }
      sentence += str_cat(sentence.empty() ? "" : "; ", format_label(run->label), ": ", describe_step(*run, end));
      chart.groups.push_back(group);
    }
    for (const std::string& phase : kPhases)
      if (kinds.erase(phase) != 0) chart.legend.push_back({phase, phase_style(phase), 0, ""});
    for (const auto& [kind, style] : kinds) chart.legend.push_back({kind == "wait" ? "waiting" : kind, style, 0, ""});
    chart.description = sentence;
    const std::string picture = render_svg(chart);
    if (picture.empty()) continue;
    out += picture;
    words.push_back(job.name() + ": " + sentence + ".");
  }
  return out.empty() ? "" : group_charts(out) + bullet_list(words) + table.render_html();
}

}  // namespace tandem::tools::compare
