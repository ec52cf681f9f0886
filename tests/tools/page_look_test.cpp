// How pages look: colours that stand for one thing each and that colour-blind readers can tell apart, steps that are
// drawn as steps, the number of measurements below each title, and links that lead somewhere.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tandem/tests/catch.h"
#include "tandem/tests/tools/compare_sample.h"
#include "tandem/tools/compare/report.h"
#include "tandem/tools/page/chart.h"
#include "tandem/tools/page/page.h"

using namespace tandem;
using namespace tandem::test;
using tools::compare::render_html;
using tools::compare::Report;
using tools::compare::Run;

namespace {

/// A failing CHECK of this prints no page.
bool has_text(const std::string& page, const std::string& text) { return page.find(text) != std::string::npos; }

/// Returns the first group of every match.
std::vector<std::string> find_all(const std::string& text, const std::string& pattern) {
  std::vector<std::string> out;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) out.push_back((*at)[1]);
  return out;
}

using Rgb = std::array<double, 3>;

/// Returns a colour "#rrggbb" of the style sheet in linear RGB. @param dark  whether to take it from the dark colours
Rgb linear_colour(const std::string& name, bool dark) {
  const std::string style = tools::page::page_style();
  const size_t split = style.find("prefers-color-scheme:dark");
  const auto value = [&](const std::string& part) {
    const std::vector<std::string> found = find_all(part, "--" + name + ":(#[0-9a-f]+)");
    return found.empty() ? "" : found[0];
  };
  std::string hex = dark ? value(style.substr(split, style.find("@media print") - split)) : "";
  if (hex.empty()) hex = value(style.substr(0, split));
  if (hex.size() == 4) hex = {'#', hex[1], hex[1], hex[2], hex[2], hex[3], hex[3]};
  REQUIRE(hex.size() == 7);
  Rgb out;
  for (size_t i = 0; i < 3; ++i) {
    const double c = static_cast<double>(std::strtol(hex.substr(1 + 2 * i, 2).c_str(), nullptr, 16)) / 255;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

/// Returns the contrast of two colours by WCAG 2: (lighter + 0.05) / (darker + 0.05), of relative luminances.
double contrast(const Rgb& a, const Rgb& b) {
  const auto luminance = [](const Rgb& c) { return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; };
  const double first = luminance(a), second = luminance(b);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

/// Returns the colour in CIELAB as a reader with normal vision (0), protanopia, deuteranopia or tritanopia sees it. The
/// matrices are those of Machado, Oliveira and Fernandes (2009) for the full deficiency.
Rgb seen_colour(const Rgb& c, int vision) {
  static const double matrices[4][9] = {
      {1, 0, 0, 0, 1, 0, 0, 0, 1},
      {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
      {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
      {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900}};
  Rgb l;
  for (size_t i = 0; i < 3; ++i) {
    const double* row = matrices[vision] + 3 * i;
    l[i] = std::clamp(row[0] * c[0] + row[1] * c[1] + row[2] * c[2], 0.0, 1.0);
  }
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f((0.4124 * l[0] + 0.3576 * l[1] + 0.1805 * l[2]) / 0.9505),
               y = f(0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]),
               z = f((0.0193 * l[0] + 0.1192 * l[1] + 0.9505 * l[2]) / 1.089);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

/// Returns the smallest distance in CIELAB of two of the colours, over all kinds of vision.
double smallest_distance(const std::vector<std::string>& names, bool dark) {
  double smallest = INFINITY;
  for (int vision = 0; vision < 4; ++vision)
    for (size_t i = 0; i < names.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const Rgb a = seen_colour(linear_colour(names[i], dark), vision),
                  b = seen_colour(linear_colour(names[j], dark), vision);
        smallest = std::min(smallest, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
      }
  return smallest;
}

/// Returns the names that charts and legends give to each colour: "p3" for area 3 with or without stripes, "f2" for
/// lines and points 2.
std::map<std::string, std::set<std::string>> names_by_colour(const std::string& page) {
  std::map<std::string, std::set<std::string>> out;
  const auto add = [&](std::string colour, const std::string& name) {
    if (colour == "fh") colour = "p7";
    colour[0] = colour[0] == 'h' ? 'p' : colour[0] == 's' ? 'f' : colour[0];
    out[colour].insert(name);
  };
  const std::regex legend("<li><svg class=\"key\"[^>]*>(.*?)</svg>([^<]+)</li>");
  for (std::sregex_iterator at(page.begin(), page.end(), legend), end; at != end; ++at)
    add(find_all((*at)[1], "class=\"([a-z]+[0-9]?)").at(0), (*at)[2]);
  const std::regex bar("<rect class=\"([ph][0-9]|fh) seg\"[^>]*><title>([^:<]+): ");
  // Only stacked bars: the names of a timeline's marks are events.
  for (std::sregex_iterator at(page.begin(), page.end(), bar), end; at != end; ++at)
    if (has_text((*at)[0], "height=\"16.0\"") || has_text((*at)[0], "height=\"5.0\"")) add((*at)[1], (*at)[2]);
  return out;
}

}  // namespace

TEST_CASE("each colour of compare's page stands for one thing", "[compare]") {
  const auto names = names_by_colour(render_html(sample_report()));
  // Names of one thing: what a phase computes or moves, the memory that holds it, and its transfers.
  const std::map<std::string, std::set<std::string>> areas = {
      {"p0", {"input", "scatter", "inputs and targets"}},
      {"p1", {"parameters", "replicate", "replicas", "parameters and buffers"}},
      {"p2", {"forward", "activations", "forward and its activations"}},
      {"p3", {"outputs", "gather"}},
      {"p4", {"loss", "loss and its gradients"}},
      {"p5", {"backward", "gradients", "reduce", "gradients to the first device", "backward and its gradients"}},
      {"p6", {"optimizer"}},
      {"p7",
       {"buckets", "communication", "exposed communication", "hidden communication", "all-reduce of the gradients",
        "communication of DDP: buckets and all-reduce"}}};
  for (const auto& [colour, allowed] : areas) {
    INFO(colour);
    REQUIRE(names.count(colour) == 1);
    for (const std::string& name : names.at(colour)) {
      INFO(name);
      CHECK(allowed.count(name) == 1);
    }
  }
  const std::map<std::string, std::string> lines = {
      {"f1", "^DP\\b|-&gt;"}, {"f2", "local"}, {"f3", "gloo"}, {"f4", "nccl"}};
  for (const auto& [colour, pattern] : lines) {
    INFO(colour);
    REQUIRE(names.count(colour) == 1);
    for (const std::string& name : names.at(colour)) {
      INFO(name);
      CHECK(std::regex_search(name, std::regex(pattern)));
    }
  }
}

TEST_CASE("readers with any kind of colour vision can tell a page's colours apart", "[compare]") {
  const bool dark = GENERATE(false, true);
  INFO((dark ? "dark" : "light"));
  // A difference of 2.3 is just noticeable between patches that touch; bars also differ in labels and stripes, points
  // in shape.
  CHECK(smallest_distance({"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}, dark) > 15);
  CHECK(smallest_distance({"ink", "c1", "c2", "c3", "c4"}, dark) > 11);
  const Rgb paper = linear_colour("paper", dark);
  for (const char* line : {"c1", "c2", "c3", "c4", "others"}) {
    INFO(line);
    CHECK(contrast(linear_colour(line, dark), paper) >= 3);  // WCAG 2.1, 1.4.11, for graphics
  }
  for (const char* text : {"ink", "soft", "accent"}) {
    INFO(text);
    CHECK(contrast(linear_colour(text, dark), paper) >= 4.5);  // WCAG 2.1, 1.4.3, for text
  }
  for (const char digit : std::string("01234567")) {
    INFO(digit);
    CHECK(contrast(linear_colour(std::string("o") + digit, dark), linear_colour(std::string("p") + digit, dark)) >=
          4.5);
    // The outline, or in the dark the area itself, stands out from the page.
    CHECK(std::max(contrast(linear_colour(std::string("p") + digit, dark), paper),
                   contrast(linear_colour("edge", dark), paper)) >= 3);
  }
}

TEST_CASE("areas are drawn as step functions", "[compare]") {
  using namespace tools::page;
  AreaChart chart;
  chart.at = {0, 1, 3};
  chart.layers = {{"below", 0, {1, 2, 0}}, {"above", 1, {1, 0, 0}}};
  const std::string picture = render_svg(chart);
  const std::vector<std::string> paths = find_all(picture, "<path class=\"[ph][0-9] seg\" d=\"([^\"]*)\"");
  REQUIRE(paths.size() == 2);
  for (const std::string& path : paths) CHECK(path.find_first_not_of("MHVZ0123456789. ") == std::string::npos);
  // The y axis goes from 0 at 196 to 2 at 24; x from 0 at 0 to 3 at 500. "below" is 1 until 1, then 2 until 3.
  CHECK(paths[0].starts_with("M0.0 110.0H166.7V24.0H500.0V"));
  // "above" lies on it: its top is 2 all the time, and its lower edge comes back over the same steps.
  CHECK(paths[1].starts_with("M0.0 24.0H500.0V"));
  CHECK(paths[1].ends_with("V24.0H166.7V110.0H0.0Z"));
}

TEST_CASE("memory of thousands of moments keeps the peak of each part of the step", "[compare]") {
  Run run;
  run.model = "mlp", run.mode = "dp", run.label = "DP", run.devices = 2, run.batch = 32, run.scaling = "strong";
  run.memory.resize(1);
  auto& memory = run.memory[0];
  memory.device = "cpu:0";
  auto& bytes = memory.over_time["activations"];
  bytes.assign(20000, 0);
  for (int i = 0; i < 20000; ++i) memory.seconds.push_back(i < 100 ? i * 1e-6 : 1 + i * 1e-6);
  bytes[50] = 100, bytes[10007] = 200, bytes[99] = 50;  // 50 bytes last until second 1
  memory.at_peak = {{"activations", memory.peak = 200}};
  Report report;
  report.runs = {run};
  const std::vector<std::string> paths = find_all(render_html(report), "<path class=\"p2 seg\" d=\"([^\"]*)\"");
  REQUIRE(paths.size() == 1);
  CHECK(paths[0].starts_with("M0.0 110.0"));  // 100 of 200 bytes: in the first part
  CHECK(has_text(paths[0], "V153.0"));        // 50 bytes: held through all parts without an entry of their own
  CHECK(has_text(paths[0], "V24.0"));         // 200 bytes
}

TEST_CASE("every figure says how many measurements it is made from", "[compare]") {
  const std::vector<std::string> captions =
      find_all(render_html(sample_report()), "<figure class=\"chart[^>]*>\n<figcaption>([^\n]*)</figcaption>");
  REQUIRE(captions.size() > 30);
  for (const std::string& caption : captions) {
    INFO(caption);
    CHECK(has_text(caption, "n = "));
  }
  Report few = sample_report();
  for (Run& run : few.runs) run.repeats.resize(std::min<size_t>(run.repeats.size(), 3));
  const std::string page = render_html(few);
  CHECK(has_text(page, "Median of n = 3 repeats: too few for an interval."));
  CHECK_FALSE(has_text(page, "repeats; whisker: 95 %"));
}

TEST_CASE("links within a page lead to parts of it, and others' figures are folded away", "[compare]") {
  const std::string page = render_html(sample_report());
  for (const std::string& id : find_all(page, "href=\"#([^\"]*)\"")) {
    INFO(id);
    CHECK(has_text(page, " id=\"" + id + "\""));
  }
  size_t shown = 0, at = page.find("<main>");
  for (const char* folded : {"Predicted, not measured", "1 published value"}) {
    REQUIRE(has_text(page, folded));
    for (size_t found = page.find(folded, at); found != std::string::npos; found = page.find(folded, found + 1)) {
      const size_t opened = page.rfind("<details class=\"fold\"", found);
      REQUIRE(opened != std::string::npos);
      int depth = 0;  // tables within the fold are <details> too
      for (size_t tag = page.find("details", opened); tag < found; tag = page.find("details", tag + 1))
        depth += page[tag - 1] == '<' ? 1 : page[tag - 1] == '/' ? -1 : 0;
      if (depth < 1) ++shown;
    }
  }
  CHECK(shown == 0);
}

TEST_CASE("the lanes of a timeline begin at 0, though a rank's clock began before the first rank's", "[compare]") {
  Report report = sample_report();
  for (Run& run : report.runs)
    for (auto& row : run.timeline)
      for (auto& event : row.events) event.start -= 0.5, event.end -= 0.5;
  const std::string page = render_html(report), before = render_html(sample_report());
  CHECK(find_all(page, "<rect class=\"[^\"]*\"( x=\"-)").empty());
  const auto lefts = [](const std::string& text) { return find_all(text, "(x=\"[0-9.]*%\")[^>]*height=\"18\""); };
  CHECK(lefts(page).size() > 20);
  CHECK(lefts(page) == lefts(before));
}

// Hidden: writes the page for page_in_browser.sh.
TEST_CASE("a page of compare for the browser", "[.page]") {
  const char* const path = std::getenv("TANDEM_TEST_PAGE");
  REQUIRE(path);
  std::ofstream(path) << render_html(sample_report());
}
