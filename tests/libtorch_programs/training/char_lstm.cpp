// An LSTM over characters learns a sentence, then writes it.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

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

struct CharLSTMImpl : torch::nn::Module {
  CharLSTMImpl(int64_t letters, int64_t size)
      : embedding(letters, size),
        lstm(torch::nn::LSTMOptions(size, size).num_layers(1).batch_first(true)),
        out(size, letters) {
    register_module("embedding", embedding);
    register_module("lstm", lstm);
    register_module("out", out);
  }
  using State = std::tuple<torch::Tensor, torch::Tensor>;
  std::tuple<torch::Tensor, State> forward(torch::Tensor x, torch::optional<State> state = {}) {
    auto [y, next] = lstm->forward(embedding(x), state);
    return {out(y), next};
  }
  torch::nn::Embedding embedding;
  torch::nn::LSTM lstm;
  torch::nn::Linear out;
};
TORCH_MODULE(CharLSTM);

int main() {
  const std::string text = "the quick brown fox", alphabet = " bcefhiknoqrtuwx";
  std::vector<int64_t> ids;
  for (const char letter : text) ids.push_back(static_cast<int64_t>(alphabet.find(letter)));
  const auto letters = torch::tensor(ids);
  const int64_t length = letters.size(0) - 1;
  const auto input = letters.slice(0, 0, length).unsqueeze(0), target = letters.slice(0, 1);
  CharLSTM model(static_cast<int64_t>(alphabet.size()), 12);
  known(*model);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.05));
  for (int epoch = 0; epoch < 60; ++epoch) {
    optimizer.zero_grad();
    const auto logits = std::get<0>(model->forward(input));
    const auto loss = torch::nn::functional::cross_entropy(logits.squeeze(0), target);
    loss.backward();
    const double norm = torch::nn::utils::clip_grad_norm_(model->parameters(), 0.5);
    optimizer.step();
    if (epoch % 10 == 0) std::printf("epoch %d loss %.5f gradient %.5f\n", epoch, loss.item<double>(), norm);
  }
  torch::NoGradGuard guard;
  std::string written = "t";
  torch::optional<CharLSTMImpl::State> state;
  auto letter = torch::tensor({{static_cast<int64_t>(alphabet.find('t'))}});
  for (int64_t i = 0; i < length; ++i) {
    auto [logits, next] = model->forward(letter, state);
    state = next;
    letter = logits.argmax(2);
    written += alphabet[static_cast<size_t>(letter.item<int64_t>())];
  }
  std::cout << written << '\n' << std::get<0>(*state) << '\n';
  return 0;
}
