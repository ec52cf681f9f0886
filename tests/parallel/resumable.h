// A training run with everything that a checkpoint must hold: random transforms, dropout, optimizer state, a learning
// rate schedule, and a data loader whose workers prefetch.
#pragma once
#include "tandem/tandem.h"

namespace tandem::test {

/// 50 examples of six features and one target
struct Points : data::datasets::Dataset<Points> {
  explicit Points(DType dtype) : dtype(dtype) {}
  data::Example<> get(size_t index) override {
    const double i = static_cast<double>(index);
    std::vector<double> x;
    for (int k = 0; k < 6; ++k) x.push_back(std::sin(i * (k + 1)));
    return {tensor(x, dtype), tensor({std::cos(i)}, dtype)};
  }
  std::optional<size_t> size() const override { return 50; }
  DType dtype;
};

struct ResumableTraining {
  std::string folder;
  int64_t steps = 18, save_every = 4;
  bool dropout = true, jitter = true;  // jitter: add noise to each example
  size_t batch = 8, workers = 2;       // batch: total over all ranks
  DType dtype = kFloat32;
  int64_t keep = 3;
  std::function<void(int64_t)> begin = [](int64_t) {};  // called with the step of the restored checkpoint, or 0
};

/// Resumes training from the last checkpoint, on this rank if ranks > 1. Returns the final parameters.
template <class Sampler> std::vector<Tensor> train(const ResumableTraining& t, Sampler sampler, int ranks = 1) {
  manual_seed(7);
  nn::Sequential net(nn::Linear(6, 16), nn::ReLU(), nn::Dropout(t.dropout ? 0.3 : 0.0), nn::Linear(16, 1));
  net->to(t.dtype);
  optim::Adam optimizer(net->parameters(), optim::AdamOptions(0.02));
  optim::StepLR schedule(optimizer, 5, 0.7);
  const auto options = data::DataLoaderOptions(t.batch / static_cast<size_t>(ranks)).workers(t.workers).drop_last(true);
  const auto jitter = [on = t.jitter](const Tensor& x) { return on ? x.add(randn_like(x), 0.1) : x; };
  auto loader = data::make_data_loader(
      Points(t.dtype).map(data::transforms::TensorLambda<>(jitter)).map(data::transforms::Stack<>()),
      std::move(sampler), options);
  CheckpointManager checkpoints(t.folder, {.keep = t.keep});
  int64_t epoch = 0;
  checkpoints.add("model", net);
  checkpoints.add("optimizer", optimizer);
  checkpoints.add("schedule", schedule);
  checkpoints.add("loader", *loader);
  checkpoints.add("epoch", epoch);
  std::optional<nn::parallel::DistributedDataParallel<nn::Sequential>> ddp;
  if (ranks > 1) ddp.emplace(net);
  int64_t step = checkpoints.restore().value_or(0);
  t.begin(step);
  for (; step < t.steps; ++epoch) {
    if constexpr (requires { loader->sampler().set_epoch(0); }) loader->sampler().set_epoch(static_cast<size_t>(epoch));
    for (auto& batch : *loader) {
      optimizer.zero_grad();
      const Tensor y = ddp ? (*ddp)(batch.data) : net->forward(batch.data);
      mse_loss(y, batch.target).backward();
      optimizer.step();
      schedule.step();
      if (++step % t.save_every == 0) checkpoints.save(step);
      if (step == t.steps) break;
    }
  }
  std::vector<Tensor> out;
  for (const Tensor& p : net->parameters()) out.push_back(p.detach().clone());
  return out;
}

}  // namespace tandem::test
