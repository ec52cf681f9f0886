// Tests the difference of two reports, how `tandem compare` handles files, and its table on the terminal.
#include <cmath>
#include <sstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/tools/compare_sample.h"
#include "tandem/tools/compare/diff.h"

using namespace tandem;
using namespace tandem::test;
using tools::compare::diff;
using tools::compare::Difference;
using tools::compare::Interval;
using tools::compare::Report;
using tools::compare::Run;
using tools::compare::throughput_ratio;
using tools::compare::write_report;

TEST_CASE("the ratio of throughputs has Welch's interval", "[compare]") {
  // Equals scipy.stats.ttest_ind(log a, log b, equal_var=False).confidence_interval(), except that the degrees of
  // freedom are rounded down. Computed by hand below, with log a = {0, 0.2} and log b = {0, 0.1, 0.2}.
  const std::vector<double> a = {1, std::exp(0.2)}, b = {1, std::exp(0.1), std::exp(0.2)};
  // The means are 0.1 and 0.1, and the variances of the means 0.02/2 and 0.01/3. Degrees of freedom: (0.04/3)^2 /
  // (0.01^2/1 + (0.01/3)^2/2) = 1.68.
  const Interval ratio = throughput_ratio(a, b);
  const double half = 12.706 * std::sqrt(0.01 + 0.01 / 3);
  CHECK(ratio.median == Approx(1));
  CHECK(ratio.low == Approx(std::exp(-half)));
  CHECK(ratio.high == Approx(std::exp(half)));
  CHECK(throughput_ratio({2, 2}, {1, 1}).low == Approx(2));  // half the time without noise: exactly twice as fast
  CHECK_THROWS_WITH(throughput_ratio({1}, {1, 1}), Contains("two or more repeats"));
}

TEST_CASE("a difference of reports finds each kind of regression, and nothing where there is none", "[compare]") {
  const Report before = sample_report();
  Report after = before;
  CHECK(diff(before, after).num_regressions == 0);
  CHECK(diff(before, after).num_compared_runs == static_cast<int>(before.runs.size()) - 2);  // two runs failed
  const auto worse = [&](const auto& change, const char* reason) {
    after = before;
    change(after.runs[4]);
    const Difference difference = diff(before, after);
    INFO(difference.text);
    CHECK(difference.num_regressions == 1);
    CHECK(difference.text.find(reason) != std::string::npos);
    CHECK(diff(after, before).num_regressions == 0);  // in the other direction it is an improvement
  };
  const auto scaled = [](double factor) {
    return [factor](Run& run) {
      for (double& seconds : run.repeats) seconds *= factor;
    };
  };
  worse(scaled(1.25), "it is slower");
  worse([](Run& run) { run.transfers[0].bytes += 1; }, "it moves more");
  worse([](Run& run) { run.memory[1].peak = run.memory[1].peak * 106 / 100; }, "the peak of cpu:1 is larger");
  worse([](Run& run) { run.agreement[0].largest_difference = 1e-7; }, "differ from those of the reference by");
  worse([](Run& run) { run.failed = "no more"; }, "it fails now: no more");
  after = before;
  scaled(1.04)(after.runs[4]);  // still within the tolerance of 0.95
  after.runs[5].memory.clear();
  after.runs[6].memory[0].peak = after.runs[6].memory[0].peak * 104 / 100;
  CHECK(diff(before, after).num_regressions == 0);
  after.runs.clear();
  CHECK_THROWS_WITH(diff(before, after), Contains("no run in common"));
}

TEST_CASE("tandem compare makes the page again, and ends with 1 on a regression and 2 on what it cannot read",
          "[compare]") {
  const TemporaryFolder folder;
  Report report = sample_report();
  write_report(folder / "a.json", report);
  const auto tandem_compare = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "compare");
    return run_program(kCommand, arguments);
  };
  CHECK(tandem_compare({"page", folder / "a.json"}).status == 0);
  CHECK(read_file(folder / "a.html") == tools::compare::render_html(report));
  CHECK(tandem_compare({"page", folder / "a.json", "--out", folder / "b.html"}).status == 0);
  CHECK(folder.count() == 3);
  CHECK(tandem_compare({"diff", folder / "a.json", folder / "a.json"}).status == 0);
  report.runs[4].transfers[0].bytes += 1;
  write_report(folder / "worse.json", report);
  const Result worse = tandem_compare({"diff", folder / "a.json", folder / "worse.json"});
  CHECK(worse.status == 1);
  CHECK_THAT(worse.output, Contains("it moves more") && Contains("1 regression"));
  write_file(folder / "bad.json", "{\"schema\": 2}");
  for (const Result& result :
       {tandem_compare({"diff", folder / "a.json", folder / "bad.json"}), tandem_compare({"page", folder / "bad.json"}),
        tandem_compare({"page", folder / "none.json"}),
        tandem_compare({"page", folder / "a.json", "--out", "/no/such/page"})}) {
    CHECK(result.status == 2);
    CHECK_THAT(result.output, Contains("tandem compare "));
  }
}

TEST_CASE("the table keeps to 80 columns, and has the report's numbers", "[compare]") {
  Report report = sample_report();
  report.runs[4].label = "a label that is much too long for a column, with \n a break and \xc3\xa9";
  report.runs.back().failed = std::string(200, 'x');
  const std::string text = tools::compare::format_table(report);
  INFO(text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto bytes_within = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) == 0x80; });
    CHECK(line.size() - static_cast<size_t>(bytes_within) <= 80);
  }
  CHECK_THAT(text, Contains("0.37 (0.36-0.37)") && Contains("failed: xxx"));
  CHECK_THAT(text, Contains("34 of 36 runs end with the parameters"));
}
