// An invented report: step times from a simple formula with some noise, and all other figures consistent with them.
#include "tandem/tests/tools/compare_sample.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tandem/tools/compare/comparison.h"
#include "tandem/tools/compare/statistics.h"

namespace tandem::test {
namespace {
using namespace tools::compare;

constexpr int64_t kMiB = int64_t(1) << 20;

struct SampleModel {
  std::string name;
  int64_t parameters;  // bytes
  double per_example;  // seconds per example, using all cores
  double fixed;        // seconds per step
};
struct SampleMode {
  std::string key, label;
  double overhead;  // seconds for each device
  bool ddp, persistent, loss_in_replicas;
};
const std::vector<SampleModel>& sample_models() {
  static const std::vector<SampleModel> models = {{"mlp", 535818, 4e-6, 0.0003},
                                                  {"fashion_cnn", 11 * kMiB / 2, 2.1e-4, 0.0011}};
  return models;
}
const std::vector<SampleMode>& sample_modes() {
  static const std::vector<SampleMode> modes = {
      {"dp", "DP, replicas per step", 9e-4, false, false, false},
      {"dp_persistent", "DP, persistent replicas", 7e-4, false, true, false},
      {"dp_loss", "DP, loss inside the replicas", 6e-4, false, true, true},
      {"ddp_local_naive", "DDP, per parameter, local", 6e-4, true, true, true},
      {"ddp_local_bucketed", "DDP, buckets, local", 2.5e-4, true, true, true},
      {"ddp_local_chosen", "DDP, chosen buckets, local", 2.2e-4, true, true, true},
      {"ddp_gloo_naive", "DDP, per parameter, gloo", 2.4e-3, true, true, true},
      {"ddp_gloo_bucketed", "DDP, buckets, gloo", 8e-4, true, true, true},
      {"ddp_gloo_chosen", "DDP, chosen buckets, gloo", 7e-4, true, true, true}};
  return modes;
}

std::mt19937_64 random_numbers;
double noise(double size) { return 1 + size * (static_cast<double>(random_numbers() % 2001) / 1000 - 1); }
constexpr int kRepeats = 12;
Interval around(double value, double width) {
  return {value, value * (1 - width), value * (1 + width), kRepeats, min_num_values()};
}

void add_times(Run& run, double step) {
  for (int i = 0; i < kRepeats; ++i) run.repeats.push_back(step * noise(0.02));
  run.p50 = step * 0.99;
  run.p95 = step * 1.13;
  run.examples_per_second = around(static_cast<double>(run.batch) / step, 0.017);
  run.predicted = step * noise(0.12);
}

void add_lanes(Run& run, const SampleMode& mode, double step) {
  for (int i = 0; i < run.devices; ++i) {
    Lane lane;
    lane.name = mode.ddp ? "rank " + std::to_string(i) : "cpu:" + std::to_string(i);
    lane.step = step;
    const double work = step * 0.72;
    lane.phases = {{"input", step * 0.02},
                   {"forward", work * 0.31},
                   {"loss", work * 0.03},
                   {"backward", work * 0.6},
                   {"optimizer", work * 0.06}};
    double rest = step * 0.26;
    if (mode.ddp) {
      lane.phases["exposed communication"] = rest * 0.5;
      lane.hidden = step * 0.11;
    } else if (i == 0) {
      lane.phases["scatter"] = rest * 0.12;
      lane.phases["gather"] = rest * 0.12;
      lane.phases["reduce"] = rest * 0.2;
      if (!mode.persistent) lane.phases["replicate"] = rest * 0.2;
    }
    if (!mode.ddp && i > 0) {
      lane.phases.erase("optimizer");
      lane.phases.erase("loss");
      lane.phases.erase("input");
    }
    lane.unattributed = step * 0.013;
    double waiting = step - lane.unattributed;
    for (const auto& [phase, seconds] : lane.phases) waiting -= seconds;
    const int last = mode.ddp ? run.devices - 1 : 0;
    const std::string for_whom =
        mode.ddp ? "rank " + std::to_string(i == last ? 0 : last) : "cpu:" + std::to_string(i == 0 ? 1 : 0);
    lane.waiting_for[for_whom] = waiting;
    run.lanes.push_back(lane);
  }
}

void add_timeline(Run& run, const SampleMode& mode) {
  for (const Lane& lane : run.lanes) {
    TimelineRow row;
    row.name = lane.name;
    double now = 0;
    const bool first = !mode.ddp && lane.name == "cpu:0";
    const auto add = [&](const std::string& phase, int64_t bytes = 0) {
      const auto found = lane.phases.find(phase);
      if (found == lane.phases.end()) return;
      row.events.push_back({phase, phase, now, now + found->second, bytes});
      now += found->second;
    };
    add("input");
    add("replicate", 3 * kMiB);
    add("scatter", kMiB / 3);
    if (!mode.ddp && !first) now += lane.step * 0.07;
    add("forward");
    add("gather", kMiB / 20);
    add("loss");
    const double backward = now;
    add("backward");
    for (int i = 0; i < 40; ++i) {
      const double at = backward + (now - backward) * i / 40;
      row.events.push_back({"matmul", "kernel", at, at + (now - backward) / 55, 0});
    }
    if (mode.ddp) {
      for (int i = 0; i < 3; ++i) {
        const double at = backward + (now - backward) * (0.3 + 0.33 * i);
        row.events.push_back(
            {"all_reduce of bucket " + std::to_string(i), "communication", at, at + (now - backward) * 0.28, 2 * kMiB});
      }
    }
    add("exposed communication", 2 * kMiB);
    add("reduce", 3 * kMiB);
    add("optimizer");
    run.timeline.push_back(row);
  }
}

void add_memory(Run& run, const SampleModel& model, const SampleMode& mode) {
  for (int i = 0; i < run.devices; ++i) {
    Memory memory;
    memory.device = "cpu:" + std::to_string(i);
    const bool first = i == 0;
    const int64_t activations = run.batch / run.devices * 9000, outputs = run.batch * 40;
    memory.at_peak = {
        {"gradients", model.parameters}, {"activations", activations}, {"input", run.batch * 784 * 4 / run.devices}};
    if (mode.ddp || first) {
      memory.at_peak["parameters"] = model.parameters;
      memory.at_peak["optimizer"] = 2 * model.parameters;
    } else {
      memory.at_peak["replicas"] = model.parameters;
    }
    if (mode.ddp) memory.at_peak["buckets"] = model.parameters;
    if (!mode.ddp && first) {
      memory.at_peak["outputs"] = mode.loss_in_replicas ? 4096 : 300 * outputs;
      memory.at_peak["workspace"] = model.parameters * (run.devices - 1);
    }
    for (const auto& [cause, bytes] : memory.at_peak) memory.peak += bytes;
    for (int t = 0; t <= 24; ++t) {
      memory.seconds.push_back(run.p50 * t / 24);
      for (const auto& [cause, bytes] : memory.at_peak) {
        double part = 1;
        if (cause == "activations" || cause == "outputs") part = t < 10 ? t / 10.0 : (24 - t) / 14.0;
        if (cause == "gradients" || cause == "workspace") part = t < 10 ? 0 : std::min(1.0, (t - 10) / 10.0);
        memory.over_time[cause].push_back(static_cast<int64_t>(static_cast<double>(bytes) * part));
      }
    }
    run.memory.push_back(memory);
  }
}

void add_transfers(Run& run, const SampleModel& model, const SampleMode& mode) {
  const auto add = [&](const std::string& what, const std::string& link, int64_t count, int64_t bytes,
                       const std::string& formula) {
    run.transfers.push_back({what, link, count, bytes, formula, bytes});
  };
  const int64_t p = model.parameters, shard = run.batch / run.devices;
  if (mode.ddp) {
    add("gradients, all-reduced", "all ranks", mode.key.ends_with("naive") ? 10 : 3, 2 * (run.devices - 1) * p,
        "2 (n - 1) P");
    return;
  }
  for (int i = 1; i < run.devices; ++i) {
    const std::string to = "cpu:0 -> cpu:" + std::to_string(i), from = "cpu:" + std::to_string(i) + " -> cpu:0";
    if (!mode.persistent) add("parameters to the replicas", to, 10, p, "P");
    add("inputs", to, 1, shard * 784 * 4, "(1 - n0/N) inputs");
    if (!mode.loss_in_replicas) add("outputs", from, 1, shard * 10 * 4, "(1 - n0/N) outputs");
    add("gradients", from, 10, p, "P");
  }
  if (mode.key == "dp_loss") run.transfers.back().bytes += 4;  // a wrong byte count, which the page must mark
}

void add_buckets(Run& run, const SampleModel& model) {
  const double step = run.p50;
  for (int i = 0; i < 3; ++i) {
    BucketTimes bucket;
    bucket.bytes = model.parameters / 3;
    bucket.ready = step * (0.4 + 0.15 * i);
    bucket.start = bucket.ready + step * 0.01;
    bucket.end = bucket.start + step * 0.13;
    bucket.hidden = i < 2 ? step * 0.13 : step * 0.02;
    bucket.parameters = {"fc" + std::to_string(3 - i) + ".bias", "fc" + std::to_string(3 - i) + ".weight"};
    run.buckets.push_back(bucket);
  }
}

void add_agreement(Run& run) {
  Agreement agreement;
  agreement.reference = "one device, in the same order of sums";
  agreement.steps = 20;
  for (int i = 0; i < 20; ++i) agreement.losses.push_back(2.3 * std::exp(-i / 9.0) + 0.1 + 0.02 * std::sin(3.0 * i));
  agreement.reference_losses = agreement.losses;
  if (run.mode == "ddp_gloo_chosen" && run.model == "mlp") {
    agreement.largest_difference = 3.6e-7;
    agreement.first_difference = "linear_backward of fc2, step 4";
    agreement.reference_losses[12] *= 1.02;
  }
  run.agreement = {agreement};
}

Run single_run(const SampleModel& model, int64_t batch) {
  Run run;
  run.model = model.name;
  run.mode = "single";
  run.label = "One device, all cores";
  run.batch = batch;
  run.scaling = "strong";
  const double step = model.fixed + model.per_example * static_cast<double>(batch);
  add_times(run, step);
  run.lanes = {{"cpu:0",
                step,
                {{"input", step * 0.02},
                 {"forward", step * 0.3},
                 {"loss", step * 0.02},
                 {"backward", step * 0.57},
                 {"optimizer", step * 0.08}},
                {},
                step * 0.01,
                0}};
  return run;
}

void add_runs(Report& report, const SampleModel& model) {
  for (const int64_t batch : {int64_t(32), int64_t(128), int64_t(256), int64_t(512)})
    report.runs.push_back(single_run(model, batch));
  const auto add = [&](const SampleMode& mode, int devices, int64_t batch, const std::string& scaling, bool details) {
    Run run;
    run.model = model.name;
    run.mode = mode.key;
    run.label = mode.label;
    run.devices = devices;
    run.batch = batch;
    run.scaling = scaling;
    const double step = model.fixed + model.per_example * static_cast<double>(batch) * (mode.ddp ? 0.94 : 1.03) +
                        mode.overhead * devices;
    add_times(run, step);
    add_transfers(run, model, mode);
    if (details) {
      add_lanes(run, mode, step);
      run.shown_step = {12, 40, step};
      run.cores_of_others = 0.1;
      for (const Lane& lane : run.lanes) run.steps.push_back({lane.name, {{"step", std::vector<double>(40, step)}}});
      add_timeline(run, mode);
      add_memory(run, model, mode);
      if (mode.ddp) add_buckets(run, model);
      add_agreement(run);
    }
    report.runs.push_back(run);
  };
  for (const SampleMode& mode : sample_modes()) {
    for (const int devices : {2, 4}) {
      add(mode, devices, 128, "strong", true);
      add(mode, devices, devices * int64_t(128), "weak", false);
    }
    for (const int64_t batch : {int64_t(32), int64_t(512)}) add(mode, 2, batch, "strong", false);
  }
  Run failed;
  failed.model = model.name;
  failed.mode = "ddp_nccl_bucketed";
  failed.label = "DDP, buckets, nccl";
  failed.devices = 2;
  failed.batch = 128;
  failed.scaling = "strong";
  failed.failed = "NCCL needs a GPU for each rank; this machine has none";
  report.runs.push_back(failed);
}

/// Fills in all speedups: paired by repeat with the run on one device with the same batch.
void add_speedups(Report& report) {
  for (Run& run : report.runs) {
    const auto single = std::find_if(report.runs.begin(), report.runs.end(), [&](const Run& other) {
      return other.mode == "single" && other.model == run.model && other.batch == run.batch;
    });
    if (!run.failed.empty() || single == report.runs.end()) continue;
    std::vector<double> ratios;
    for (size_t i = 0; i < run.repeats.size(); ++i) ratios.push_back(single->repeats[i] / run.repeats[i]);
    run.speedup = compute_confidence_interval(ratios);
  }
  for (const SampleModel& model : sample_models())
    for (const int64_t batch : {32, 128, 512}) {
      const Comparison comparison = compare_modes(report, model.name, batch);
      for (Run& run : report.runs)
        if (const Interval speedup = comparison.speedup(&run); speedup.n > 0) run.speedup = speedup;
    }
}

void add_links(Report& report) {
  struct Link {
    std::string name;
    double latency, bandwidth;
  };
  for (const Link& link : {Link{"cpu:0 -> cpu:1", 2e-6, 9e9}, Link{"all_reduce, local, 2 ranks", 1.5e-5, 4e9},
                           Link{"all_reduce, gloo, 2 ranks", 9e-5, 1.1e9}}) {
    LinkProbe probe;
    probe.name = link.name;
    probe.latency = link.latency;
    probe.bandwidth = link.bandwidth;
    probe.error = 0.06;
    for (int64_t bytes = 1024; bytes <= 64 * kMiB; bytes *= 4) {
      probe.bytes.push_back(bytes);
      probe.seconds.push_back(around((link.latency + static_cast<double>(bytes) / link.bandwidth) * noise(0.1), 0.05));
    }
    report.links.push_back(probe);
  }
}

void add_model_parts(Report& report) {
  for (const std::string backend : {"local", "gloo"}) {
    BucketSweep sweep{"fashion_cnn", backend, 2, 128, {}, {}, {}, kMiB};
    for (int64_t bytes = 64 << 10; bytes <= 64 * kMiB; bytes *= 4) {
      const double x = std::log2(static_cast<double>(bytes) / static_cast<double>(kMiB));
      sweep.bytes.push_back(bytes);
      sweep.seconds.push_back(around(0.0285 + 0.00012 * x * x * noise(0.2), 0.012));
      sweep.predicted.push_back(0.028 + 0.00013 * x * x);
    }
    report.bucket_sweeps.push_back(sweep);
  }
  for (const SampleModel& model : sample_models()) {
    Inference inference;
    inference.model = model.name;
    inference.devices = 2;
    for (const int64_t batch : {16, 64, 256, 1024}) {
      const double single = model.fixed * 0.3 + model.per_example * 0.33 * static_cast<double>(batch);
      inference.batch.push_back(batch);
      inference.single.push_back(around(single, 0.02));
      inference.dp.push_back(around(single * 0.98 + 0.0012, 0.03));
      inference.dp_persistent.push_back(around(single * 0.97 + 0.0005, 0.03));
    }
    report.inference.push_back(inference);
    for (const int devices : {2, 4})
      for (const int64_t batch : {32, 128}) {
        Overhead overhead{model.name, "local", devices, 2, batch, 128, {}, {}};
        overhead.measured = around(0.0004 * devices, 0.2), overhead.predicted = around(0.0003 * devices, 0.05);
        report.overheads.push_back(overhead);
      }
    for (const std::string mode : {"DP, replicas per step", "DDP, chosen buckets"}) {
      Projection projection{model.name, "A100-like", "NVLink-like, 300 GB/s", mode, 64, {}, {}};
      for (int n = 2; n <= 1024; n *= 2) {
        projection.devices.push_back(n);
        projection.efficiency.push_back(1 / (1 + (mode[1] == 'P' ? 0.09 * n : 0.02 * std::log2(n))));
      }
      report.projections.push_back(projection);
    }
  }
  report.published = {
      {"ResNet-50, 256 GPUs, throughput over 8 GPUs",
       "Goyal et al. 2017, figure 7",
       "efficiency",
       {"8 GPUs", "64 GPUs", "256 GPUs"},
       {1.0, 0.95, 0.9},
       {8, 64, 256},
       {1.0, 0.97, 0.93}},
      {"DDP of BERT, 32 GPUs, step time", "Li et al. 2020, figure 9", "s", {"NCCL", "Gloo"}, {0.31, 1.7}, {}, {}}};
  report.tracing_cost = {{0.012, -0.003, 0.021, 40, 6}};
  report.notes = {"The model predicts step times within 15 % where links are memory copies and devices share cores.",
                  "It has no skill for steps below 1 ms, where starting the threads is most of the time."};
}

}  // namespace

Report sample_report() {
  random_numbers.seed(7);
  Report report;
  report.provenance = {"0.9.0",
                       "0123abcd",
                       "2026-11-24 04:00 UTC",
                       "tandem compare --models mlp,fashion_cnn --devices 2,4",
                       "Some CPU @ 2.50GHz",
                       "Debian GNU/Linux 12",
                       "gcc 12.2.0",
                       2,
                       2,
                       7.8,
                       17,
                       {},
                       {"OpenBLAS 0.3.21", "oneDNN 2.6", "Gloo"}};
  report.virtual_devices = true;
  report.turning_points = {"mlp: one device stays ahead at every batch up to 512.",
                           "fashion_cnn: DDP draws level at batch 256."};
  for (const SampleModel& model : sample_models()) add_runs(report, model);
  add_speedups(report);
  report.repeats = {{"mlp", kRepeats, 10, 1, "as asked"}, {"fashion_cnn", kRepeats, 10, 1, "as asked"}};
  report.diagnosis = {
      {"too small", "A step of mlp takes 0.81 ms, of which 0.30 ms do not shrink with the batch.",
       "DDP, buckets, local"},
      {"first-device-bound", "cpu:0 works while cpu:1 waits for 24 % of the step.", "DP, replicas per step"},
      {"straggler", "rank 1 came last in 61 % of the steps, by 0.4 ms in the median.", "DDP, buckets, gloo"}};
  add_links(report);
  add_model_parts(report);
  return report;
}

}  // namespace tandem::test
