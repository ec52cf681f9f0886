// A siamese network: one tower for two inputs, a contrastive loss, then triplet and cosine-embedding losses.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <tuple>
#include <utility>

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

/// Converts a module to float64 and sets its parameters to fixed values; the wider a layer, the smaller the values.
void known(torch::nn::Module& module, double scale = 1) {
  module.to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.5;
  for (auto& parameter : module.parameters()) {
    const double fan = parameter.dim() > 1 ? static_cast<double>(parameter.numel() / parameter.size(0)) : 4;
    parameter.copy_(wave(parameter.sizes(), step += 0.11) * scale / std::sqrt(fan));
  }
}

struct SiameseImpl : torch::nn::Module {
  SiameseImpl() {
    tower = register_module(
        "tower", torch::nn::Sequential(torch::nn::Conv1d(torch::nn::Conv1dOptions(1, 4, 3).padding(1)),
                                       torch::nn::ReLU(torch::nn::ReLUOptions().inplace(true)),
                                       torch::nn::MaxPool1d(torch::nn::MaxPool1dOptions(2)), torch::nn::Flatten(),
                                       torch::nn::Linear(20, 8), torch::nn::Tanh(), torch::nn::Linear(8, 3)));
  }
  torch::Tensor embed(torch::Tensor x) { return tower->forward(x); }
  std::pair<torch::Tensor, torch::Tensor> forward(torch::Tensor a, torch::Tensor b) { return {embed(a), embed(b)}; }
  torch::nn::Sequential tower{nullptr};
};
TORCH_MODULE(Siamese);

/// Waves whose length depends on the class, with any phase.
torch::Tensor signals(const torch::Tensor& classes, double phase) {
  const auto time = torch::arange(10, torch::kFloat64).view({1, 1, 10});
  const auto length = (0.4 + 0.5 * classes.to(torch::kFloat64)).view({-1, 1, 1});
  const auto shift = torch::arange(classes.size(0), torch::kFloat64).view({-1, 1, 1}) * phase;
  return (time * length + shift).sin();
}

torch::Tensor contrastive(const torch::Tensor& distance, const torch::Tensor& same, double margin) {
  return (same * distance.square() + (1 - same) * torch::clamp_min(margin - distance, 0).square()).mean();
}

int main() {
  Siamese model;
  known(*model, 1.5);
  const auto first = torch::arange(12).remainder(3), second = torch::arange(12).remainder(4).remainder(3);
  const auto same = (first == second).to(torch::kFloat64);
  std::cout << same.view({3, 4}) << '\n';
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.01));
  const torch::nn::PairwiseDistance distance(torch::nn::PairwiseDistanceOptions().p(2));
  for (int step = 0; step < 40; ++step) {
    optimizer.zero_grad();
    auto [a, b] = model->forward(signals(first, 0.2), signals(second, 0.15));
    const auto loss = contrastive(torch::nn::PairwiseDistance(distance)(a, b), same, 1.0);
    loss.backward();
    optimizer.step();
    if (step % 8 == 0) std::printf("contrastive %d: %.6f\n", step, loss.item<double>());
  }
  torch::nn::TripletMarginLoss triplet(torch::nn::TripletMarginLossOptions().margin(1.0).p(2).swap(true));
  torch::nn::CosineEmbeddingLoss cosine(torch::nn::CosineEmbeddingLossOptions().margin(0.2));
  for (int step = 0; step < 24; ++step) {
    optimizer.zero_grad();
    const auto anchor = model->embed(signals(first, 0.2)), positive = model->embed(signals(first, 0.5)),
               negative = model->embed(signals((first + 1).remainder(3), 0.3));
    const auto t = triplet(anchor, positive, negative);
    const auto c = cosine(anchor, negative, -torch::ones({12}, torch::kFloat64));
    (t + 0.5 * c).backward();
    optimizer.step();
    if (step % 8 == 0) std::printf("triplet %.6f cosine %.6f\n", t.item<double>(), c.item<double>());
  }
  torch::NoGradGuard no_grad;
  const auto points = model->embed(signals(torch::arange(3), 0.1));
  std::cout << torch::cdist(points, points) << '\n'
            << torch::nn::functional::cosine_similarity(points[0].unsqueeze(0), points) << '\n'
            << torch::pdist(points) << '\n';
  return 0;
}
