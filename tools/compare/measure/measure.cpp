// Implements measure(): runs all modes in turn, repeatedly, and builds the report from the measurements.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tandem/core/cuda/gpu_runtime.h"
#include "tandem/tandem.h"
#include "tandem/tools/compare/compare.h"
#include "tandem/tools/compare/measure/repeats.h"
#include "tandem/tools/compare/measure/sweeps.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::tools::compare {
namespace {

/// Text printed before the verdict if all ranks shared one GPU.
const char* const kSharedGpuNote =
    "The ranks shared one GPU, as virtual devices: the report shows that they train the same model, and how many "
    "bytes, calls and how much memory they need. Its times say nothing about several GPUs. ";

Row make_row(const Settings& s, const std::string& model, const Mode& mode, int devices) {
  Row row;
  row.mode = mode;
  row.job.model = model;
  row.job.data = s.data;
  row.job.device = s.device;
  row.job.devices = mode.kind == Mode::Kind::single ? 1 : devices;
  row.job.batch = s.batch;
  row.job.seed = s.seed;
  row.job.threads = s.threads;
  row.job.fault = parse_fault(s.fault);
  row.run.model = model;
  row.run.mode = mode.key;
  row.run.label = mode.label;
  row.run.devices = row.job.devices;
  row.run.batch = s.batch;
  row.run.scaling = "strong";
  return row;
}

/// Fitted links, by backend ("" for copies between devices) and number of devices.
using Links = std::map<std::pair<std::string, int>, simulate::Link>;

/// Probes the links that the modes use. Leaves out links that cannot be probed; the modes that need such a link fail
/// later and report the reason.
Links probe_links(const Settings& s, std::vector<LinkProbe>& probes) {
  Links links;
  for (const int devices : s.devices) {
    std::vector<std::string> backends = s.backends;
    if (!ranks_share_gpu(s)) backends.emplace_back();
    for (const std::string& backend : backends) try {
        const Mode mode = find_mode(backend.empty() ? "dp" : "ddp_" + backend);
        const Job job = make_row(s, s.models.at(0), mode, devices).job;
        ProbedLink probed = backend.empty() ? probe_copies(job) : probe_all_reduce(mode, job);
        links[{backend, devices}] = probed.link;
        probes.push_back(std::move(probed.probe));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "compare: the link of %s was not measured: %s\n", backend.c_str(), error.what());
      }
  }
  return links;
}

double parameter_bytes(const std::string& model) {
  double bytes = 0;
  for (const Tensor& p : Net(model)->parameters()) bytes += static_cast<double>(p.nbytes());
  return bytes;
}
std::vector<Row> make_rows(const Settings& s, const std::string& model, const Links& links) {
  std::vector<Row> rows{make_row(s, model, find_mode("single"), 1)};
  const double bytes = parameter_bytes(model);
  const auto is_requested = [&](const std::string& key) {
    return s.modes.empty() || std::find(s.modes.begin(), s.modes.end(), key) != s.modes.end();
  };
  for (const int devices : s.devices)
    for (const Mode& mode : default_modes(s.backends)) {
      if (mode.kind == Mode::Kind::single || !is_requested(mode.key)) continue;
      rows.push_back(make_row(s, model, mode, devices));
      const auto link = links.find({mode.backend, devices});
      if (s.quick || mode.key != "ddp_" + mode.backend || link == links.end()) continue;
      const Mode fitted = with_buckets(mode, optimal_bucket_bytes(link->second, bytes) / (1 << 20));
      rows.push_back(make_row(s, model, fitted, devices));
    }
  if (s.quick) return rows;
  const int max_devices = *std::max_element(s.devices.begin(), s.devices.end());
  // Rows for weak scaling: the batch grows with the number of devices.
  for (const char* const key : {"single", "dp_loss", "ddp_local"})
    for (const int devices : s.devices) {
      if (!is_requested(key) && std::string(key) != "single") continue;
      Row row = make_row(s, model, find_mode(key), devices);
      row.job.batch = row.run.batch = s.batch / max_devices * devices;
      row.run.scaling = "weak";
      rows.push_back(std::move(row));
    }
  return rows;
}

std::vector<std::string> lane_names(const Row& row) {
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(row.job.devices));
  for (int i = 0; i < row.job.devices; ++i)
    names.push_back(row.mode.kind == Mode::Kind::distributed ? "rank " + std::to_string(i)
                                                             : Device(Device(row.job.device).type(), i).str());
  return names;
}

const StepTimes& shown_step(const RankSample& rank) { return rank.steps[static_cast<size_t>(rank.shown_step)]; }

