// Defines the results of `tandem compare`: the contents of report.json (schema in docs/compare.md) and of the HTML page
// made from it. Times are in seconds, sizes in bytes. A list is empty if its values were not measured.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace tandem::tools::compare {

/// A median of repeated measurements with its confidence interval. If there are fewer values than the interval needs,
/// it does not exist.
struct Interval {
  double median = 0;
  /// Ends of the interval; NaN if it does not exist, so that every comparison with them is false.
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
  int n = 0;       // number of values behind the median; 0 if it was not computed from repeats
  int needed = 0;  // number of values that the interval needs
  bool is_valid() const { return low <= high; }
};

/// Phases of a training step, in the order in which pages and tables list them. Waiting and unattributed time are not
/// phases.
inline const std::vector<std::string> kPhases = {
    "input", "scatter",  "replicate", "forward",   "gather",
    "loss",  "backward", "reduce",    "optimizer", "exposed communication"};

/// How one lane (a device or a rank) spent a training step. Each moment belongs to one phase, to waiting for one lane
/// (or for "a free core", "threads to wake up" or "the end of a stop"), or to `unattributed`.
struct Lane {
  std::string name;                           // name of the device or rank, such as "cpu:1" or "rank 0"
  double step = 0;                            // duration of a step: the sum of the next three fields
  std::map<std::string, double> phases;       // seconds by phase, with the names in kPhases
  std::map<std::string, double> waiting_for;  // seconds of waiting, by the name of the lane that was waited for
  double unattributed = 0;
  double hidden = 0;  // seconds of communication that overlap computation
  /// Seconds of exposed communication in which the ranks that communicate neither used a core nor waited for one, so
  /// that only the link can have been busy.
  double link = 0;
  /// Seconds in which the thread of this device or rank was runnable but had no core. For DP: the sum over all threads
  /// of the process, divided by the number of devices.
  double without_core = 0;
  /// Seconds of the phase "input" in which the process of this device or rank had threads that were runnable but had no
  /// core. Only the diagnosis uses it, by way of LaneSteps.
  double input_without_core = 0;
};

/// Durations of the phases and waits of one lane (device or rank) in each traced step. The diagnosis is derived from
/// them.
struct LaneSteps {
  std::string name;
  /// Seconds in each step, by activity: "step" (the duration), the phases, "waiting for " and the name of a
  /// lane, "link" (Lane::link), "without a core" (Lane::without_core) and "input without a core". A name is absent if
  /// it is 0 in all steps.
  std::map<std::string, std::vector<double>> seconds;
};
/// The traced step that the timeline, the buckets and the memory show: the step of median duration on the first device
/// or rank.
struct ShownStep {
  int number = 0, of = 0;  // number of the step, from 1, and number of traced steps; 0 if no step was traced
  double seconds = 0;      // duration of this step on the first device or rank
};

/// One bar on the timeline of a step. Times count from the step's start.
struct TimelineEvent {
  std::string name, kind;  // kind: name of a phase, "communication" or "kernel"
  double start = 0, end = 0;
  int64_t bytes = 0;
};
struct TimelineRow {
  std::string name;
  std::vector<TimelineEvent> events;
};

/// The memory of one device over one step, by cause: parameters, gradients, optimizer, activations, outputs, replicas,
/// buckets, input, workspace.
struct Memory {
  std::string device;
  /// Peak in bytes, as the allocator counts it. Equals the sum of at_peak.
  int64_t peak = 0;
  std::map<std::string, int64_t> at_peak;  // bytes by cause
  std::vector<double> seconds;             // seconds since the start of the step, one for each entry of over_time
  std::map<std::string, std::vector<int64_t>> over_time;  // bytes by cause, at the times in `seconds`
};

/// All transfers of one kind on one link in a step, with the bytes that a formula predicts.
struct TransferTotals {
  std::string what, link;  // such as "parameters to the replicas", "cpu:0 -> cpu:1"
  int64_t count = 0, bytes = 0;
  std::string formula = {};  // formula for the bytes, as in docs/course.md
  int64_t formula_bytes = 0;
};

