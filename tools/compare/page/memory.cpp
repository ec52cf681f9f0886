// Builds the page's section on the memory of each device.
#include <algorithm>

#include "tandem/tools/compare/excess.h"
#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

std::string format_mib(double bytes) { return format_number(bytes / (1 << 20)) + " MiB"; }

/// Returns the causes in the order of memory_causes(), followed by causes that memory_causes() does not list.
std::vector<std::string> sort_causes(const std::map<std::string, int64_t>& at_peak) {
  std::vector<std::string> order;
  for (const std::string& cause : memory_causes())
    if (at_peak.count(cause) != 0) order.push_back(cause);
  for (const auto& [cause, bytes] : at_peak)
    if (std::find(order.begin(), order.end(), cause) == order.end()) order.push_back(cause);
  return order;
}

/// A time, and the index of the entry of Memory::over_time to draw from then on.
struct DrawnPoint {
  double seconds;
  size_t index;
};
/// Returns the points to draw. If there are more than kMaxPoints, divides the step into equal times and draws each with
/// the most memory that the device had during it: drawing thousands of points would make the page large.
std::vector<DrawnPoint> select_points_to_draw(const Memory& memory) {
  constexpr size_t kMaxPoints = 300;
  const size_t n = memory.seconds.size();
  std::vector<DrawnPoint> points;
  if (n <= kMaxPoints) {
    points.reserve(n);
    for (size_t i = 0; i < n; ++i) points.push_back({memory.seconds[i], i});
    return points;
  }
  const auto total = [&](size_t i) {
    int64_t sum = 0;
    for (const auto& [cause, bytes] : memory.over_time) sum += bytes[i];
    return sum;
  };
  const double begin = memory.seconds.front(), width = (memory.seconds.back() - begin) / kMaxPoints;
  size_t now = 0;  // index of the last entry of `memory` before the end of the current part
  for (size_t part = 0; part < kMaxPoints; ++part) {
    size_t most = now;
    while (now + 1 < n && memory.seconds[now + 1] <= begin + width * static_cast<double>(part + 1))
      if (total(++now) > total(most)) most = now;
    points.push_back({begin + width * static_cast<double>(part), most});
  }
  points.push_back({memory.seconds.back(), n - 1});
  return points;
}

std::string memory_over_time_chart(const Run& run, const Memory& memory, double highest) {
  AreaChart chart;
  chart.title = str_cat(memory.device, ": ", run.label);
  chart.description = str_cat("Peak ", format_byte_size(static_cast<double>(memory.peak)), ".");
  if (const ShownStep& step = run.shown_step; step.of > 0)
    chart.description += str_cat(" Step ", format_integer(step.number), " of ", format_integer(step.of),
                                 ", the one of median duration.");
  chart.x = {"time since the step began", Unit::kSeconds};
  chart.y = {"memory", Unit::kBytes};
  chart.note = str_cat("n = 1 step. Peak: ", format_byte_size(static_cast<double>(memory.peak)), ".");
  const std::vector<DrawnPoint> points = select_points_to_draw(memory);
  chart.at.reserve(points.size());
  for (const DrawnPoint& point : points) chart.at.push_back(point.seconds);
  chart.y_max = highest;
  std::map<std::string, int64_t> causes;
  for (const auto& [cause, bytes] : memory.over_time) causes[cause] = 0;
  for (const std::string& cause : sort_causes(causes)) {
    const std::vector<int64_t>& bytes = memory.over_time.at(cause);
    AreaLayer layer{cause, cause_style(cause), {}};
    layer.values.reserve(points.size());
    for (const DrawnPoint& point : points) layer.values.push_back(static_cast<double>(bytes[point.index]));
    chart.layers.push_back(layer);
  }
  return chart.layers.empty() ? "" : render_svg(chart);
}

/// Draws the memory over time of DP's first two devices, and of the first device under DP with the loss in the replicas
/// and under DDP.
std::string draw_memory_over_time(const JobRuns& job) {
  std::vector<std::pair<const Run*, const Memory*>> shown;
  for (const Run* run : job.example_runs()) {
    if (!run->memory.empty()) shown.emplace_back(run, &run->memory[0]);
    if (run == job.dp() && run->memory.size() > 1) shown.emplace_back(run, &run->memory[1]);
  }
  double highest = 0;
  for (const auto& [run, memory] : shown)
    for (size_t t = 0; t < memory->seconds.size(); ++t) {
      double sum = 0;
      for (const auto& [cause, bytes] : memory->over_time) sum += static_cast<double>(bytes[t]);
      highest = std::max(highest, sum);
    }
  std::string out;
  for (const auto& [run, memory] : shown) out += memory_over_time_chart(*run, *memory, highest);
  return out.empty() ? "" : "<h3>" + escape_html("Over a step: " + job.name()) + "</h3>\n" + group_charts(out);
}

