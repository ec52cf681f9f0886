// Builds the page's sections on communication: transferred bytes, links, and DDP's buckets.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

double step_bytes(const Run& run) {
  double sum = 0;
  for (const TransferTotals& row : run.transfers) sum += static_cast<double>(row.bytes);
  return sum;
}

/// A kind of transfer: transfers whose name contains `word`. Charts call it `name`, and draw it in the style of the
/// phase that moves the same data.
struct TransferStyle {
  const char *word, *name, *phase;
};
/// Returns the kind of a transfer with this name: the first one whose word occurs in the name.
const TransferStyle& transfer_kind(const std::string& what) {
  static const std::vector<TransferStyle> kinds = {
      {"all-reduce", "all-reduce of the gradients", "exposed communication"},
      {"gradients of the outputs", "loss and its gradients", "loss"},
      {"loss", "loss and its gradients", "loss"},
      {"gradient", "gradients to the first device", "reduce"},
      {"parameter", "parameters and buffers", "replicate"},
      {"target", "inputs and targets", "scatter"},
      {"input", "inputs and targets", "scatter"},
      {"output", "outputs", "gather"},
      {"", "other transfers", ""}};
  return *std::find_if(kinds.begin(), kinds.end(),
                       [&](const TransferStyle& kind) { return what.find(kind.word) != std::string::npos; });
}
int transfer_style(const TransferStyle& kind) {
  const int style = phase_style(kind.phase);
  // adds stripes, which mark the movement of data in all charts
  return style < kStripedStyle ? style + kStripedStyle : style;
}

std::string bytes_sentence(const JobRuns& job) {
  const Run *dp = job.dp(), *ddp = job.ddp();
  if (!dp || !ddp || dp->transfers.empty() || ddp->transfers.empty()) return "";
  return str_cat(job.name(), ": ", format_label(dp->label), " moves ", format_byte_size(step_bytes(*dp)),
                 " in a step, ", format_label(ddp->label), " ", format_byte_size(step_bytes(*ddp)), ".");
}

/// Returns the colour of the mode that uses the link: DP for copies between devices ("cpu:0 -> cpu:1, copy"), DDP for
/// all-reduces.
int link_style(const std::string& name) {
  return mode_style(name.find("->") != std::string::npos ? "dp" : "ddp " + name);
}

LineChart link_chart(const std::vector<const LinkProbe*>& links, bool rate) {
  LineChart chart;
  chart.title = rate ? "Bandwidth of each link by size" : "Time of a transfer by size";
  chart.description = "Points are measured, dashed lines are the fit a + S/B.";
  chart.x = {"bytes of a transfer, S", Unit::kBytes, true, false};
  chart.y = {rate ? "bytes per second" : "time", rate ? Unit::kBandwidth : Unit::kSeconds, true, false};
  chart.note = str_cat("Median of n = ", kLinkRepeats, " transfers; whisker: 95 % interval. Dashed: the fit.");
  std::map<int, int> links_by_colour;
  for (const LinkProbe* each : links) {
    const LinkProbe& link = *each;
    const int colour = link_style(link.name), style = colour + 10 * (links_by_colour[colour]++ % 4);
    Series measured{link.name, style, {}, false, true, false, true};
    Series fit{link.name + ", a + S/B", style, {}, true, false, true, false};
    for (size_t k = 0; k < link.bytes.size(); ++k) {
      const auto bytes = static_cast<double>(link.bytes[k]);
      const Interval& seconds = link.seconds[k];
      if (seconds.median <= 0 || bytes <= 0) continue;
      const std::string tooltip = str_cat(format_byte_size(bytes), " in ", format_duration(seconds.median), ", ",
                                          format_bandwidth(bytes / seconds.median));
      measured.points.push_back(rate ? ChartPoint{bytes, bytes / seconds.median,
                                                  seconds.high > 0 ? bytes / seconds.high : 0,
                                                  seconds.low > 0 ? bytes / seconds.low : 0, tooltip}
                                     : ChartPoint{bytes, seconds.median, seconds.low, seconds.high, tooltip});
      if (link.bandwidth <= 0) continue;
      const double predicted = link.latency + bytes / link.bandwidth;
      fit.points.push_back({bytes, rate ? bytes / predicted : predicted, 0, 0, ""});
    }
    chart.series.push_back(measured);
    chart.series.push_back(fit);
  }
  return chart;
}