/// All-reduce of one gradient bucket. Times count from the step's start.
struct BucketTimes {
  int64_t bytes = 0;
  double ready = 0, start = 0, end = 0;  // ready: time at which the bucket's last gradient was computed
  double hidden = 0;                     // seconds of the all-reduce that overlap the backward
  /// Names of the parameters in the bucket, in the order in which their gradients arrive.
  std::vector<std::string> parameters = {};
};

/// Compares a mode with a reference run on one device, which must train exactly the same model.
struct Agreement {
  std::string reference;
  int steps = 0;
  /// Largest absolute difference between the elements of the final parameters of the mode and of the reference.
  double largest_difference = 0;
  std::vector<double> losses = {}, reference_losses = {};  // loss of each step, in the mode and in the reference
  /// First operation whose result differs; "" if no result differs.
  std::string first_difference = {};
};

/// One mode on one job, which is one row of the results table.
struct Run {
  std::string model, mode;  // mode: its key, such as "ddp_local_naive"
  std::string label;        // description for readers: "DDP over local, a bucket per parameter"
  int devices = 1;
  int64_t batch = 0;            // examples per step, summed over all devices
  std::string scaling;          // "strong": same total batch for every number of devices; "weak": same batch per device
  std::string failed;           // error message if the run failed, else ""
  std::vector<double> repeats;  // mean seconds per step, for each repeat
  double p50 = 0, p95 = 0;      // percentiles of the seconds per step, over all measured steps
  Interval examples_per_second;  // throughput, with a 95 % interval that holds for this run alone
  /// Speedup over one device with all cores, computed for each repeat. At the main batch, the intervals of all modes
  /// hold together with a probability of 95 % (see compare_modes()); elsewhere each one by itself.
  Interval speedup;
  std::vector<Lane> lanes;       // time breakdown of each device or rank, as means over the traced steps
  std::vector<LaneSteps> steps;  // durations of phases and waits in each traced step, by device or rank
  /// CPU time that other programs used during the traced steps, divided by the duration of these steps; -1 if unknown
  double cores_of_others = -1;
  ShownStep shown_step;
  std::vector<TimelineRow> timeline;  // timeline of shown_step
  std::vector<Memory> memory;
  std::vector<TransferTotals> transfers;
  std::vector<BucketTimes> buckets;
  std::vector<Agreement> agreement;  // empty, or one comparison
  double predicted = 0;              // seconds per step, predicted by the cost model; 0 if there is no prediction
};

/// Number of times that a transfer of each size is measured.
inline constexpr int kLinkRepeats = 9;

/// Measured times of transfers of several sizes S over one link, and the line a + S / B that was fitted to them.
struct LinkProbe {
  std::string name;  // such as "cpu:0 -> cpu:1, copy" or "all-reduce, local, 2 ranks"
  std::vector<int64_t> bytes;
  std::vector<Interval> seconds;
  double latency = 0, bandwidth = 0;  // the fitted a in seconds, and B in bytes per second
  double error = 0;                   // median of |fitted time / measured time - 1|
};

/// Step times of DDP for several bucket sizes.
struct BucketSweep {
  std::string model, backend;
  int devices = 0;
  int64_t batch = 0;
  std::vector<int64_t> bytes;
  std::vector<Interval> seconds;
  std::vector<double> predicted;  // predicted seconds per step
  int64_t predicted_best = 0;
};

/// Time that communication adds to a step of DDP: measured, and predicted by the cost model. The prediction uses a link
/// and a profile that were measured with fitted_devices ranks and batch fitted_batch.
struct Overhead {
  std::string model, backend;
  int devices = 0, fitted_devices = 0;
  int64_t batch = 0, fitted_batch = 0;
  Interval measured;  // seconds of a DDP step minus those of a step without communication, per repeat
  /// Predicted seconds. The median is computed from the medians of the link's measured times; `low` and `high` are
  /// computed from the ends of their intervals.
  Interval predicted;
};

/// Times of forward passes without gradients, by batch size.
struct Inference {
  std::string model;
  int devices = 0;
  std::vector<int64_t> batch;
  std::vector<Interval> single, dp, dp_persistent;  // seconds per forward pass
};

