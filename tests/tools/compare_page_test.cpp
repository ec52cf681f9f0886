// Tests the HTML page of `tandem compare`: every section is there, figures are those of the report, it uses no network,
// and text is escaped.
#include <algorithm>
#include <vector>

#include "tandem/tests/catch.h"
#include "tandem/tests/tools/check_nesting.h"
#include "tandem/tests/tools/compare_sample.h"
#include "tandem/tools/compare/report.h"
#include "tandem/tools/compare/runs.h"
#include "tandem/tools/page/format.h"

using namespace tandem;
using namespace tandem::test;
using tools::compare::render_html;
using tools::compare::Report;
using tools::compare::Run;
using tools::page::format_duration;

namespace {

/// Returns a bool, so that a failing CHECK does not print the whole page.
bool contains(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

const char* const kIds[] = {"verdict", "throughput", "anatomy",   "timeline",  "memory",    "bytes",     "links",
                            "buckets", "model",      "agreement", "diagnosis", "inference", "provenance"};

}  // namespace

TEST_CASE("the page has every section, asks for nothing, and nests", "[compare]") {
  const Report report = sample_report();
  const std::string page = render_html(report);
  CHECK(page.size() < 2'000'000);
  CHECK(check_nesting(page) == "");
  for (const char* id : kIds) {
    INFO(id);
    const std::string quoted = std::string("\"") + id + "\"";
    CHECK(page.find("<section id=" + quoted) != std::string::npos);
    CHECK(page.find(std::string("href=\"#") + id + "\"") != std::string::npos);
  }
  for (const char* request : {"http:", "https:", "src=", "@import", "<script", "<link", "<iframe", "<object"}) {
    INFO(request);
    CHECK(page.find(request) == std::string::npos);
  }
  for (size_t at = page.find("url("); at != std::string::npos; at = page.find("url(", at + 1))
    CHECK(page.compare(at, 7, "url(#st") == 0);  // a pattern of the page itself
  CHECK(page.find(" onload=") == std::string::npos);
  CHECK(page.find("\"nan") == std::string::npos);  // NaN must not appear as a coordinate
  CHECK(page.find("\"inf\"") == std::string::npos);
}

TEST_CASE("the page's numbers are the report's", "[compare]") {
  const Report report = sample_report();
  const std::string page = render_html(report);
  const auto cell = [](const std::string& text) { return ">" + text + "</td>"; };
  for (const Run& run : report.runs) {
    INFO(run.label);
    if (!run.failed.empty()) {
      CHECK(contains(page, "failed: " + run.failed));
      continue;
    }
    CHECK(contains(page, cell(format_duration(run.p50))));
    CHECK(contains(page, cell(format_duration(run.p95))));
  }
  for (const Run& run : report.runs)
    if (run.model == "mlp" && run.batch == 128 && run.mode == "ddp_local_chosen" && run.devices == 2)
      CHECK(
          contains(page, "reaches " + tools::compare::format_with_interval(run.speedup, " times") + " its throughput"));
  // Computed by hand: the first device of DP over 2 devices needs more memory than the replica, namely 2 P for the
  // optimizer, the outputs, and P of workspace (P: bytes of the parameters).
  const int64_t excess = report.runs[4].memory[0].peak - report.runs[4].memory[1].peak;
  CHECK(contains(page,
                 "cpu:0 needs " + tools::page::format_number(static_cast<double>(excess) / 1048576.0) + " MiB more"));
  CHECK(contains(page, "This excess is "));
  CHECK(contains(page, "It stays if the replicas compute the loss."));
  CHECK(contains(page, "12 of 252 rows of the ledger differ"));
  CHECK(page.find("<tr class=\"bad\">") != std::string::npos);
  CHECK(contains(page, "first at linear_backward of fc2, step 4"));
  CHECK(contains(page, "It says nothing about the speed of GPUs"));
  CHECK(contains(page, "What communication adds to a step: " + report.overheads[0].model));
  CHECK(contains(page, "local, 4 ranks, batch 32"));
  CHECK(contains(page, "local, 2 ranks, batch 128 (fitted)"));
  CHECK(contains(page, "Recording costs 1.2 % of a step"));
}

TEST_CASE("verdicts and turning points follow the runs of each batch", "[compare]") {
  // Twelve repeats without noise.
  const auto run = [](const char* mode, int64_t batch, double speedup, const char* scaling = "strong") {
    Run r;
    r.model = "mlp", r.mode = mode, r.label = mode, r.batch = batch, r.scaling = scaling;
    r.devices = std::string(mode) == "single" ? 1 : 2;
    r.repeats.assign(12, 0.01 / speedup);
    r.speedup = {speedup, speedup, speedup, 12, 6};
    return r;
  };
  Report report;
  report.runs = {run("single", 32, 1), run("single", 8, 1), run("single", 128, 1), run("single", 512, 1)};
  for (const Run& each : {run("dp", 32, 0.5), run("ddp_local", 32, 1.5)}) report.runs.push_back(each);
  CHECK(find_turning_points(report).empty());  // the runs have one batch size only
  CHECK_THAT(verdict_from_runs(report), Contains("use ddp_local on 2 virtual devices for mlp at batch 32"));
  report.runs.push_back(run("ddp_local", 64, 2, "weak"));
  CHECK(find_turning_points(report).empty());  // the batch size of a weak-scaling run is not compared
  report.runs.push_back(run("weakly", 32, 2, "weak"));
  CHECK(contains(format_table(report), "ddp_local"));
  CHECK_FALSE(
      contains(format_table(report), "weakly"));  // weak-scaling runs have no row among those with equal batch sizes
  report.runs.pop_back();
  for (const Run& each : {run("ddp_local", 128, 1.2), run("dp", 128, 0.8)}) report.runs.push_back(each);
  CHECK(find_turning_points(report) ==
        std::vector<std::string>{"mlp: the verdict is ddp_local on 2 virtual devices at every batch from 32 to 128."});
  for (const Run& each : {run("dp", 8, 0.7), run("ddp_local", 8, 0.4), run("dp", 512, 3), run("ddp_local", 512, 2)})
    report.runs.push_back(each);
  CHECK(find_turning_points(report) ==
        std::vector<std::string>{
            "mlp: between batch 8 and 32 the verdict changes from one device with all the cores to ddp_local on 2 "
            "virtual devices.",
            "mlp: between batch 128 and 512 the verdict changes from ddp_local on 2 virtual devices to dp on 2 virtual "
            "devices."});
  for (Run& each : report.runs)
    if (each.batch == 512) each.repeats.resize(3);  // too few for a verdict: no turning point there
  CHECK(find_turning_points(report).size() == 1);
}

TEST_CASE("the page says of how many steps its figures are, which step it shows, and that it has no diagnosis",
          "[compare]") {
  Report report = sample_report();
  CHECK(!contains(render_html(report), "No diagnosis"));
  report.diagnosis.clear();
  for (Run& run : report.runs)
    if (run.shown_step.of > 0) run.shown_step.seconds = 0.0217;
  const std::string page = render_html(report);
  CHECK(contains(page, ": step 12 of 40, the median: 21.7 ms"));
  CHECK(contains(page, "All figures are means over 40 traced steps."));
  CHECK(contains(page, "Step 12 of 40, the one of median duration."));
  CHECK(contains(page, "No diagnosis"));
}

TEST_CASE("text from the report cannot leave its place in the page", "[compare]") {
  Report report = sample_report();
  const std::string hostile = "</title></svg><script>alert('1')</script>\"onload=\"x & \x01\xff";
  report.verdict = hostile;
  report.provenance.command = report.provenance.cpu = report.provenance.date = hostile;
  for (Run& run : report.runs) run.label += hostile, run.model += hostile;
  report.runs[4].lanes[0].name = report.runs[4].lanes[0].waiting_for.begin()->first + hostile;
  report.runs[4].lanes[0].phases[hostile] = 1e-4;
  report.runs[4].timeline[0].events[0].name = report.runs[4].timeline[0].name = hostile;
  report.runs[4].memory[0].at_peak[hostile] = 1 << 20;
  report.runs[4].transfers[0].what = report.runs[4].transfers[0].link = report.runs[4].transfers[0].formula = hostile;
  report.links[0].name = report.notes[0] = report.turning_points[0] = report.published[0].what = hostile;
  report.published[0].labels[0] = report.diagnosis[0].kind = report.projections[0].mode = hostile;
  const std::string page = render_html(report);
  CHECK(check_nesting(page) == "");
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("\"onload") == std::string::npos);
  CHECK(page.find('\x01') == std::string::npos);
  CHECK(page.find('\xff') == std::string::npos);
  CHECK(contains(page, "&lt;/svg&gt;&lt;script&gt;alert(&#39;1&#39;)"));
}

