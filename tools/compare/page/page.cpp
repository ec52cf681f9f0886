// The page: one HTML file without scripts or requests, a section for each part of the report that is there.
#include "tandem/tools/compare/page/parts.h"

namespace tandem::tools::compare {
namespace {

struct Section {
  const char *id, *title;
  std::string (*body)(const Report&, const ModeStyles&);
};
constexpr Section kSections[] = {
    {"verdict", "Verdict", verdict_body},
    {"throughput", "Throughput", throughput_body},
    {"anatomy", "The anatomy of a step", anatomy_body},
    {"timeline", "The timeline of a step", timeline_body},
    {"memory", "Memory", memory_body},
    {"bytes", "The ledger of bytes", transfers_body},
    {"links", "Links", links_body},
    {"buckets", "Bucket sizes", buckets_body},
    {"model", "The cost model", model_body},
    {"agreement", "The same model in every mode", agreement_body},
    {"diagnosis", "Stragglers and diagnosis", diagnosis_body},
    {"inference", "Inference", inference_body},
    {"provenance", "Provenance", provenance_body},
};

}  // namespace

std::string html(const Report& report) {
  check(report);
  const ModeStyles styles(report);
  std::string contents, sections, names;
  for (const Section& section : kSections) {
    const std::string body = section.body(report, styles);
    if (body.empty()) continue;
    contents += cat("<li><a href=\"#", section.id, "\">", section.title, "</a></li>\n");
    sections += cat("<section id=\"", section.id, "\">\n<h2>", section.title, "</h2>\n", body, "</section>\n");
  }
  for (const std::string& model : models(report)) names += (names.empty() ? "" : ", ") + model;
  const Provenance& from = report.provenance;
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>tandem compare: " +
      escape(names) + "</title>\n<style>" + page_style() +
      "</style>\n</head>\n<body>\n<header>\n<h1>One device, DataParallel and DDP compared</h1>\n";
  out +=
      cat("<p class=\"meta\">", escape(cat(names, names.empty() ? "" : " · ", from.cpu, " · ", from.date)), "</p>\n");
  if (!report.complete)
    out += cat("<p class=\"warn\" role=\"alert\"><strong>This report is incomplete:</strong> ",
               escape(report.incomplete_because.empty() ? "no reason was recorded" : report.incomplete_because),
               ". What is shown was measured; what is missing was not.</p>\n");
  return out + "</header>\n<nav aria-label=\"Contents\"><ol>\n" + contents + "</ol></nav>\n<main>\n" + sections +
         "</main>\n<footer><p class=\"meta\">Made by tandem compare from report.json; docs/compare.md says how to read "
         "it.</p></footer>\n"
         "</body>\n</html>\n";
}

}  // namespace tandem::tools::compare
