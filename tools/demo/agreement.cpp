// Implements largest_difference(): trains under a parallel mode, and on one device with the shards of that mode
// (train_reference), and compares the parameters.
#include "tandem/tools/demo/agreement.h"

#include <algorithm>

#include "tandem/tandem.h"

namespace tandem::tools {
namespace {

/// Returns the batch for `step`: `size` consecutive images, starting over at the end of the data set.
data::Example<> get_batch(const FashionMNIST& data, int64_t size, int step) {
  const auto n = static_cast<int64_t>(*data.size());
  std::vector<size_t> rows(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) rows[static_cast<size_t>(i)] = static_cast<size_t>((step * size + i) % n);
  return data.get_stacked(rows);
}
/// Returns the rows of shard r out of k, split as DataParallel does: the first n % k shards have one more row. If n is
/// less than k, the last shards are empty.
Tensor dp_shard(const Tensor& x, int r, int k) {
  const int64_t n = x.size(0), base = n / k, extra = n % k;
  return x.narrow(0, r * base + std::min<int64_t>(r, extra), base + (r < extra));
}
Tensor ddp_shard(const Tensor& x, int r, int k) {
  const int64_t n = x.size(0), first = n * r / k;
  return x.narrow(0, first, n * (r + 1) / k - first);
}
Net make_initial_net(const DemoSettings& s) {
  manual_seed(s.seed);
  Net net(s.model);
  net->eval();
  return net;
}

void train_reference(const Net& net, const std::string& mode, int shards, const FashionMNIST& data, int64_t batch_size,
                     int steps) {
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  for (int step = 0; step < steps; ++step) {
    const data::Example<> batch = get_batch(data, batch_size, step);
    const Device device = net->parameters()[0].device();
    const Tensor x = batch.data.to(device), y = batch.target.to(device);
    optimizer.zero_grad();
    for (int r = 0; r < shards; ++r) {
      if (mode == "dp") {
        const Tensor part = dp_shard(x, r, shards);
        if (part.size(0) == 0) continue;
        (net->loss(net(part), dp_shard(y, r, shards), Reduction::sum) / static_cast<double>(x.size(0))).backward();
      } else {
        net->loss(net(ddp_shard(x, r, shards)), ddp_shard(y, r, shards)).backward();
      }
    }
    const NoGradGuard guard;
    if (mode != "dp")
      for (const Tensor& p : net->parameters()) p.mutable_grad().mul_(1.0 / shards);
    optimizer.step();
  }
}

}  // namespace

double largest_difference(const DemoSettings& s, const std::string& mode, const FashionMNIST& data, int steps,
                          const std::function<void(nn::Module&)>& modify) {
  const Net net = make_initial_net(s);
  net->to(network_device(mode, s));
  const TrainingMode training_mode = make_training_mode(mode, net, s);
  training_mode.set_training(false);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  for (int step = 0; step < steps; ++step) {
    const data::Example<> batch = get_batch(data, s.batch_size, step);
    Tensor x = batch.data, y = batch.target;
    if (training_mode.world_size > 1) {
      x = ddp_shard(x, training_mode.rank, training_mode.world_size);
      y = ddp_shard(y, training_mode.rank, training_mode.world_size);
    }
    optimizer.zero_grad();
    training_mode.backward(x, y);
    optimizer.step();
  }
  if (modify) modify(*net);
  if (training_mode.rank != 0) return 0;
  const Net reference = make_initial_net(s);
  reference->to(s.device_of(0));
  train_reference(reference, mode, mode == "dp" ? s.devices : training_mode.world_size, data, s.batch_size, steps);
  const NoGradGuard guard;
  double largest = 0;
  const std::vector<Tensor> one = net->parameters(), other = reference->parameters();
  for (size_t i = 0; i < one.size(); ++i) {
    const Tensor difference = one[i].detach().to(kCPU).to(kFloat64) - other[i].detach().to(kCPU).to(kFloat64);
    largest = std::max(largest, difference.abs().max().item<double>());
  }
  return largest;
}

}  // namespace tandem::tools
