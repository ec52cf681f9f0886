// Weights shared by two layers, layers that are frozen and unfrozen, and deep copies that train independently.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <memory>

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

struct LanguageModelImpl : torch::nn::Cloneable<LanguageModelImpl> {
  LanguageModelImpl(int64_t words, int64_t size) : words(words), size(size) { reset(); }
  void reset() override {
    embedding = register_module("embedding", torch::nn::Embedding(words, size));
    hidden = register_module("hidden", torch::nn::Linear(size, size));
    decoder = register_module("decoder", torch::nn::Linear(torch::nn::LinearOptions(size, words).bias(false)));
    decoder->weight = embedding->weight;  // shared weight
  }
  torch::Tensor forward(const torch::Tensor& tokens) { return decoder(torch::tanh(hidden(embedding(tokens)))); }
  int64_t words, size;
  torch::nn::Embedding embedding{nullptr};
  torch::nn::Linear hidden{nullptr}, decoder{nullptr};
};
TORCH_MODULE(LanguageModel);

int main() {
  LanguageModel model(6, 4);
  known(*model);
  std::cout << model->decoder->weight.is_same(model->embedding->weight) << model->parameters().size() << '\n';
  const auto tokens = torch::tensor({0, 1, 2, 3, 4, 5}), next = tokens.roll(-1);
  torch::optim::SGD optimizer({model->embedding->weight, model->hidden->weight, model->hidden->bias},
                              torch::optim::SGDOptions(0.5));
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto loss = torch::nn::functional::cross_entropy(model(tokens), next);
    loss.backward();
    optimizer.step();
    std::printf("tied %.6f %.6f\n", loss.item<double>(), model->embedding->weight.grad().norm().item<double>());
  }
  std::cout << model->decoder->weight.slice(0, 0, 2) << '\n';

  torch::nn::Sequential net({{"base", torch::nn::Linear(3, 5)},
                             {"norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({5}))},
                             {"act", torch::nn::ReLU()},
                             {"head", torch::nn::Linear(5, 2)}});
  known(*net);
  for (auto& parameter : net->named_parameters())
    if (parameter.key().rfind("head", 0) != 0) parameter.value().set_requires_grad(false);
  auto copy = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(net->clone());
  std::vector<torch::Tensor> trained;
  for (const auto& parameter : net->parameters())
    if (parameter.requires_grad()) trained.push_back(parameter);
  torch::optim::Adam head(trained, torch::optim::AdamOptions(0.1));
  const auto x = wave({4, 3}), y = wave({4, 2}, 0.2);
  for (int step = 0; step < 3; ++step) {
    head.zero_grad();
    const auto loss = torch::mse_loss(net->forward(x), y);
    loss.backward();
    head.step();
    std::printf("head %.6f\n", loss.item<double>());
  }
  const auto before = copy->named_parameters(), after = net->named_parameters();
  for (const auto& parameter : after)
    std::printf("%s %d changed by %.6f, has a gradient: %d\n", parameter.key().c_str(),
                static_cast<int>(parameter->requires_grad()),
                (parameter.value() - before[parameter.key()]).abs().max().item<double>(),
                static_cast<int>(parameter->grad().defined()));
  // unfrozen; the other parameters get a smaller learning rate
  std::vector<torch::Tensor> rest;
  for (auto& parameter : net->parameters())
    if (!parameter.requires_grad()) rest.push_back(parameter.requires_grad_(true));
  head.add_param_group({rest, std::make_unique<torch::optim::AdamOptions>(0.01)});
  for (int step = 0; step < 3; ++step) {
    head.zero_grad();
    const auto loss = torch::mse_loss(net->forward(x), y);
    loss.backward();
    head.step();
    std::printf("all %.6f\n", loss.item<double>());
  }
  std::printf("copy %.6f\n", torch::mse_loss(copy->forward(x), y).item<double>());
  return 0;
}
