// The results of `tandem compare`: the contents of report.json (docs/compare.md has its schema) and of the page made
// from it. Times are seconds, sizes bytes; a part that was not measured is an empty list.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::compare {

/// A median with its confidence interval (at least 95 %).
struct Interval {
  double median = 0, low = 0, high = 0;
};

/// The phases of a lane, in the order in which pages and tables list them. Waiting and unattributed time are no phases.
inline const std::vector<std::string> kPhases = {
    "input", "scatter",  "replicate", "forward",   "gather",
    "loss",  "backward", "reduce",    "optimizer", "exposed communication"};

/// The anatomy of a step on one lane, which is a device or a rank. Each moment is counted once.
struct Lane {
  std::string name;                           // "cpu:1", "rank 0"
  double step = 0;                            // seconds of a step: the sum of all fields below but `hidden`
  std::map<std::string, double> phases;       // seconds, by the names in kPhases
  std::map<std::string, double> waiting_for;  // seconds, by the name of the lane waited for
  double unattributed = 0;
  double hidden = 0;  // communication that overlaps the step's own work
};

/// An event on the timeline of one step; times count from the step's start.
struct TimelineEvent {
  std::string name, kind;  // kind: a phase's name, "communication" or "kernel"
  double start = 0, end = 0;
  int64_t bytes = 0;
};
struct TimelineRow {
  std::string name;
  std::vector<TimelineEvent> events;
};

/// The memory of one device over a step, by cause: parameters, gradients, optimizer, activations, outputs, replicas,
/// buckets, input, workspace.
struct Memory {
  std::string device;
  int64_t peak = 0;                                       // bytes: the allocator's peak, and the sum of at_peak
  std::map<std::string, int64_t> at_peak;                 // by cause
  std::vector<double> seconds;                            // times of the points below, from the step's start on
  std::map<std::string, std::vector<int64_t>> over_time;  // by cause, at the times in `seconds`
};

/// All transfers of one kind in a step, beside their formula.
struct Transfers {
  std::string what, link;  // "parameters to the replicas", "cpu:0 -> cpu:1"
  int64_t count = 0, bytes = 0;
  std::string formula = {};  // as written in docs/course.md
  int64_t formula_bytes = 0;
};

/// One bucket's all-reduce within a step; times count from the step's start.
struct BucketTimes {
  int64_t bytes = 0;
  double ready = 0, start = 0, end = 0;      // ready: when its last gradient was computed
  double hidden = 0;                         // part of end - start that overlaps backward
  std::vector<std::string> parameters = {};  // names, in the order in which their gradients arrive
};

/// A comparison of a mode with its reference on one device, which should train the same model.
struct Agreement {
  std::string reference;
  int steps = 0;
  double largest_difference = 0;                           // largest difference of any parameter
  std::vector<double> losses = {}, reference_losses = {};  // step by step
  std::string first_difference = {};                       // first operation whose result differs; empty if none does
};

/// One mode on one job: a row of the table.
struct Run {
  std::string model, mode;  // mode: its key, as "ddp_local_naive"
  std::string label;        // for people: "DDP over local, a bucket per parameter"
  int devices = 1;
  int64_t batch = 0;            // examples per step, over all devices
  std::string scaling;          // "strong": the same batch for all counts of devices; "weak": the same per device
  std::string failed;           // error if there are no figures; else empty
  std::vector<double> repeats;  // mean seconds per step of each repeat
  double p50 = 0, p95 = 0;      // seconds of single steps
  Interval examples_per_second;
  Interval speedup;  // over one device with all cores; ratios are taken per repeat
  std::vector<Lane> lanes;
  std::vector<TimelineRow> timeline;  // of one step
  std::vector<Memory> memory;
  std::vector<Transfers> transfers;
  std::vector<BucketTimes> buckets;
  std::vector<Agreement> agreement;  // at most one
  double predicted = 0;              // seconds per step, by the cost model; 0: no prediction
};

