// Implements render_html(): builds the page as one HTML file without scripts or external resources. Each part of the
// report that is not empty gets a section.
#include "tandem/tools/compare/page/sections.h"

namespace tandem::tools::compare {
namespace {

struct SectionBuilder {
  const char *id, *title;
  std::string (*body)(const Report&, const ModeStyles&);
};
constexpr SectionBuilder kSections[] = {
    {"verdict", "Verdict", verdict_body},
    {"throughput", "Throughput", throughput_body},
    {"anatomy", "Where the time of a step goes", anatomy_body},
    {"timeline", "The timeline of a step", timeline_body},
    {"memory", "Memory", memory_body},
    {"bytes", "Bytes moved", transfers_body},
    {"links", "Links between devices", links_body},
    {"buckets", "Bucket sizes", buckets_body},
    {"model", "Predictions", model_body},
    {"agreement", "Agreement with one device", agreement_body},
    {"diagnosis", "Waiting and diagnosis", diagnosis_body},
    {"inference", "Inference", inference_body},
    {"provenance", "Machine and versions", provenance_body},
};

}  // namespace

std::string render_html(const Report& report) {
  check_report(report);
  const ModeStyles styles(report);
  const Provenance& from = report.provenance;
  std::string names;
  for (const std::string& model : list_models(report)) names += (names.empty() ? "" : ", ") + model;
  Page page{.title = "tandem compare: " + names,
            .heading = "One device, DataParallel and DDP compared",
            .introduction =
                str_cat("<p class=\"meta\">",
                        escape_html(str_cat(names, names.empty() ? "" : " · ", from.cpu, " · ", from.date)), "</p>\n"),
            .footer = "Made by tandem compare from report.json; docs/compare.md says how to read it."};
  if (!report.complete)
    page.introduction +=
        str_cat("<p class=\"warn\" role=\"alert\"><strong>This report is incomplete:</strong> ",
                escape_html(report.incomplete_because.empty() ? "no reason was recorded" : report.incomplete_because),
                ". It contains only what was measured until then.</p>\n");
  page.introduction += colour_legend(report);
  for (const SectionBuilder& chapter : kSections) {
    const std::string body = chapter.body(report, styles);
    if (!body.empty()) page.sections.push_back({chapter.id, chapter.title, body});
  }
  return render_html(page);
}

}  // namespace tandem::tools::compare