/// Returns the phases, kernels and collectives of each lane (device or rank) in the shown step.
std::vector<TimelineRow> extract_timeline(const Row& row, const Sample& sample) {
  const std::vector<std::string> names = lane_names(row);
  std::vector<TimelineRow> rows;
  const bool ranks = row.mode.kind == Mode::Kind::distributed;
  const double start = shown_step(sample.ranks[0]).start;
  for (size_t l = 0; l < names.size(); ++l) {
    const RankSample& rank = sample.ranks[ranks ? l : 0];
    TimelineRow phases{names[l], {}}, communication{names[l] + ", communication", {}};
    for (const TraceEvent& e : rank.events) {
      if (e.end <= shown_step(rank).start || e.start >= shown_step(rank).end) continue;
      const bool here = ranks || names.size() == 1 || static_cast<size_t>(e.lane) == l;
      if (e.kind == TraceEvent::Kind::phase && here)
        phases.events.push_back({e.name, e.name, e.start - start, e.end - start, 0});
      if ((e.kind == TraceEvent::Kind::kernel || e.kind == TraceEvent::Kind::gpu) && here &&
          (e.kind == TraceEvent::Kind::gpu || e.device.is_cpu()))
        phases.events.push_back({e.name, "kernel", e.start - start, e.end - start, e.bytes});
      if (e.kind == TraceEvent::Kind::communication)
        communication.events.push_back({e.name, "communication", e.start - start, e.end - start, e.bytes});
    }
    rows.push_back(std::move(phases));
    if (ranks) rows.push_back(std::move(communication));
  }
  return rows;
}

/// Returns each bucket's all-reduce in the shown step, on rank 0.
std::vector<BucketTimes> extract_buckets(const Sample& sample) {
  const RankSample& rank = sample.ranks.at(0);
  const StepTimes step = shown_step(rank);
  std::vector<BucketTimes> buckets;
  double backward_end = step.start;
  for (const TraceEvent& e : rank.events)
    if (e.kind == TraceEvent::Kind::gradient && e.start > step.start && e.start < step.end) backward_end = e.start;
  size_t next_gradient = 0;
  for (const TraceEvent& e : rank.events) {
    if (e.kind != TraceEvent::Kind::communication || e.start < step.start || e.end > step.end ||
        e.name.find("gradients, bucket") == std::string::npos)
      continue;
    BucketTimes bucket;
    bucket.bytes = e.bytes;
    bucket.ready = e.queued - step.start;
    bucket.start = e.start - step.start;
    bucket.end = e.end - step.start;
    bucket.hidden = std::max(0.0, std::min(e.end, backward_end) - e.start);
    size_t i = 0;
    for (const TraceEvent& g : rank.events)
      if (g.kind == TraceEvent::Kind::gradient && g.start > step.start && g.start <= e.queued && i++ >= next_gradient) {
        bucket.parameters.push_back(g.name);
        ++next_gradient;
      }
    buckets.push_back(std::move(bucket));
  }
  return buckets;
}

/// Returns how many cores other programs used during the traced steps, in the mean; -1 if unknown.
double cores_of_others(const Sample& sample) {
  const RankSample& first = sample.ranks[0];
  const double seconds = first.steps.back().end - first.steps.front().start;
  if (first.machine_cpu < 0 || seconds <= 0) return -1;
  double own = 0;
  for (const RankSample& rank : sample.ranks)
    if (!rank.activity.samples.empty()) own += rank.process_cpu;  // ranks that are threads share a process
  return std::max(0.0, first.machine_cpu - own) / seconds;
}

void trace_row(Row& row, std::vector<TraceEvent>* trace) {
  Job job = row.job;
  // Runs enough steps to average out noise, and to tell a lasting cause from a single event.
  constexpr double kSeconds = 0.6, kMinSteps = 12, kMaxSteps = 40;
  job.trace = true;
  job.warmup = 3;
  job.steps = static_cast<int>(std::clamp(kSeconds / std::max(percentile(row.steps, 0.5), 1e-6), kMinSteps, kMaxSteps));
  const Sample sample = run_sample(row.mode, job);
  std::vector<std::vector<StepTimes>> steps;
  for (const RankSample& rank : sample.ranks) {
    steps.push_back(rank.steps);
    for (const Memory& memory : rank.memory) row.run.memory.push_back(memory);
  }
  const std::vector<TraceEvent> events = sample.events();
  std::vector<Activity> activities = sample.activities();
  // On a GPU, threads of the CPU say nothing about the link.
  if (!Device(job.device).is_cpu())
    for (Activity& activity : activities) activity.samples.clear();
  const auto by_step = break_down_steps(events, steps, lane_names(row), activities);
  row.run.lanes = mean_lanes(by_step);
  row.run.steps = list_lane_steps(by_step);
  row.run.cores_of_others = cores_of_others(sample);
  const StepTimes shown = shown_step(sample.ranks[0]);
  row.run.shown_step = {sample.ranks[0].shown_step + 1, job.steps, shown.end - shown.start};
  row.run.timeline = extract_timeline(row, sample);
  row.run.transfers = list_transfers(row.mode, job, sample);
  if (row.mode.kind == Mode::Kind::distributed) row.run.buckets = extract_buckets(sample);
  if (!trace) return;
  // Keeps only the shown step: a trace of all steps would be too large for trace viewers.
  for (const TraceEvent& e : events) {
    const StepTimes step = shown_step(sample.ranks[static_cast<size_t>(e.rank)]);
    if (e.start >= step.start && e.start < step.end) trace->push_back(e);
  }
}