TEST_CASE("a part that was not measured leaves its section out, and an incomplete report says so", "[compare]") {
  Report report = sample_report();
  report.links.clear();
  report.inference.clear();
  report.diagnosis.clear();
  for (Run& run : report.runs) run.timeline.clear();
  report.complete = false;
  report.incomplete_because = "interrupted";
  const std::string page = render_html(report);
  for (const char* id : {"timeline", "links", "inference"})
    CHECK(page.find("<section id=\"" + std::string(id)) == std::string::npos);
  CHECK(contains(page, "This report is incomplete:</strong> interrupted"));
  CHECK(check_nesting(page) == "");
  CHECK(check_nesting(render_html(Report())) == "");  // a report without any measurement
  Report failed;
  failed.runs = {sample_report().runs.back()};
  CHECK(contains(render_html(failed), "NCCL needs a GPU"));
}

TEST_CASE("thousands of moments and events do not make a large page", "[compare]") {
  Report report = sample_report();
  for (Run& run : report.runs) {
    for (auto& memory : run.memory) {
      memory.seconds.clear();
      for (auto& [cause, bytes] : memory.over_time) bytes.assign(20000, 1 << 20);
      for (int i = 0; i < 20000; ++i) memory.seconds.push_back(i * 1e-6);
      if (!memory.over_time.empty()) memory.over_time.begin()->second[7] = int64_t(1) << 30;  // a short peak
    }
    for (auto& row : run.timeline)
      for (int i = 0; i < 20000; ++i) row.events.push_back({"add", "kernel", i * 1e-7, i * 1e-7 + 5e-8, 0});
  }
  const std::string page = render_html(report);
  CHECK(page.size() < 2'000'000);
  CHECK(contains(page, "1 GiB"));  // the axis shows the peak, although points are thinned out
}

