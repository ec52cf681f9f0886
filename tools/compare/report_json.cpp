// Writes report.json (schema in docs/compare.md), and reads it with error messages that name the invalid part.
#define JSON_DIAGNOSTICS 1
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tandem/core/error.h"
#include "tandem/tools/atomic_file.h"
#include "tandem/tools/compare/excess.h"
#include "tandem/tools/compare/report.h"

namespace tandem::tools::compare {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Interval, median, low, high, n, needed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Lane, name, step, phases, waiting_for, unattributed, hidden, link, without_core)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaneSteps, name, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ShownStep, number, of, seconds)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimelineEvent, name, kind, start, end, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TimelineRow, name, events)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Memory, device, peak, at_peak, seconds, over_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TransferTotals, what, link, count, bytes, formula, formula_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BucketTimes, bytes, ready, start, end, hidden, parameters)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Agreement, reference, steps, largest_difference, losses, reference_losses,
                                   first_difference)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Run, model, mode, label, devices, batch, scaling, failed, repeats, p50, p95,
                                   examples_per_second, speedup, lanes, steps, cores_of_others, shown_step, timeline,
                                   memory, transfers, buckets, agreement, predicted)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkProbe, name, bytes, seconds, latency, bandwidth, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BucketSweep, model, backend, devices, batch, bytes, seconds, predicted,
                                   predicted_best)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Overhead, model, backend, devices, fitted_devices, batch, fitted_batch, measured,
                                   predicted)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Inference, model, devices, batch, single, dp, dp_persistent)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Projection, model, device, link, mode, batch_per_device, devices, efficiency)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Published, what, source, unit, labels, values, devices, predicted)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Diagnosis, kind, sentence, row, share, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Provenance, version, commit, date, command, cpu, os, compiler, cores, threads,
                                   memory_gib, seed, gpus, libraries)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Repeats, model, done, needed, looks, ended)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Report, schema, provenance, complete, incomplete_because, virtual_devices,
                                   measured_on, repeats, verdict, turning_points, diagnosis, runs, links, bucket_sweeps,
                                   overheads, inference, projections, published, tracing_cost, notes)

namespace {

constexpr int kSchema = 2;

/// Replaces null by NaN. JSON has no NaN, so the writer stores NaN as null, and no other value is stored as null.
void replace_nulls_by_nan(nlohmann::json& json) {
  if (json.is_null()) json = std::numeric_limits<double>::quiet_NaN();
  if (json.is_structured())
    for (nlohmann::json& part : json) replace_nulls_by_nan(part);
}

/// Checks that two lists have equal lengths. @param accepted_empty  whether the second list may also be empty
void check_lengths(const std::string& where, const char* first, size_t n, const char* second, size_t m,
                   bool accepted_empty = false) {
  TANDEM_CHECK(n == m || (accepted_empty && m == 0), "compare: ", where, " has ", n, " ", first, " and ", m, " ",
               second, "; accepted: the same number of each", accepted_empty ? ", or none" : "");
}

}  // namespace

void check_report(const Report& report) {
  const std::vector<std::string> kinds = {"cpu", "gpus", "shared gpu", "emulated gpus"};
  TANDEM_CHECK(std::find(kinds.begin(), kinds.end(), report.measured_on) != kinds.end(), "compare: measured_on is '",
               report.measured_on, "'; accepted: cpu, gpus, shared gpu, emulated gpus");
  for (const Repeats& repeats : report.repeats)
    TANDEM_CHECK(repeats.looks >= 1, "compare: the repeats of ", repeats.model, " have the field `looks` ",
                 repeats.looks, "; accepted: at least 1");
  for (const Run& run : report.runs)
    TANDEM_CHECK(run.devices >= 1 && run.batch >= 0, "compare: ", run.label, " of ", run.model, " has ", run.devices,
                 " devices and batch ", run.batch, "; accepted: at least 1 device, and a batch of 0 or more");
  for (const Run& run : report.runs)
    for (const LaneSteps& lane : run.steps)
      for (const auto& [what, seconds] : lane.seconds)
        check_lengths("the steps of " + lane.name + " (" + run.label + ")", "traced steps",
                      static_cast<size_t>(run.shown_step.of), what.c_str(), seconds.size());
  for (const Run& run : report.runs)
    for (const Memory& memory : run.memory)
      for (const auto& [cause, bytes] : memory.over_time)
        check_lengths("the memory of " + memory.device + " (" + run.label + ")", "seconds", memory.seconds.size(),
                      cause.c_str(), bytes.size());
  for (const LinkProbe& probe : report.links)
    check_lengths("the link " + probe.name, "bytes", probe.bytes.size(), "seconds", probe.seconds.size());
  for (const BucketSweep& sweep : report.bucket_sweeps) {
    const std::string where = "the bucket sweep of " + sweep.model;
    check_lengths(where, "bytes", sweep.bytes.size(), "seconds", sweep.seconds.size());
    check_lengths(where, "bytes", sweep.bytes.size(), "predicted", sweep.predicted.size(), true);
  }
  for (const Inference& inference : report.inference) {
    const std::string where = "the inference of " + inference.model;
    check_lengths(where, "batch", inference.batch.size(), "single", inference.single.size(), true);
    check_lengths(where, "batch", inference.batch.size(), "dp", inference.dp.size(), true);
    check_lengths(where, "batch", inference.batch.size(), "dp_persistent", inference.dp_persistent.size(), true);
  }
  for (const Projection& projection : report.projections)
    check_lengths("the projection of " + projection.model + " by " + projection.mode, "devices",
                  projection.devices.size(), "efficiency", projection.efficiency.size());
  for (const Published& published : report.published) {
    const std::string where = "the published " + published.what;
    check_lengths(where, "labels", published.labels.size(), "values", published.values.size());
    check_lengths(where, "labels", published.labels.size(), "devices", published.devices.size(), true);
    check_lengths(where, "labels", published.labels.size(), "predicted", published.predicted.size(), true);
  }
}

void write_report(const std::string& path, const Report& report) {
  check_report(report);
  nlohmann::json json = report;
  // Computed from the memory, so that readers of the file need not; read_report() ignores it.
  for (size_t i = 0; i < report.runs.size(); ++i) {
    const std::optional<FirstDeviceExcess> excess = compute_first_device_excess(report.runs[i]);
    json["runs"][i]["first_device_excess"] = excess ? nlohmann::json(excess->by_cause) : nlohmann::json::object();
  }
  // Replaces invalid UTF-8, for example in a path on the command line. Otherwise the library would throw and no report
  // would be written.
  write_file_atomically("compare", path, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

Report read_report(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  TANDEM_CHECK(in, "compare: cannot read ", path, ": ", std::strerror(errno));
  Report report;
  try {
    nlohmann::json json = nlohmann::json::parse(in);
    TANDEM_CHECK(json.is_object() && json.contains("schema"), "compare: ", path,
                 " is not a report: it has no `schema`; a report.json of `tandem compare` is accepted");
    TANDEM_CHECK(json["schema"] == kSchema, "compare: ", path, " has schema ", json["schema"].dump(),
                 "; accepted: ", kSchema);
    replace_nulls_by_nan(json);
    report = json.get<Report>();
  } catch (const nlohmann::json::exception& error) {
    TANDEM_FAIL("compare: ", path, " is not a report: ", error.what());
  }
  check_report(report);
  return report;
}

}  // namespace tandem::tools::compare
