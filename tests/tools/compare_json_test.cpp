// Tests report.json: a written report reads back equal, and errors in a file are reported by name.
#include <cmath>
#include <limits>

#include "tandem/tests/catch.h"
#include "tandem/tests/temporary.h"
#include "tandem/tests/tools/compare_sample.h"
#include "tandem/tools/compare/report.h"

using namespace tandem;
using namespace tandem::test;
using tools::compare::read_report;
using tools::compare::Report;
using tools::compare::write_report;

TEST_CASE("a report is written and read back the same", "[compare]") {
  const TemporaryFolder folder;
  Report report = sample_report();
  report.runs[1].label = "quotes \" and \\, <tags>, a tab\t, \xc3\xa9";
  report.runs[2].p95 = std::numeric_limits<double>::quiet_NaN();  // losses may be NaN, which JSON stores as null
  write_report(folder / "a.json", report);
  CHECK(folder.count() == 1);
  const Report again = read_report(folder / "a.json");
  CHECK(again.runs.size() == report.runs.size());
  CHECK(again.runs[1].label == report.runs[1].label);
  CHECK(std::isnan(again.runs[2].p95));
  CHECK(again.runs[0].examples_per_second.low == report.runs[0].examples_per_second.low);  // equal to the last bit
  CHECK(again.runs[4].lanes[1].waiting_for == report.runs[4].lanes[1].waiting_for);
  CHECK(again.provenance.seed == 17);
  const auto number_of = [text = read_file(folder / "a.json")](const std::string& part) {
    size_t number = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
    return number;
  };
  CHECK(number_of("\"first_device_excess\": {") == report.runs.size());
  CHECK(number_of("\"first_device_excess\": {\n") > 0);  // DP's runs list causes
  write_report(folder / "b.json", again);
  CHECK(read_file(folder / "a.json") == read_file(folder / "b.json"));
}

TEST_CASE("what is wrong with a report is named with its place", "[compare]") {
  const TemporaryFolder folder;
  write_report(folder / "a.json", sample_report());
  const std::string good = read_file(folder / "a.json");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write_file(folder / "bad.json", text.replace(at, from.size(), to));
    return folder / "bad.json";
  };
  CHECK_THROWS_WITH(read_report(folder / "none.json"), Contains("cannot read") && Contains("No such file"));
  CHECK_THROWS_WITH(read_report(with("{", "[")), Contains("is not a report"));
  CHECK_THROWS_WITH(read_report(with("\"schema\": 2", "\"scheme\": 2")), Contains("no `schema`"));
  CHECK_THROWS_WITH(read_report(with("\"schema\": 2", "\"schema\": 1")), Contains("schema 1; accepted: 2"));
  CHECK_THROWS_WITH(read_report(with("\"p50\"", "\"p51\"")), Contains("(/runs/0)") && Contains("'p50' not found"));
  CHECK_THROWS_WITH(read_report(with("\"label\": \"One", "\"label\": 1, \"x\": \"")),
                    Contains("(/runs/0/label)") && Contains("must be string, but is number"));
}

TEST_CASE("a report whose lists do not fit each other is refused", "[compare]") {
  const TemporaryFolder folder;
  Report report = sample_report();
  report.runs[4].steps.at(0).seconds["step"].pop_back();
  CHECK_THROWS_WITH(write_report(folder / "a.json", report),
                    Contains("cpu:0") && Contains("40 traced steps and 39 step"));
  report = sample_report();
  report.links[0].bytes.pop_back();
  CHECK_THROWS_WITH(write_report(folder / "a.json", report),
                    Contains("cpu:0 -> cpu:1") && Contains("8 bytes and 9 seconds"));
  CHECK(folder.count() == 0);
  report = sample_report();
  report.runs[3].devices = 0;
  CHECK_THROWS_WITH(write_report(folder / "a.json", report), Contains("has 0 devices"));
  CHECK_THROWS_WITH(write_report("/no/such/folder/a.json", sample_report()), Contains("No such file"));
}