void check_agreement(Row& row, int steps) {
  if (row.mode.kind == Mode::Kind::single) return;
  Job job = row.job;
  job.for_reference_comparison = true;
  job.warmup = 0;
  job.steps = steps;
  job.fault = {};
  const RankSample mine = run_sample(row.mode, job).ranks.at(0), reference = run_reference(row.mode, job);
  Agreement a;
  a.reference = "one device that adds up the gradients of the shards in the same order";
  a.steps = steps;
  for (size_t i = 0; i < mine.parameters.size(); ++i)
    a.largest_difference =
        std::max(a.largest_difference, std::abs(static_cast<double>(mine.parameters[i]) - reference.parameters[i]));
  a.losses = mine.losses;
  a.reference_losses = reference.losses;
  if (a.largest_difference != 0) {
    job.fingerprints = true;
    a.first_difference =
        first_difference(run_sample(row.mode, job).ranks.at(0).fingerprints, run_reference(row.mode, job).fingerprints);
  }
  row.run.agreement = {std::move(a)};
}

/// Fills in the cost model's prediction for each row.
void predict_step_times(std::vector<Row>& rows, const Links& links, const Stop& stop) {
  std::map<std::pair<int, int64_t>, simulate::StepProfile> profiles;  // profiles by number of devices and batch
  for (Row& row : rows) {
    const auto link = links.find({row.mode.backend, row.job.devices});
    if (row.mode.kind == Mode::Kind::single || link == links.end()) continue;
    run_and_record_error(row, stop, [&] {
      const std::pair<int, int64_t> key{row.job.devices, row.job.batch};
      if (!profiles.count(key)) profiles[key] = measure_profile(row.job);
      row.run.predicted = predict_seconds(row.mode, row.job, profiles[key], link->second);
    });
  }
}

/// Returns the number of repeats of each value of a sweep.
int sweep_repeats(const Settings& s) { return s.repeats > 0 ? s.repeats : min_num_values(); }

/// Runs one model's sweeps over bucket sizes and over inference batch sizes, with s.devices[0] devices.
void run_sweeps(const Settings& s, std::vector<Row>& rows, int steps, const Links& links, const Stop& stop,
                Report& report) {
  constexpr int kForwards = 15;
  for (Row& row : rows) {
    const auto link = links.find({row.mode.backend, row.job.devices});
    if (row.mode.key != "ddp_" + row.mode.backend || row.run.scaling != "strong" || link == links.end() ||
        row.job.devices != s.devices[0] || !row.run.failed.empty())
      continue;
    Job job = row.job;
    job.steps = std::max(3, steps / 2);
    run_and_record_error(row, stop, [&] {
      report.bucket_sweeps.push_back(
          sweep_buckets(row.mode, job, sweep_repeats(s), measure_profile(job), link->second));
    });
  }
  Job job = rows[0].job;
  job.devices = s.devices[0];
  run_and_record_error(rows[0], stop, [&] { report.inference.push_back(sweep_inference(job, kForwards)); });
}

/// Measures the communication overhead of DDP over the first backend, for several numbers of devices and batches.
/// Predicts each overhead from a link and a profile that were measured with s.devices[0] devices and batch s.batch.
void measure_overheads(const Settings& s, std::vector<Row>& rows, int steps, const Stop& stop, Report& report) {
  const Mode mode = find_mode("ddp_" + s.backends.at(0));
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
    return row.mode.key == mode.key && row.job.devices == s.devices[0] && row.run.scaling == "strong";
  });
  const std::string name = "all-reduce, " + mode.backend + ", " + std::to_string(s.devices[0]) + " ranks";
  const auto probe =
      std::find_if(report.links.begin(), report.links.end(), [&](const LinkProbe& link) { return link.name == name; });
  if (at == rows.end() || probe == report.links.end()) return;
  run_and_record_error(*at, stop, [&] {
    const simulate::StepProfile profile = measure_profile(at->job);
    for (const int devices : s.devices)
      for (const int64_t batch : {s.batch / 4, s.batch, s.batch * 2}) {
        if (stop() || batch < devices || batch % devices != 0) continue;
        Job job = at->job;
        job.devices = devices;
        job.batch = batch;
        job.warmup = 2;
        job.steps = std::max(3, steps / 2);
        report.overheads.push_back(measure_overhead(mode, job, sweep_repeats(s), at->job, profile, *probe));
      }
  });
}