TEST_CASE("numbers are written for people", "[compare]") {
  using namespace tools::page;
  CHECK(format_number(1234.5) == "1,230");
  CHECK(format_number(0.66512) == "0.665");
  CHECK(format_number(999.96) == "1,000");
  CHECK(format_number(-1234567, 7) == "-1,234,567");
  CHECK(format_number(3.6e-7) == "3.60e-07");
  CHECK(format_short_number(0.25) == "0.25");
  CHECK(format_short_number(128) == "128");
  CHECK(format_integer(1234567) == "1,234,567");
  CHECK(format_integer(-999) == "-999");
  CHECK(format_duration(0.00123) == "1.23 ms");
  CHECK(format_duration(0.0009999) == "1.00 ms");
  CHECK(format_byte_size(1.5 * 1048576) == "1.50 MiB");
  CHECK(format_byte_size(1000) == "1,000 B");
  CHECK(format_byte_size(48) == "48 B");
  CHECK(format_bandwidth(3.2e9) == "3.20 GB/s");
  CHECK(format_percent(0.042) == "4.2 %");
  CHECK(tools::compare::format_label("DDP, buckets, local") == "DDP (buckets, local)");
  CHECK(escape_html("a<b & \"c\"") == "a&lt;b &amp; &quot;c&quot;");
}