/// Predicted weak scaling on devices that this machine does not have.
struct Projection {
  std::string model, device, link = {}, mode = {};  // device: name of the device whose profile is used
  int64_t batch_per_device = 0;
  std::vector<int> devices = {};
  std::vector<double> efficiency = {};  // throughput per device, divided by the throughput of one device
};

/// A measurement that somebody published.
struct Published {
  std::string what, source, unit;
  std::vector<std::string> labels;
  std::vector<double> values;
  /// Number of devices for each value if the values are efficiencies (1 is ideal), else empty.
  std::vector<double> devices = {};
  std::vector<double> predicted = {};  // predictions of the cost model; empty if the source does not give enough inputs
};

struct Diagnosis {
  /// "straggler", "link-bound", "data-starved", "contention", "stopped", "first-device-bound" or "too small"
  std::string kind;
  std::string sentence;  // explanation with the measured figures
  std::string row;       // model, label and number of devices of the run
  /// The part of a step that the cause takes. `low` and `high` are the ends of its 98 % interval over the traced steps.
  Interval share = {};
  int steps = 0;  // number of traced steps
};

struct Provenance {
  std::string version, commit, date, command, cpu, os, compiler;
  int cores = 0, threads = 0;
  double memory_gib = 0;
  uint64_t seed = 0;
  std::vector<std::string> gpus, libraries;
};

/// Numbers of repeats of one model's modes.
struct Repeats {
  std::string model;
  int done = 0, needed = 0;  // done: repeats that all modes completed; needed: repeats that the intervals need
  /// Number of times at which the results could end the measurement. The intervals are corrected for this number.
  int looks = 1;
  /// Why the measurement ended: "as asked" (a fixed number), "as needed" (exactly what the intervals need), "settled",
  /// "time up", "most" (the largest number of repeats) or "interrupted".
  std::string ended;
};

struct Report {
  int schema = 2;
  Provenance provenance;
  bool complete = true;
  std::string incomplete_because;  // "interrupted", or an error message
  /// Whether the devices are virtual: they share CPU cores or one GPU. If so, the times say nothing about training on
  /// several GPUs.
  bool virtual_devices = false;
  /// Kind of hardware that the times were measured on: "cpu", "gpus", "shared gpu" (all ranks on one) or "emulated
  /// gpus".
  std::string measured_on = "cpu";
  std::vector<Repeats> repeats;
  std::string verdict;                      // a sentence for each model: which mode is the best
  std::vector<std::string> turning_points;  // sentences about batch sizes at which the best mode changes
  std::vector<Diagnosis> diagnosis;
  std::vector<Run> runs;
  std::vector<LinkProbe> links;
  std::vector<BucketSweep> bucket_sweeps;
  std::vector<Overhead> overheads;
  std::vector<Inference> inference;
  std::vector<Projection> projections;
  std::vector<Published> published;
  std::vector<Interval> tracing_cost;  // time of a traced step over an untraced step, minus 1; at most one value
  /// Notes on the cost model: where its predictions are better than simple baselines, and where not.
  std::vector<std::string> notes;
};

/// Checks that related lists have equal lengths, and that every run has a device.
/// @throws Error that names the invalid part
void check_report(const Report& report);
/// Writes the report as JSON, atomically. @throws Error with the operating system's error message
void write_report(const std::string& path, const Report& report);
/// Reads a report. @throws Error that names a part that is missing or has a wrong type
Report read_report(const std::string& path);
/// Returns sentences for each model, computed from the repeats of report.runs: which mode to use and its speedup over
/// one device with all cores, or why there is no verdict. The page shows them if report.verdict is empty.
std::string verdict_from_runs(const Report& report);
/// Returns a sentence for each pair of neighbouring batch sizes with different verdicts. For a model whose verdict
/// never changes, returns one sentence. Leaves out batch sizes with too few repeats for a verdict. The page shows these
/// sentences if report.turning_points is empty.
std::vector<std::string> find_turning_points(const Report& report);
/// Returns the table that the terminal shows above the verdict, 80 columns wide, with each model's runs at its main
/// batch.
std::string format_table(const Report& report);
/// Returns the report as an HTML page, in one file without scripts or external resources.
std::string render_html(const Report& report);

}  // namespace tandem::tools::compare