/// Returns the table of the first device's excess by cause, with a row for each run of DP.
std::string excess_table(const Report& report) {
  std::map<std::string, int64_t> all_causes;
  std::vector<std::pair<const Run*, FirstDeviceExcess>> rows;
  for (const Run& run : report.runs)
    if (const std::optional<FirstDeviceExcess> excess = compute_first_device_excess(run)) {
      rows.emplace_back(&run, *excess);
      all_causes.insert(excess->by_cause.begin(), excess->by_cause.end());
    }
  if (rows.empty()) return "";
  std::vector<std::string> head = {"run", "excess"};
  const std::vector<std::string> causes = sort_causes(all_causes);
  head.insert(head.end(), causes.begin(), causes.end());
  Table table("The excess of DP's first device over the largest of the others, by cause", head, 1);
  const auto format = [](int64_t bytes) {
    const std::string size = format_byte_size(static_cast<double>(std::abs(bytes)));
    return bytes < 0 ? "-" + size : size;
  };
  for (const auto& [run, excess] : rows) {
    std::vector<std::string> cells = {run->label + " (" + job_name(*run) + ")", format(excess.bytes)};
    for (const std::string& cause : causes)
      cells.push_back(excess.by_cause.count(cause) != 0 ? format(excess.by_cause.at(cause)) : "");
    table.add_row(cells);
  }
  return table.render_html();
}

}  // namespace

std::string describe_first_device_excess(const JobRuns& job) {
  if (!job.dp()) return "";
  const Run& dp = *job.dp();
  const std::optional<FirstDeviceExcess> excess = compute_first_device_excess(dp);
  if (!excess) return "";
  const auto plain = static_cast<double>(excess->bytes);
  std::string out = str_cat(job.name(), ": under ", format_label(dp.label), ", ", dp.memory[0].device, " needs ",
                            format_mib(plain), " more than the largest of the others (",
                            format_mib(static_cast<double>(dp.memory[0].peak)), " at its peak).");
  if (const std::string causes = explain_first_device_excess(*excess); !causes.empty()) out += " " + causes;
  if (!job.dp_loss() || job.dp_loss() == &dp) return out;
  const std::optional<FirstDeviceExcess> with_loss = compute_first_device_excess(*job.dp_loss());
  if (!with_loss) return out;
  const auto inside = static_cast<double>(with_loss->bytes);
  out += plain == inside ? std::string(" With the loss inside the replicas the excess is the same.")
                         : str_cat(" With the loss inside the replicas the excess is ", format_mib(inside), ": ",
                                   format_mib(plain - inside), " less",
                                   plain > 0 ? " (" + format_percent((plain - inside) / plain) + ")." : ".");
  return out;
}

std::string memory_body(const Report& report, const ModeStyles&) {
  std::string peaks, times;
  std::vector<std::string> words;
  const std::vector<JobRuns> jobs = main_jobs(report);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const JobRuns& job = jobs[i];
    BarChart chart;
    chart.title = "Peak memory by device: " + job.name();
    chart.description = describe_first_device_excess(job);
    chart.x = {"memory at the peak", Unit::kBytes};
    chart.note = "n = 1 step of each mode. Bar: all memory in use at the peak.";
    for (const Run* run : job.example_runs())
      for (const Memory& memory : run->memory) {
        BarRow row{memory.device + ": " + run->label, format_byte_size(static_cast<double>(memory.peak)), {}, {}};
        for (const std::string& cause : sort_causes(memory.at_peak)) {
          const auto bytes = static_cast<double>(memory.at_peak.at(cause));
          row.segments.push_back({cause, cause_style(cause), bytes, format_byte_size(bytes)});
        }
        chart.rows.push_back(row);
      }
    peaks += render_svg(chart);
    if (const std::string text = describe_first_device_excess(job); !text.empty()) words.push_back(text);
    // Draws the memory over time only for the largest number of devices of each model.
    if (std::any_of(jobs.begin() + static_cast<std::ptrdiff_t>(i) + 1, jobs.end(),
                    [&](const JobRuns& later) { return later.model == job.model; }))
      continue;
    times += draw_memory_over_time(job);
    if (const std::string text = describe_full_size(job.model); !text.empty()) words.push_back(text);
  }
  std::map<std::string, int64_t> all_causes;
  for (const Run& run : report.runs)
    for (const Memory& memory : run.memory) all_causes.insert(memory.at_peak.begin(), memory.at_peak.end());
  std::vector<std::string> head = {"run", "device", "peak"};
  const std::vector<std::string> causes = sort_causes(all_causes);
  head.insert(head.end(), causes.begin(), causes.end());
  Table table("The figures: each device at its peak", head, 2);
  for (const Run& run : report.runs)
    for (const Memory& memory : run.memory) {
      std::vector<std::string> cells = {run.label + " (" + job_name(run) + ")", memory.device,
                                        format_byte_size(static_cast<double>(memory.peak))};
      for (const std::string& cause : causes)
        cells.push_back(
            memory.at_peak.count(cause) != 0 ? format_byte_size(static_cast<double>(memory.at_peak.at(cause))) : "");
      table.add_row(cells);
    }
  if (table.empty()) return "";
  return group_charts(peaks) + bullet_list(words) + times + excess_table(report) + table.render_html();
}

}  // namespace tandem::tools::compare
