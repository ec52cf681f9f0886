// Tests the page of `tandem demo --report`: its contents, that it loads nothing, and runs without curves or mistakes.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "tandem/tests/catch.h"
#include "tandem/tests/data/idx_files.h"
#include "tandem/tests/json.h"
#include "tandem/tests/paths.h"
#include "tandem/tests/process.h"
#include "tandem/tests/tools/check_nesting.h"
#include "tandem/tools/demo/report.h"

using namespace tandem;
using namespace tandem::test;
using tools::DemoRun;
using tools::DemoSettings;

namespace {

/// Returns a bool, so that a failing CHECK does not print the whole page.
bool has(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }
size_t count(const std::string& page, const std::string& text) {
  size_t found = 0;
  for (size_t at = page.find(text); at != std::string::npos; at = page.find(text, at + 1)) ++found;
  return found;
}

/// Checks that hold for every page.
void check_page(const std::string& page) {
  CHECK(check_nesting(page) == "");
  for (const char* id : {"curves", "resources", "confusion", "mistakes", "provenance"}) {
    INFO(id);
    CHECK(has(page, std::string("<section id=\"") + id + "\""));
  }
  for (const char* request : {"http:", "https:", "@import", "<script", "<link", "<iframe", "<object", " onload="}) {
    INFO(request);
    CHECK_FALSE(has(page, request));
  }
  CHECK(count(page, "url(") == count(page, "url(#stripes"));  // patterns of the page itself
  CHECK(count(page, "src=") == count(page, "src=\"data:image/png;base64,"));
  CHECK_FALSE(has(page, "\"nan"));  // NaN must not appear as a coordinate
  CHECK_FALSE(has(page, "\"inf"));
}

}  // namespace

TEST_CASE("demo --report writes one page about all modes", "[demo]") {
  const TemporaryFolder data, out;
  write_digits(data.path(), 64, 40);
  const Result result = run_program(
      kCommand, {"demo", "--mode", "single,dp,ddp_local", "--model", "mlp", "--batch-size", "16", "--epochs", "3",
                 "--data", data.path(), "--report", out / "report.html", "--json", out / "with.json"});
  INFO(result.output);
  REQUIRE(result.status == 0);
  CHECK_THAT(result.output, Contains("the report is in " + out.path() + "/report.html"));
  const std::string page = read_file(out / "report.html");
  check_page(page);
  for (const char* text : {"one device", "DataParallel", "DDP, threads", "Training loss", "Test accuracy",
                           "Peak memory", "Confusion matrix", "to the last bit", "mlp on FashionMNIST"}) {
    INFO(text);
    CHECK(has(page, text));
  }
  CHECK(count(page, "<rect class=\"cell right\" x=\"") >= 10);
  CHECK(count(page, "<figure class=\"chart") == count(page, "<small>n = "));
  // One run says nothing about speed: what leads is certain.
  const size_t lead = page.find("<p class=\"verdict\">");
  const std::string first = page.substr(lead, page.find("</p>", lead) - lead);
  CHECK(first.starts_with("<p class=\"verdict\">All modes train the same model: after "));
  CHECK_FALSE((has(first, "fast") || has(first, "per second")));
  CHECK(has(page, "Each mode ran once, not repeated: timings are indicative."));
  CHECK(count(page, "<a href=\"#confusion\">Confusion matrix</a>") == 1);
  CHECK((has(page, "<img alt=\"test image ") || has(page, "libpng-dev") || has(page, "There are none")));
  // Evaluating the test images for the report must not change the training.
  const Result without =
      run_program(kCommand, {"demo", "--mode", "single,dp,ddp_local", "--model", "mlp", "--batch-size", "16",
                             "--epochs", "3", "--data", data.path(), "--json", out / "without.json"});
  REQUIRE(without.status == 0);
  const auto kept = parse_json(read_file(out / "with.json")).at("runs");
  const auto plain = parse_json(read_file(out / "without.json")).at("runs");
  REQUIRE(kept.size() == 3);
  for (size_t i = 0; i < 3; ++i)
    for (const char* key : {"mode", "mib_moved_per_step", "final_loss", "test_accuracy"}) {
      INFO(key << " of run " << i);
      CHECK(kept.at(i).at(key) == plain.at(i).at(key));
    }
}

TEST_CASE("a report has a page without steps, without mistakes, and of a loss that is NaN", "[demo]") {
  const TemporaryFolder folder;
  write_digits(folder.path(), 10, 10);
  const tools::DemoData data(folder.path());
  DemoSettings s;
  s.data = "<script>\"&", s.model = "mlp", s.device = "cpu", s.devices = s.ranks = 2;
  DemoRun run;
  run.mode = "single";
  run.peak_mib_per_device = {1.5};
  run.history.confusion.assign(100, 0);
  write_report(folder / "empty.html", s, data, {run});
  const std::string empty = read_file(folder / "empty.html");
  check_page(empty);
  CHECK(has(empty, "There are none"));
  CHECK(has(empty, "&lt;script&gt;&quot;&amp;"));
  for (int64_t step = 1; step < 500; ++step) run.history.losses.push_back({step, step < 250 ? 1.0 : NAN});
  run.history.accuracies = {{100, 0.5}, {200, NAN}};
  run.history.mistakes = {{3, 3, 7, 0.99}};
  run.final_loss = NAN;
  write_report(folder / "nan.html", s, data, {run});
  const std::string nan = read_file(folder / "nan.html");
  check_page(nan);
  CHECK(has(nan, "no number"));
  CHECK((has(nan, "is <b>dress</b><br/>taken for <b>sneaker</b>, <span>99") || has(nan, "libpng-dev")));
}

TEST_CASE("the two forms of DDP have colours of their own", "[demo][page]") {
  const TemporaryFolder folder;
  write_digits(folder.path(), 10, 10);
  const tools::DemoData data(folder.path());
  DemoSettings s;
  s.data = folder.path(), s.model = "mlp", s.device = "cpu", s.devices = s.ranks = 2;
  std::vector<DemoRun> runs(4);
  const char* const modes[] = {"single", "dp", "ddp_gloo", "ddp_local"};
  for (size_t i = 0; i < runs.size(); ++i) {
    runs[i].mode = modes[i];
    runs[i].samples_per_second = 1000.0 * static_cast<double>(i + 1);
    runs[i].peak_mib_per_device = {1.5};
    runs[i].history.confusion.assign(100, 1);
    runs[i].history.mistakes = {{3, 3, 7, 0.99}};
    runs[i].history.losses = {{1, 2.0}, {2, 1.0}};
    runs[i].history.accuracies = {{1, 0.5}, {2, 0.75}};
  }
  write_report(folder / "page.html", s, data, runs);
  const std::string page = read_file(folder / "page.html");
  check_page(page);
  std::vector<std::string> classes;  // of the bars of speed, a bar for each mode
  const std::string end = " seg\"";
  for (size_t at = page.find("<title>images per second: "); at != std::string::npos;
       at = page.find("<title>images per second: ", at + 1)) {
    const size_t begin = page.rfind("class=\"", at) + 7;
    classes.push_back(page.substr(begin, page.find(end, begin) - begin));
  }
  CHECK(classes == std::vector<std::string>{"f0", "f1", "f3", "f2"});
  if (const char* const path = std::getenv("TANDEM_TEST_PAGE")) std::ofstream(path) << page;  // for page_in_browser.sh
}