/// Returns the fastest DDP run with several parameters per bucket. If there is none, returns the fastest DDP run with
/// recorded buckets.
const Run* select_bucketed_run(const JobRuns& job) {
  const Run* best = nullptr;
  const auto rank = [](const Run& run) {
    return std::pair(run.mode.find("naive") != std::string::npos, step_seconds(run));
  };
  for (const Run* run : job.runs)
    if (is_ddp(*run) && !run->buckets.empty() && (!best || rank(*run) < rank(*best))) best = run;
  return best;
}

std::string sweep_chart(const BucketSweep& sweep, const std::string& note) {
  LineChart chart;
  chart.title = str_cat("Bucket size: ", sweep.model, ", ", sweep.backend, ", ", pluralize(sweep.devices, "rank"));
  chart.x = {"bytes of a bucket", Unit::kBytes, true, false};
  chart.y = {"time of a step", Unit::kSeconds};
  chart.note = note;
  const int style = backend_style(sweep.backend);
  Series measured{"measured over " + sweep.backend, style, {}};
  Series predicted{"predicted for " + sweep.backend, style, {}, true, false, true, true};
  for (size_t i = 0; i < sweep.bytes.size(); ++i) {
    const auto bytes = static_cast<double>(sweep.bytes[i]);
    const Interval& seconds = sweep.seconds[i];
    measured.points.push_back({bytes, seconds.median, seconds.low, seconds.high,
                               str_cat(format_byte_size(bytes), ": ", format_duration(seconds.median))});
    if (!sweep.predicted.empty()) predicted.points.push_back({bytes, sweep.predicted[i], 0, 0, ""});
  }
  chart.series.push_back(measured);
  if (!predicted.points.empty()) chart.series.push_back(predicted);
  if (sweep.predicted_best > 0) {
    chart.mark_x = static_cast<double>(sweep.predicted_best);
    chart.mark_name = "predicted best: " + format_byte_size(chart.mark_x);
  }
  return render_svg(chart);
}

std::string sweep_sentence(const BucketSweep& sweep) {
  size_t best = 0, nearest = 0;
  for (size_t i = 1; i < sweep.bytes.size(); ++i) {
    if (sweep.seconds[i].median < sweep.seconds[best].median) best = i;
    const auto distance = [&](size_t k) {
      return std::abs(std::log(static_cast<double>(std::max<int64_t>(1, sweep.bytes[k]))) -
                      std::log(static_cast<double>(std::max<int64_t>(1, sweep.predicted_best))));
    };
    if (distance(i) < distance(nearest)) nearest = i;
  }
  if (sweep.bytes.empty()) return "";
  std::string out = str_cat(sweep.model, " over ", sweep.backend, ": the fastest of the sizes tried is ",
                            format_byte_size(static_cast<double>(sweep.bytes[best])), " (",
                            format_duration(sweep.seconds[best].median), " per step)");
  if (sweep.predicted_best > 0)
    out += str_cat("; predicted was ", format_byte_size(static_cast<double>(sweep.predicted_best)),
                   ", and the nearest size tried takes ", format_duration(sweep.seconds[nearest].median));
  return out + ".";
}

}  // namespace