/// Returns the number of steps that take about `seconds` in total.
int estimate_num_steps(const Row& single, double seconds) {
  Job job = single.job;
  job.steps = 3;
  const std::vector<double> times = run_sample(single.mode, job).seconds();
  const double step = std::max(percentile(times, 0.5), 1e-6);
  return static_cast<int>(std::clamp(seconds / step, 3.0, 400.0));
}

}  // namespace

Report measure(const Settings& s, const Stop& stop, std::vector<TraceEvent>* trace) {
  Report report;
  report.provenance = collect_provenance(s);
  const bool shared = ranks_share_gpu(s);
  const bool emulated = gpu::implementation() == std::string("emulated");
  report.virtual_devices = Device(s.device).is_cpu() || emulated || shared;
  report.measured_on = Device(s.device).is_cpu() ? "cpu" : emulated ? "emulated gpus" : shared ? "shared gpu" : "gpus";
  std::vector<std::vector<Row>> models;
  if (!stop()) {
    // Seconds spent on measuring the overhead of tracing.
    constexpr double kSeconds = 3, kQuickSeconds = 0.8;
    Row single = make_row(s, s.models.at(0), find_mode("single"), 1);
    single.job.fault = {};
    run_and_record_error(single, stop, [&] {
      const int pairs = estimate_num_steps(single, (s.quick ? kQuickSeconds : kSeconds) / 2);
      report.tracing_cost = {tracing_cost(single.job, std::max(pairs, 6))};
    });
  }
  const Links links = probe_links(s, report.links);
  for (const std::string& model : s.models) models.push_back(make_rows(s, model, links));
  int64_t rows = 0;
  for (const auto& model_rows : models) rows += static_cast<int64_t>(model_rows.size());
  const int agreement_steps = s.quick ? 8 : 20;
  int64_t repeats = 0;
  for (const auto& model_rows : models) repeats += count_samples(s, model_rows);
  Progress progress(repeats + 2 * rows);
  std::vector<int> steps;
  for (auto& model_rows : models) {
    steps.push_back(3);
    run_and_record_error(model_rows[0], stop,
                         [&] { steps.back() = estimate_num_steps(model_rows[0], s.sample_seconds); });
  }
  report.repeats = measure_repeats(s, models, steps, progress, stop);
  for (size_t m = 0; m < models.size(); ++m) {
    std::vector<Row>& model_rows = models[m];
    for (Row& row : model_rows) {
      if (row.run.scaling != "strong") continue;
      if (!stop()) {
        progress.begin_item("anatomy of " + row.run.label);
        run_and_record_error(row, stop, [&] { trace_row(row, trace); });
      }
      if (!stop()) {
        progress.begin_item("agreement of " + row.run.label);
        run_and_record_error(row, stop, [&] { check_agreement(row, agreement_steps); });
      }
    }
    if (!stop()) predict_step_times(model_rows, links, stop);
    // Times measured on a real GPU can be projected onto more GPUs.
    if (!stop() && !report.virtual_devices)
      run_and_record_error(model_rows[0], stop, [&] {
        add_projections(model_rows[0].run.model, report.provenance.gpus.at(0) + ", measured",
                        measure_profile(model_rows[0].job), report.projections);
      });
    if (!stop() && !s.quick) {
      progress.begin_item("bucket sizes and inference");
      run_sweeps(s, model_rows, steps[m], links, stop, report);
      measure_overheads(s, model_rows, steps[m], stop, report);
    }
  }
  for (size_t i = 0; i < models.size(); ++i) compute_statistics(models[i], report.repeats[i].looks);
  progress.finish();
  report.published = read_published_measurements();
  std::vector<Projection> more = predict_projections(s.profile);
  std::move(more.begin(), more.end(), std::back_inserter(report.projections));
  report.notes = describe_skill(report.overheads);
  if (!stop())  // describe_recorded_skill() takes long, so it is skipped after Ctrl-C
    for (std::string& note : describe_recorded_skill()) report.notes.push_back(std::move(note));
  for (auto& model_rows : models)
    for (Row& row : model_rows)
      if (!row.run.repeats.empty() || !row.run.failed.empty()) report.runs.push_back(std::move(row.run));
  if (stop()) {
    report.complete = false;
    report.incomplete_because = "interrupted";
  }
  report.verdict = std::string(shared ? kSharedGpuNote : "") + verdict_from_runs(report);
  report.turning_points = find_turning_points(report);
  diagnose(report);
  return report;
}

}  // namespace tandem::tools::compare
