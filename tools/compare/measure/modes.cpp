// Implements the list of training modes, and make_worker, which prepares a network for training under a mode.
#include "tandem/tools/compare/measure/modes.h"

#include <algorithm>

#include "tandem/tandem.h"

namespace tandem::tools::compare {
namespace {

constexpr double kSingleParameterBucketMib = 1e-9;  // in MiB; so small that each parameter gets a bucket of its own

std::vector<Mode> all_modes() {
  using Kind = Mode::Kind;
  std::vector<Mode> all = {
      {.key = "single", .label = "one device"},
      {.key = "dp", .label = "DP", .kind = Kind::data_parallel},
      {.key = "dp_persistent",
       .label = "DP, persistent replicas",
       .kind = Kind::data_parallel,
       .persistent_replicas = true},
      {.key = "dp_loss", .label = "DP, loss in the replicas", .kind = Kind::data_parallel, .loss_in_replicas = true}};
  for (const char* const backend : {"local", "gloo", "nccl"}) {
    const std::string key = std::string("ddp_") + backend, label = std::string("DDP over ") + backend;
    all.push_back({.key = key, .label = label, .kind = Kind::distributed, .backend = backend});
    all.push_back({.key = key + "_naive",
                   .label = label + ", a bucket per parameter",
                   .kind = Kind::distributed,
                   .backend = backend,
                   .bucket_mib = kSingleParameterBucketMib});
  }
  return all;
}

}  // namespace

std::vector<Mode> default_modes(const std::vector<std::string>& backends) {
  std::vector<Mode> modes;
  for (Mode& mode : all_modes())
    if (mode.backend.empty() || std::find(backends.begin(), backends.end(), mode.backend) != backends.end())
      modes.push_back(std::move(mode));
  return modes;
}
Mode with_buckets(Mode mode, double mib) {
  mode.key += "_link";
  mode.label += ", buckets for the link";
  mode.bucket_mib = mib;
  return mode;
}

Mode find_mode(const std::string& key) {
  std::string keys;
  for (const Mode& mode : all_modes()) {
    if (mode.key == key) return mode;
    keys += (keys.empty() ? "" : ", ") + mode.key;
  }
  TANDEM_FAIL("compare: there is no mode '", key, "'; accepted: ", keys);
}

Worker make_worker(const Mode& mode, const Net& net, const std::vector<Device>& devices) {
  Worker worker;
  worker.net = net;
  worker.devices = {net->parameters()[0].device()};
  worker.loss = [net](const Tensor& output, const Tensor& targets) {
    return net->loss(output, targets.to(output.device()));
  };
  using Kind = Mode::Kind;
  switch (mode.kind) {
    case Kind::single:
      worker.forward = [net, device = worker.devices[0]](const Tensor& x) { return net(x.to(device)); };
      break;
    case Kind::data_parallel: {
      worker.devices = devices;
      const auto dp = std::make_shared<nn::parallel::DataParallel<Net>>(
          net, devices, std::nullopt, nn::DataParallelOptions().persistent_replicas(mode.persistent_replicas));
      if (mode.loss_in_replicas) {
        const auto part = [net](const Tensor& output, const Tensor& target) {
          return nn::parallel::LossPart(net->loss(output, target, Reduction::sum),
                                        full({}, static_cast<double>(target.numel()), output.options()));
        };
        worker.forward_and_loss = [dp, part](const Tensor& x, const Tensor& y) { return dp->loss(part, x, y); };
      } else {
        worker.forward = [dp](const Tensor& x) { return (*dp)(x); };
      }
      break;
    }
    case Kind::distributed: {
      const auto ddp = std::make_shared<nn::parallel::DistributedDataParallel<Net>>(
          net, nn::parallel::DistributedDataParallelOptions().bucket_cap_mb(mode.bucket_mib));
      worker.rank = distributed::get_rank();
      worker.world_size = distributed::get_world_size();
      worker.forward = [ddp](const Tensor& x) { return (*ddp)(x); };
      break;
    }
  }
  return worker;
}

}  // namespace tandem::tools::compare