std::string transfers_body(const Report& report, const ModeStyles&) {
  std::string figures, words;
  std::vector<std::string> sentences;
  for (const JobRuns& job : main_jobs(report)) {
    BarChart chart;
    chart.title = "Bytes of a step: " + job.name();
    chart.x = {"all transfers of a step together", Unit::kBytes};
    chart.note = "n = 1 step of each mode. Bar: counted bytes; every step moves the same.";
    for (const Run* run : job.runs) {
      if (run->transfers.empty()) continue;
      BarRow row{run->label, format_byte_size(step_bytes(*run)), {}, {}};
      std::vector<std::pair<std::string, double>> sums;
      for (const TransferTotals& transfers : run->transfers) {
        auto found =
            std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == transfers.what; });
        if (found == sums.end()) found = sums.insert(found, {transfers.what, 0});
        found->second += static_cast<double>(transfers.bytes);
      }
      for (const auto& [what, bytes] : sums) {
        const TransferStyle& kind = transfer_kind(what);
        row.segments.push_back({kind.name, transfer_style(kind), bytes, str_cat(what, ", ", format_byte_size(bytes))});
      }
      chart.rows.push_back(row);
    }
    chart.description = bytes_sentence(job);
    figures += render_svg(chart);
    if (!chart.description.empty()) sentences.push_back(chart.description);
  }
  int64_t rows = 0, num_different = 0;
  std::string different_rows;
  Table table("The ledger: every transfer beside its formula",
              {"run", "what", "link", "formula", "count", "bytes", "by formula", "difference"}, 4);
  for (const Run& run : report.runs)
    for (const TransferTotals& row : run.transfers) {
      ++rows;
      const int64_t difference = row.bytes - row.formula_bytes;
      if (difference != 0) {
        ++num_different;
        if (num_different <= 3)
          different_rows += str_cat(num_different > 1 ? "; " : "", row.what, ", ", row.link, " (", run.label, ", ",
                                    job_name(run), ")");
      }
      table.add_row({run.label + " (" + job_name(run) + ")", row.what, row.link, row.formula, format_integer(row.count),
                     format_integer(row.bytes), format_integer(row.formula_bytes),
                     difference == 0 ? "none" : (difference > 0 ? "+" : "") + format_integer(difference)},
                    difference != 0);
    }
  if (rows == 0) return "";
  words += bullet_list(sentences);
  words += paragraph(num_different == 0
                         ? str_cat("All ", format_integer(rows), " rows of the ledger equal their formula to the byte.")
                         : str_cat(format_integer(num_different), " of ", format_integer(rows),
                                   num_different == 1 ? " rows of the ledger differs" : " rows of the ledger differ",
                                   " from the formula: ", different_rows,
                                   num_different > 3 ? "; and others, marked in the table." : "."));
  return group_charts(figures) + words + table.render_html();
}

std::string links_body(const Report& report, const ModeStyles&) {
  std::string figures, words;
  constexpr size_t kPerChart = 6;
  for (size_t first = 0; first < report.links.size(); first += kPerChart) {
    std::vector<const LinkProbe*> links;
    for (size_t i = first; i < std::min(first + kPerChart, report.links.size()); ++i) links.push_back(&report.links[i]);
    figures += render_svg(link_chart(links, false)) + render_svg(link_chart(links, true));
  }
  Table table("The figures: each size over each link (95 % intervals, each by itself)",
              {"link", "bytes", "time", "from", "to", "bandwidth", "fit"});
  std::vector<std::string> lines;
  for (const LinkProbe& link : report.links) {
    lines.push_back(str_cat(link.name, ": a = ", format_duration(link.latency),
                            ", B = ", format_bandwidth(link.bandwidth), "; the fit is off by ",
                            format_percent(link.error), " in the median."));
    for (size_t i = 0; i < link.bytes.size(); ++i) {
      const auto bytes = static_cast<double>(link.bytes[i]);
      const Interval& seconds = link.seconds[i];
      table.add_row({link.name, format_integer(link.bytes[i]), format_duration(seconds.median),
                     format_low(seconds, format_duration), format_high(seconds, format_duration),
                     seconds.median > 0 ? format_bandwidth(bytes / seconds.median) : "",
                     link.bandwidth > 0 ? format_duration(link.latency + bytes / link.bandwidth) : ""});
    }
  }
  return group_charts(figures) + bullet_list(lines) + table.render_html();
}

