// The options of `tandem compare` and of what it can do with reports that are there already.
#include "tandem/tools/compare/options.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>

#include "tandem/tools/compare/diff.h"
#include "tandem/tools/compare/report.h"
#include "tandem/tools/whole_file.h"

namespace tandem::tools {
namespace {

/// What reads reports ends with 2 where it cannot: 1 says that there is a regression.
constexpr int kUnusable = 2;
template <class Body> void with_reports(Body body) {
  try {
    body();
  } catch (const CLI::Error&) {
    throw;  // a status of its own
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem: %s\n", error.what());
    throw CLI::RuntimeError(kUnusable);
  }
}

void add_page(CLI::App& parent) {
  struct Options {
    std::string report, out;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand("page", "Make the page of a report.json again");
  c->add_option("report", o->report, "A report.json of `tandem compare`")->required();
  c->add_option("--out", o->out, "The page; beside the report, under its name with .html, unless given");
  c->callback([o] {
    with_reports([&] {
      const std::filesystem::path beside = std::filesystem::path(o->report).replace_extension(".html");
      const std::string out = o->out.empty() ? beside.string() : o->out;
      write_whole_file("compare", out, compare::html(compare::read_report(o->report)));
      std::printf("%s\n", out.c_str());
    });
  });
}

void add_diff(CLI::App& parent) {
  struct Options {
    std::string before, after;
  };
  auto o = std::make_shared<Options>();
  CLI::App* const c = parent.add_subcommand(
      "diff", "Compare two reports run by run; fails if one is slower, moves more, needs more memory or disagrees");
  c->add_option("before", o->before, "A report.json")->required();
  c->add_option("after", o->after, "Another one, whose regressions are looked for")->required();
  c->callback([o] {
    with_reports([&] {
      const compare::Difference difference = diff(compare::read_report(o->before), compare::read_report(o->after));
      std::printf("%s", difference.text.c_str());
      if (difference.regressions > 0) throw CLI::RuntimeError(1);
    });
  });
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* const c = app.add_subcommand("compare", "Pages and differences of reports that compare the parallel modes");
  c->require_subcommand(1);
  add_page(*c);
  add_diff(*c);
}

}  // namespace tandem::tools
