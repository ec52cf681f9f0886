// Builds the cost model's profile from a measurement without communication, and computes predictions and projections
// from it.
#include "tandem/tools/compare/predict.h"

#include <algorithm>
#include <filesystem>

#include "tandem/tools/compare/measure/batches.h"
#include "tandem/tools/page/format.h"
#include "tandem/tools/simulate/job.h"
#include "tandem/tools/simulate/skill.h"

namespace tandem::tools::compare {

using namespace page;

namespace {

double phase_seconds(const Lane& lane, const char* phase) {
  const auto at = lane.phases.find(phase);
  return at == lane.phases.end() ? 0 : at->second;
}

/// Returns a cluster of one node in which `link` joins every pair of devices.
simulate::Cluster make_node(int devices, const simulate::Link& link) {
  return {.devices_per_node = devices, .intra_node_link = link, .inter_node_link = link};
}

}  // namespace

simulate::StepProfile measure_profile(const Job& job) {
  Job alone = job;
  alone.trace = true;
  alone.warmup = 3;
  alone.steps = 7;
  alone.fault = {};
  Mode mode = find_mode("single");
  mode.independent_ranks = true;
  const Sample sample = run_sample(mode, alone);
  std::vector<std::vector<StepTimes>> steps;
  std::vector<std::string> names;
  for (const RankSample& rank : sample.ranks) {
    steps.push_back(rank.steps);
    names.push_back(std::to_string(rank.rank));
  }
  const std::vector<Lane> lanes = compute_time_breakdown(sample.events(), steps, names);
  simulate::StepProfile profile;
  const auto n = static_cast<double>(lanes.size());
  profile.samples = static_cast<double>(job.batch) / job.devices;
  for (const Lane& lane : lanes) {
    profile.forward_seconds += (phase_seconds(lane, "input") + phase_seconds(lane, "forward") +
                                phase_seconds(lane, "loss") + lane.unattributed) /
                               n;
    profile.backward_seconds += phase_seconds(lane, "backward") / n;
    profile.optimizer_seconds += phase_seconds(lane, "optimizer") / n;
    profile.loss_seconds += phase_seconds(lane, "loss") / n;
  }
  for (const int64_t bytes : sample.ranks.at(0).parameter_bytes)
    profile.parameters.push_back({static_cast<double>(bytes), 1});
  const ExampleSizes sizes = example_sizes(job.model);
  profile.input_bytes = static_cast<double>(sizes.input_bytes());
  profile.output_bytes = static_cast<double>(sizes.output_bytes());
  return profile;
}

double predict_seconds(const Mode& mode, const Job& job, const simulate::StepProfile& profile,
                       const simulate::Link& link) {
  switch (mode.kind) {
    case Mode::Kind::single: return 0;
    case Mode::Kind::data_parallel: {
      simulate::DpOptions options;
      options.loss_in_replicas = mode.loss_in_replicas;
      return predict_dp(profile, make_node(job.devices, link), job.devices, options).seconds;
    }
    case Mode::Kind::distributed: {
      simulate::DdpOptions options;
      options.all_reduce = simulate::AllReduce::ring;  // the link was fitted to the formula of a ring
      const double bucket = std::max(1.0, mode.bucket_mib * (1 << 20));
      options.first_bucket_bytes = std::min(options.first_bucket_bytes, bucket);
      return predict_ddp(profile, make_node(job.devices, link), job.devices, bucket, options).seconds;
    }
  }
  return 0;
}

void add_projections(const std::string& model, const std::string& device, const simulate::StepProfile& profile,
                     const simulate::Cluster& cluster, const std::string& link, std::vector<Projection>& out) {
  Projection ddp;
  ddp.model = model;
  ddp.device = device;
  ddp.link = link;
  ddp.mode = "DDP";
  ddp.batch_per_device = static_cast<int64_t>(profile.samples);
  Projection dp = ddp;
  dp.mode = "DP";
  for (const simulate::ScalingRow& row : predict_weak(profile, cluster, simulate::default_device_counts(), {})) {
    ddp.devices.push_back(row.devices);
    ddp.efficiency.push_back(row.ddp_efficiency);
    if (row.dp) {
      dp.devices.push_back(row.devices);
      dp.efficiency.push_back(row.dp_efficiency);
    }
  }
  out.push_back(std::move(ddp));
  if (!dp.devices.empty()) out.push_back(std::move(dp));
}

void add_projections(const std::string& model, const std::string& device, const simulate::StepProfile& profile,
                     std::vector<Projection>& out) {
  struct Network {
    const char *intra_node_link, *inter_node_link;
  };
  for (const Network network : {Network{"nvlink_v100", "infiniband_hdr"}, Network{"nvlink_v100", "ethernet_100"},
                                Network{"pcie3_x16", "ethernet_25"}, Network{"pcie3_x16", "ethernet_10"}}) {
    simulate::Cluster cluster;
    cluster.devices_per_node = 8;
    cluster.intra_node_link = simulate::find_link(network.intra_node_link);
    cluster.inter_node_link = simulate::find_link(network.inter_node_link);
    add_projections(model, device, profile, cluster,
                    std::string(network.intra_node_link) + " in nodes of 8, " + network.inter_node_link + " between",
                    out);
  }
}

std::vector<Projection> predict_projections(const std::string& profile_file) {
  std::vector<Projection> all;
  if (!profile_file.empty()) {
    const simulate::Job entered = simulate::read_job(profile_file);
    add_projections(entered.name, "as entered", entered.step, entered.cluster, "the cluster of the file", all);
    add_projections(entered.name, "as entered", entered.step, all);
    return all;
  }
  // Profile of ResNet-50: 25.6 million parameters in 161 tensors. 329 images per second in batches of 32 on a V100 is
  // the throughput without DDP that PyTorch published. Assumes that the backward takes two thirds of the step.
  constexpr double kBatch = 32, kRate = 329, kStep = kBatch / kRate, kParameterBytes = 25557032 * 4.0;
  simulate::StepProfile profile;
  profile.samples = kBatch;
  profile.forward_seconds = kStep * 0.33;
  profile.backward_seconds = kStep * 0.66;
  profile.optimizer_seconds = kStep * 0.01;
  profile.parameters = simulate::even_groups(kParameterBytes, 161);
  profile.input_bytes = 3 * 224 * 224 * 4;
  profile.output_bytes = 1000 * 4;
  add_projections("ResNet-50", "V100", profile, all);
  return all;
}

std::vector<Published> read_published_measurements() {
  const std::string path = simulate::data_path("published_points.json");
  std::vector<Published> out;
  if (!std::filesystem::exists(path)) return out;
  for (const simulate::Published& p : simulate::read_published(path)) {
    Published published;
    published.what = p.what;
    published.source = p.source;
    published.unit = p.unit;
    published.labels = p.labels;
    published.values = p.values;
    published.devices.assign(p.devices.begin(), p.devices.end());
    published.predicted = p.predicted;
    out.push_back(std::move(published));
  }
  return out;
}

std::vector<std::string> describe_recorded_skill() {
  const std::string folder = simulate::data_path("ddp_times");
  if (!std::filesystem::exists(folder)) return {};
  std::vector<std::string> out;
  const simulate::Skill skill = simulate::check_skill(folder, /*intervals=*/false);
  for (const simulate::HeldOutErrors& part : skill.held_out) {
    std::string text = str_cat("Recorded steps of GPTs on A100s, held out: ", part.what, ". Off by ",
                               format_percent(part.model.median), " in the median, ", format_percent(part.model.mean),
                               " in the mean (arithmetic alone ", format_percent(part.flops.median),
                               ", the nearest fitted row ", format_percent(part.nearest.median), ").");
    if (part.model.median >= std::min({part.flops.median, part.nearest.median, part.constant.median}))
      text += " So the model has no skill there.";
    out.push_back(std::move(text));
  }
  out.emplace_back("docs/simulate.md says how far to trust these records: they look computed, not measured.");
  return out;
}

}  // namespace tandem::tools::compare
