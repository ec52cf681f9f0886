// A small classification problem, and modules for it, for the tests of the Trainer.
#pragma once
#include "tandem/tandem.h"
#include "tandem/tests/formula.h"
#include "tandem/train/trainer.h"

namespace tandem::test {

inline Tensor formula_tensor(std::vector<int64_t> sizes, uint32_t salt, DType dtype) {
  std::vector<double> values;
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  for (int64_t i = 0; i < count; ++i) values.push_back(value(i, salt));
  return tensor(values, kFloat64).to(dtype).view(sizes);
}
/// `rows` examples of 5 features and a class from 0 to 2; with_ignored: some classes are -100.
inline data::datasets::TensorPairDataset classes(int64_t rows, DType dtype = kFloat32, bool with_ignored = false) {
  std::vector<int64_t> targets;
  for (int64_t i = 0; i < rows; ++i)
    targets.push_back(with_ignored && i % 4 == 1 ? -100 : static_cast<int64_t>(3 * unit(i, 9)));
  return {formula_tensor({rows, 5}, 4, dtype), tensor(targets)};
}

inline nn::Sequential plain_net(DType dtype = kFloat32) {
  manual_seed(5);
  nn::Sequential net(nn::Linear(5, 8), nn::Tanh(), nn::Linear(8, 3));
  net->to(dtype);
  return net;
}
/// A network whose training draws random numbers and changes buffers.
inline nn::Sequential noisy_net() {
  manual_seed(5);
  return nn::Sequential(nn::Linear(5, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Dropout(0.4), nn::Linear(8, 3));
}
inline auto sgd(double lr = 0.1) {
  return [lr](std::vector<Tensor> parameters) {
    return std::make_unique<optim::SGD>(parameters, optim::SGDOptions(lr).momentum(0.9));
  };
}

inline std::vector<Tensor> copy_state(const nn::Module& module) {
  std::vector<Tensor> out;
  for (const auto& item : module.state_dict()) out.push_back(item.value().detach().clone());
  return out;
}
inline bool is_same_state(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool all = a.size() == b.size() && !a.empty();
  for (size_t i = 0; all && i < a.size(); ++i) all = a[i].equal(b[i]);
  return all;
}
inline double state_difference(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, (a[i].to(kFloat64) - b[i].to(kFloat64)).abs().max().item<double>());
  return largest;
}
inline train::TrainerOptions quiet(const std::string& strategy = "single", int devices = 1) {
  return train::TrainerOptions()
      .accelerator("cpu")
      .enable_progress_bar(false)
      .strategy(strategy)
      .devices(devices)
      .seed(7)
      .log_every_n_steps(1);
}

/// Returns the order in which a source with shuffle(true) and seed 7 uses its examples in an epoch.
inline std::vector<size_t> order_of_epoch(size_t size, size_t epoch) {
  data::samplers::ShardSampler sampler(size, 1, 0, {.shuffle = true, .seed = 7});
  sampler.set_epoch(epoch);
  return sampler.indices();
}

}  // namespace tandem::test
