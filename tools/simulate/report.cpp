// Implements predict, as_text and as_json, which compute the predictions of a job, and format them together with the
// job's links.
#include "tandem/tools/simulate/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "tandem/tools/simulate/text.h"

namespace tandem::simulate {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Link, latency, bandwidth, per_byte)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BucketPoint, bucket_bytes, seconds, exposed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DdpPrediction, seconds, samples_per_second, communication, hidden, exposed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DpPrediction, seconds, samples_per_second, communication, scatter, replicate,
                                   forward, gather, loss, backward, reduce, optimizer)

namespace {

using Json = nlohmann::json;

constexpr double kSecondsToMs = 1e3, kBytesToMb = 1e-6, kBytesToGb = 1e-9;

void append_link(std::string& text, const char* place, const Link& link) {
  append_printf(text, "  %s: %.3g us + bytes / %.4g GB/s\n", place, link.latency * 1e6, link.bandwidth * kBytesToGb);
}

void append_scaling(std::string& text, const Job& job, const std::vector<ScalingRow>& rows) {
  append_printf(text, "                              DDP                                              DataParallel\n");
  append_printf(
      text,
      "devices  nodes  samples of   samples/s  efficiency  sent, ms  hidden  exposed    samples/s  efficiency  sent, "
      "ms\n");
  append_printf(text, "                 a device\n");
  for (const ScalingRow& r : rows) {
    append_printf(text, "%7d %6d %11.4g %11.1f %10.1f%% %9.3f %7.3f %8.3f", r.devices,
                  count_nodes(job.cluster, r.devices), r.samples, r.ddp.samples_per_second, 100 * r.ddp_efficiency,
                  kSecondsToMs * r.ddp.communication, kSecondsToMs * r.ddp.hidden, kSecondsToMs * r.ddp.exposed);
    if (r.dp)
      append_printf(text, "  %11.1f %10.1f%% %9.3f\n", r.dp->samples_per_second, 100 * r.dp_efficiency,
                    kSecondsToMs * r.dp->communication);
    else
      append_printf(text, "  %11s %11s %9s\n", "-", "-", "-");
  }
}

Json scaling_json(const Job& job, const std::vector<ScalingRow>& rows) {
  Json list = Json::array();
  for (const ScalingRow& r : rows) {
    Json row = {{"devices", r.devices},
                {"nodes", count_nodes(job.cluster, r.devices)},
                {"samples_per_device", r.samples},
                {"ddp", r.ddp},
                {"data_parallel", nullptr}};
    row["ddp"]["efficiency"] = r.ddp_efficiency;
    if (r.dp) {
      row["data_parallel"] = *r.dp;
      row["data_parallel"]["efficiency"] = r.dp_efficiency;
    }
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace

Predictions predict(const Job& job) {
  Predictions p;
  p.weak = predict_weak(job.step, job.cluster, job.devices, job.modes);
  p.strong = predict_strong(job.step, job.cluster, job.devices, job.global_batch, job.modes);
  p.bucket_devices = *std::max_element(job.devices.begin(), job.devices.end());
  p.buckets = best_bucket_bytes(job.step, job.cluster, p.bucket_devices, job.modes.ddp);
  return p;
}

std::string as_text(const Job& job, const Predictions& p) {
  std::string text;
  const double bytes = gradient_bytes(job.step);
  append_printf(text, "%s: every figure below is predicted, none is measured\n", job.name.substr(0, 200).c_str());
  append_printf(text, "  nodes of %d device(s)\n", job.cluster.devices_per_node);
  append_link(text, "inside a node", job.cluster.intra_node_link);
  if (job.cluster.inter_node_link.bandwidth > 0)
    append_link(text,
                job.cluster.inter_node_link_per_device ? "between nodes, each device" : "between nodes, each node",
                job.cluster.inter_node_link);
  append_printf(text,
                "  one device, %.4g samples: forward %.3f ms, backward %.3f ms, optimizer %.3f ms; gradients %.1f MB\n",
                job.step.samples, kSecondsToMs * job.step.forward_seconds, kSecondsToMs * job.step.backward_seconds,
                kSecondsToMs * job.step.optimizer_seconds, kBytesToMb * bytes);

  append_printf(text, "\nAll-reduce of all gradients at once, ms\ndevices");
  for (const AllReduce a : list_all_reduce_algorithms()) append_printf(text, " %13s", algorithm_name(a));
  append_printf(text, "\n");
  for (const int n : job.devices) {
    append_printf(text, "%7d", n);
    for (const AllReduce a : list_all_reduce_algorithms())
      append_printf(text, " %13.3f", kSecondsToMs * all_reduce_seconds(a, bytes, n, job.cluster));
    append_printf(text, "\n");
  }

  append_printf(text, "\nWeak scaling: every device has %.4g samples a step\n",
                p.weak.empty() ? job.step.samples : p.weak[0].samples);
  append_scaling(text, job, p.weak);
  append_printf(text, "\nStrong scaling: all devices share %.6g samples a step\n", job.global_batch);
  append_scaling(text, job, p.strong);

  append_printf(text, "\nBucket size of DDP on %d devices\n    MiB  step, ms  exposed, ms\n", p.bucket_devices);
  for (const BucketPoint& b : p.buckets.points)
    append_printf(text, "%7.4g %9.3f %12.3f%s\n", b.bucket_bytes / (1 << 20), kSecondsToMs * b.seconds,
                  kSecondsToMs * b.exposed, b.bucket_bytes == p.buckets.best.bucket_bytes ? "  best" : "");
  if (p.buckets.estimated_bucket_bytes > 0)
    append_printf(text, "sqrt(S B a) estimates %.3g MiB\n", p.buckets.estimated_bucket_bytes / (1 << 20));
  return text;
}

std::string as_json(const Job& job, const Predictions& p) {
  const double bytes = gradient_bytes(job.step);
  Json all_reduce = Json::array();
  for (const int n : job.devices) {
    Json row = {{"devices", n}};
    for (const AllReduce a : list_all_reduce_algorithms())
      row[algorithm_name(a)] = all_reduce_seconds(a, bytes, n, job.cluster);
    all_reduce.push_back(std::move(row));
  }
  Json cluster = {{"devices_per_node", job.cluster.devices_per_node},
                  {"inside", job.cluster.intra_node_link},
                  {"between", nullptr},
                  {"between_per_device", job.cluster.inter_node_link_per_device}};
  if (job.cluster.inter_node_link.bandwidth > 0) cluster["between"] = job.cluster.inter_node_link;
  const Json json = {{"format", "tandem simulate 1"},
                     {"predicted", true},
                     {"name", job.name},
                     {"cluster", cluster},
                     {"step",
                      {{"samples", job.step.samples},
                       {"forward_seconds", job.step.forward_seconds},
                       {"backward_seconds", job.step.backward_seconds},
                       {"optimizer_seconds", job.step.optimizer_seconds},
                       {"gradient_bytes", bytes}}},
                     {"all_reduce", all_reduce},
                     {"weak", scaling_json(job, p.weak)},
                     {"strong", scaling_json(job, p.strong)},
                     {"global_batch", job.global_batch},
                     {"buckets",
                      {{"devices", p.bucket_devices},
                       {"points", p.buckets.points},
                       {"best_bytes", p.buckets.best.bucket_bytes},
                       {"estimate_bytes", p.buckets.estimated_bucket_bytes}}}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tandem::simulate
