// Implements largest_difference(): trains under a parallel mode, and on one device with the shards of that mode
// (train_reference), and compares the parameters.
#include "tandem/tools/demo/agreement.h"

#include <algorithm>
#include <numeric>

#include "tandem/tandem.h"
#include "tandem/train/train.h"

namespace tandem::tools {
namespace {

void train_reference(const Net& net, const std::string& mode, size_t shards, const FashionMNIST& data,
                     int64_t batch_size, int steps) {
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(1e-3));
  const Device device = net->parameters()[0].device();
  const auto n = static_cast<int64_t>(*data.size());
  int64_t begin = 0;
  for (int step = 0; step < steps; ++step) {
    const int64_t rows = std::min(batch_size, n - begin);
    optimizer.zero_grad();
    for (const int64_t count : nn::parallel::detail::shard_sizes(rows, shards)) {
      std::vector<size_t> indices(static_cast<size_t>(count));
      std::iota(indices.begin(), indices.end(), static_cast<size_t>(begin));
      begin += count;
      if (count == 0) continue;
      const data::Example<> part = data.get_stacked(indices);
      const Tensor output = net(part.data.to(device)), target = part.target.to(device);
      if (mode == "dp") {
        (net->loss(output, target, Reduction::sum) / static_cast<double>(rows)).backward();
      } else {
        const Tensor loss = net->loss(output, target);
        const double ranks = static_cast<double>(shards) * static_cast<double>(count) / static_cast<double>(rows);
        loss.backward(full({}, ranks, loss.options()));
      }
    }
    if (begin == n) begin = 0;
    const NoGradGuard guard;
    if (mode != "dp")
      for (const Tensor& p : net->parameters()) p.mutable_grad().mul_(1.0 / static_cast<double>(shards));
    optimizer.step();
  }
}

}  // namespace

double largest_difference(const DemoSettings& s, const std::string& mode, const FashionMNIST& data, int steps,
                          const std::function<void(nn::Module&)>& modify) {
  const bool dp = mode == "dp";
  const Net net = make_net(s, mode), reference = make_net(s, "single");
  net->eval();
  reference->eval();
  train::Trainer trainer(trainer_options(s, mode).max_steps(steps));
  trainer.fit(net, train::DataSource(data).batch_size(s.batch_size));
  if (modify) modify(*net);
  if (!dp && distributed::get_rank() != 0) return 0;
  reference->to(s.device_of(0));
  train_reference(reference, mode, static_cast<size_t>(dp ? s.devices : distributed::get_world_size()), data,
                  s.batch_size, steps);
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