/// Transfers of several sizes over one link, and the line a + S/B through them.
struct LinkProbe {
  std::string name;  // "cpu:0 -> cpu:1, copy", "all-reduce, local, 2 ranks"
  std::vector<int64_t> bytes;
  std::vector<Interval> seconds;
  double latency = 0, bandwidth = 0;  // seconds, bytes per second
  double error = 0;                   // median of |fit / measured - 1|
};

/// Step times by the size of DDP's buckets.
struct BucketSweep {
  std::string model, backend;
  int devices = 0;
  int64_t batch = 0;
  std::vector<int64_t> bytes;
  std::vector<Interval> seconds;
  std::vector<double> predicted;  // seconds
  int64_t predicted_best = 0;
};

/// The time that communication adds to a step of DDP: measured, and predicted by the cost model from a link and a
/// profile that were measured on another number of ranks or another batch.
struct Overhead {
  std::string model, backend;
  int devices = 0, fitted_devices = 0;
  int64_t batch = 0, fitted_batch = 0;
  Interval measured;   // seconds: a step of DDP minus a step of ranks that send nothing, per repeat
  Interval predicted;  // seconds: median from the medians of the link's times; low, high from their intervals
};

/// Forward passes without gradients by batch size.
struct Inference {
  std::string model;
  int devices = 0;
  std::vector<int64_t> batch;
  std::vector<Interval> single, dp, dp_persistent;  // seconds
};

/// Predicted weak scaling on devices that this machine lacks.
struct Projection {
  std::string model, device, link = {}, mode = {};  // device: the compute profile's name
  int64_t batch_per_device = 0;
  std::vector<int> devices = {};
  std::vector<double> efficiency = {};  // throughput per device over the throughput of one device
};

/// A measurement that somebody published.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  std::vector<double> devices =
      {};  // number of devices of each value, if the values are efficiencies (1 is ideal); else empty
  std::vector<double> predicted = {};  // predictions of the cost model; empty if the source gives too few inputs
};

struct Diagnosis {
  std::string kind;      // data-starved, too small, link-bound, first-device-bound, straggler
  std::string sentence;  // a sentence with the figures
  std::string row;       // model, label and devices of the run concerned
};

struct Provenance {
  std::string version, commit, date, command, cpu, os, compiler;
  int cores = 0, threads = 0;
  double memory_gib = 0;
  uint64_t seed = 0;
  std::vector<std::string> gpus, libraries;
};

struct Report {
  int schema = 1;
  Provenance provenance;
  bool complete = true;
  std::string incomplete_because;  // "interrupted", or the error
  bool virtual_devices = false;    // devices that share cores or one GPU, so their times do not apply to several GPUs
  std::string verdict;             // a sentence for each model
  std::vector<std::string> turning_points;  // batch sizes at which another mode becomes the best
  std::vector<Diagnosis> diagnosis;
  std::vector<Run> runs;
  std::vector<LinkProbe> links;
  std::vector<BucketSweep> bucket_sweeps;
  std::vector<Overhead> overheads;
  std::vector<Inference> inference;
  std::vector<Projection> projections;
  std::vector<Published> published;
  std::vector<Interval> tracing_cost;  // at most one value: time of a traced step over an untraced step, minus 1
  std::vector<std::string> notes;      // about the cost model: where it has skill, and where it has none
};

/// Checks that lists that belong together have equal lengths, and that every run has a device. @throws Error that names
/// the invalid part
void check(const Report& report);
/// Writes the report as JSON, atomically. @throws Error with the system's reason
void write_report(const std::string& path, const Report& report);
/// Reads a report. @throws Error that names a part that is missing or has a wrong type
Report read_report(const std::string& path);
/// Returns a sentence for each model, from its runs: which mode to use, and its speedup over one device with all cores.
/// The page shows it if report.verdict is empty.
std::string verdict_from_runs(const Report& report);
/// Returns a sentence for each pair of neighbouring batch sizes with different best modes, or one sentence for a model
/// whose best mode never changes. The page shows them if report.turning_points is empty.
std::vector<std::string> find_turning_points(const Report& report);
/// Returns the table that the terminal shows above the verdict: each model's main jobs, in 80 columns.
std::string table(const Report& report);
/// Returns the page: one HTML file without scripts or requests.
std::string html(const Report& report);

}  // namespace tandem::tools::compare