std::string buckets_body(const Report& report, const ModeStyles&) {
  std::string figures, overlap;
  std::vector<std::string> words;
  Table sweeps("The figures: step time by bucket size (95 % intervals, each by itself)",
               {"model", "backend", "ranks", "bucket", "time", "from", "to", "predicted"}, 2);
  for (const BucketSweep& sweep : report.bucket_sweeps) {
    figures += sweep_chart(sweep, median_note(successful_runs(report), "Median"));
    if (!sweep.bytes.empty()) words.push_back(sweep_sentence(sweep));
    for (size_t i = 0; i < sweep.bytes.size(); ++i)
      sweeps.add_row({sweep.model, sweep.backend, format_integer(sweep.devices),
                      format_byte_size(static_cast<double>(sweep.bytes[i])), format_duration(sweep.seconds[i].median),
                      format_low(sweep.seconds[i], format_duration), format_high(sweep.seconds[i], format_duration),
                      sweep.predicted.empty() ? "" : format_duration(sweep.predicted[i])});
  }
  for (const JobRuns& job : main_jobs(report)) {
    const Run* const run = select_bucketed_run(job);
    if (!run) continue;
    BarChart chart;
    chart.title = str_cat("Each bucket's all-reduce: ", run->label, ", ", job.name());
    chart.x = {"time since the bucket was full", Unit::kSeconds};
    chart.note = "n = 1 step. Bar: from a full bucket to the end of its all-reduce. Right: the all-reduce alone.";
    double hidden = 0, all = 0;
    // The chart shows only the first buckets; the table below lists all of them.
    constexpr size_t kMaxBuckets = 16;
    if (run->buckets.size() > kMaxBuckets)
      chart.title += str_cat(" (the first ", kMaxBuckets, " of ", run->buckets.size(), ")");
    for (size_t i = 0; i < run->buckets.size(); ++i) {
      const BucketTimes& bucket = run->buckets[i];
      const double seconds = bucket.end - bucket.start, waited = bucket.start - bucket.ready;
      hidden += bucket.hidden;
      all += seconds;
      if (i >= kMaxBuckets) continue;
      chart.rows.push_back({str_cat("bucket ", i + 1, ", ", format_byte_size(static_cast<double>(bucket.bytes)),
                                    ", full at ", format_duration(bucket.ready)),
                            format_duration(seconds),
                            {{"waiting for its turn", kWaitingStyle, waited, format_duration(waited), "waiting"},
                             {"hidden communication", phase_style("hidden communication"), bucket.hidden,
                              format_duration(bucket.hidden), "hidden"},
                             {"exposed communication", phase_style("exposed communication"), seconds - bucket.hidden,
                              format_duration(seconds - bucket.hidden), "exposed"}},
                            {}});
    }
    chart.description =
        all > 0 ? str_cat(format_percent(hidden / all), " of the communication is hidden behind backward.") : "";
    overlap += render_svg(chart);
    if (all > 0) words.push_back(str_cat(job.name(), ", ", format_label(run->label), ": ", chart.description));
  }
  Table arrival("The figures: buckets in the order of their gradients' arrival",
                {"run", "parameters", "bucket", "bytes", "ready", "start", "end", "hidden"}, 2);
  for (const Run& run : report.runs)
    for (size_t i = 0; i < run.buckets.size(); ++i) {
      const BucketTimes& bucket = run.buckets[i];
      std::string parameters;
      for (const std::string& name : bucket.parameters) parameters += (parameters.empty() ? "" : ", ") + name;
      arrival.add_row({run.label + " (" + job_name(run) + ")", parameters, format_integer(static_cast<int64_t>(i) + 1),
                       format_integer(bucket.bytes), format_duration(bucket.ready), format_duration(bucket.start),
                       format_duration(bucket.end), format_duration(bucket.hidden)});
    }
  return group_charts(figures) + group_charts(overlap) + bullet_list(words) + sweeps.render_html() +
         arrival.render_html();
}

}  // namespace tandem::tools::compare
