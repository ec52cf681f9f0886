// What `tandem compare` measured and concluded: the contents of report.json (docs/compare.md has its schema) and of the
// page that is made from it. Times are seconds, sizes bytes; a part that was not measured is an empty list.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::compare {

/// A median with the interval that holds the true median with a probability of at least 95 %.
struct Interval {
  double median = 0, low = 0, high = 0;
};

/// What a lane does at a moment, in the order in which pages and tables list it. Waiting and what belongs to none of
/// these are kept apart.
inline const std::vector<std::string> kPhases = {
    "input", "scatter",  "replicate", "forward",   "gather",
    "loss",  "backward", "reduce",    "optimizer", "exposed communication"};

/// What a lane (one device, or one rank) did with its step, each moment counted once.
struct Lane {
  std::string name;                           // "cpu:1", "rank 0"
  double step = 0;                            // seconds of a step: the sum of all that follows but `hidden`
  std::map<std::string, double> phases;       // by name, in seconds: kPhases
  std::map<std::string, double> waiting_for;  // by the name of the lane that came last
  double unattributed = 0;
  double hidden = 0;  // communication beside the step's own work
};

/// Something on the timeline of one step, from the step's start on.
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
  int64_t peak = 0;                                       // as the allocator counted it; the sum of at_peak
  std::map<std::string, int64_t> at_peak;                 // by cause
  std::vector<double> seconds;                            // of the points below, from the step's start on
  std::map<std::string, std::vector<int64_t>> over_time;  // by cause, at these moments
};

/// All transfers of one kind in a step, beside what the formula says.
struct Transfers {
  std::string what, link;  // "parameters to the replicas", "cpu:0 -> cpu:1"
  int64_t count = 0, bytes = 0;
  std::string formula = {};  // in the words of docs/course.md
  int64_t formula_bytes = 0;
};

/// One bucket's all-reduce within the step, from the step's start on.
struct BucketTimes {
  int64_t bytes = 0;
  double ready = 0, start = 0, end = 0;      // ready: its last gradient came
  double hidden = 0;                         // of end - start, beside backward
  std::vector<std::string> parameters = {};  // in the order of their gradients' arrival
};

/// The proof that a mode trained the same model as its reference on one device.
struct Agreement {
  std::string reference;
  int steps = 0;
  double largest_difference = 0;                           // of any parameter
  std::vector<double> losses = {}, reference_losses = {};  // step by step
  std::string first_difference = {};                       // the first operation whose result parts; empty if none does
};

/// One mode on one job: a row of the table.
struct Run {
  std::string model, mode;  // mode: its key, "ddp_local_bucketed"
  std::string label;        // for people: "DDP, buckets, local"
  int devices = 1;
  int64_t batch = 0;            // examples per step, over all devices
  std::string scaling;          // "strong": the same batch for all counts of devices; "weak": the same per device
  std::string failed;           // why there are no figures; empty if there are
  std::vector<double> repeats;  // seconds per step, the mean of each repeat
  double p50 = 0, p95 = 0;      // seconds of single steps
  Interval examples_per_second;
  Interval speedup;  // over one device with all cores, paired by repeat
  std::vector<Lane> lanes;
  std::vector<TimelineRow> timeline;  // of one step
  std::vector<Memory> memory;
  std::vector<Transfers> transfers;
  std::vector<BucketTimes> buckets;
  std::vector<Agreement> agreement;  // one, or none
  double predicted = 0;              // seconds per step, by the cost model; 0: it says nothing
};

/// Transfers of several sizes over one link, and the line a + S/B through them.
struct LinkProbe {
  std::string name;  // "cpu:0 -> cpu:1", "all_reduce, local, 2 ranks"
  std::vector<int64_t> bytes;
  std::vector<Interval> seconds;
  double latency = 0, bandwidth = 0;  // seconds, bytes per second
  double error = 0;                   // the median of |fit / measured - 1|
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

/// What communication adds to a step of DDP, beside what the cost model predicts from a link and a profile that were
/// measured on another number of ranks or another batch.
struct Overhead {
  std::string model, backend;
  int devices = 0, fitted_devices = 0;
  int64_t batch = 0, fitted_batch = 0;
  Interval measured;   // seconds: a step of DDP less a step of ranks that send nothing, paired by repeat
  Interval predicted;  // seconds: from the medians of the link's times; low and high from the ends of their intervals
};

/// Forward passes without gradients by batch size.
struct Inference {
  std::string model;
  int devices = 0;
  std::vector<int64_t> batch;
  std::vector<Interval> single, dp, dp_persistent;  // seconds
};

/// What the cost model says about devices that are not here.
struct Projection {
  std::string model, device, link = {}, mode = {};  // device: the compute profile's name
  int64_t batch_per_device = 0;
  std::vector<int> devices = {};
  std::vector<double> efficiency = {};  // throughput per device, over that of one device
};

/// A measurement that somebody published.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  std::vector<double> devices = {};    // of each value, where the values are efficiencies (1: none is lost); else empty
  std::vector<double> predicted = {};  // by the cost model; empty where the source does not say enough
};

struct Diagnosis {
  std::string kind;      // data-starved, launch-bound, link-bound, first-device-bound, too small, straggler
  std::string sentence;  // with the figures
  std::string row;       // the label of the run that says so
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
  std::string incomplete_because;           // "interrupted", or what failed
  bool virtual_devices = false;             // CPU devices, which share the cores and whose links are copies in memory
  std::string verdict;                      // a sentence for each model
  std::vector<std::string> turning_points;  // batch and model sizes where another mode becomes the better one
  std::vector<Diagnosis> diagnosis;
  std::vector<Run> runs;
  std::vector<LinkProbe> links;
  std::vector<BucketSweep> bucket_sweeps;
  std::vector<Overhead> overheads;
  std::vector<Inference> inference;
  std::vector<Projection> projections;
  std::vector<Published> published;
  std::vector<Interval> tracing_cost;  // one, or none: a traced step's time over that of one without a trace, less 1
  std::vector<std::string> notes;      // of the cost model: where it has skill, and where it has none
};

/// Lists that belong together have the same length, and every run has a device. @throws Error that names what has not
void check(const Report& report);
/// Writes the report as JSON. All of the file, or none of it. @throws Error with the system's reason
void write_report(const std::string& path, const Report& report);
/// @throws Error that names what is missing or of another kind
Report read_report(const std::string& path);
/// A sentence for each model, from its runs: which mode to use, by how much, against one device with all the cores. For
/// `verdict`; the page takes it where that is empty.
std::string verdict_from_runs(const Report& report);
/// A sentence for each batch size from which another mode is the best of its model. For `turning_points`, likewise.
std::vector<std::string> find_turning_points(const Report& report);
/// What the terminal shows above the verdict: each model's main jobs, in 80 columns.
std::string table(const Report& report);
/// The page: one HTML file without scripts or requests.
std::string html(const Report& report);

}  // namespace tandem::tools::compare
