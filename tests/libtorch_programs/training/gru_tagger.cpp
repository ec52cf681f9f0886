// A bidirectional GRU labels packed sequences of several lengths; padding is ignored.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
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

namespace rnn_utils = torch::nn::utils::rnn;

struct TaggerImpl : torch::nn::Module {
  TaggerImpl(int64_t words, int64_t tags, int64_t size)
      : embedding(torch::nn::EmbeddingOptions(words, size).padding_idx(0)),
        gru(torch::nn::GRUOptions(size, size).num_layers(2).bidirectional(true).batch_first(true)),
        tag(2 * size, tags) {
    register_module("embedding", embedding);
    register_module("gru", gru);
    register_module("tag", tag);
  }
  torch::Tensor forward(const torch::Tensor& words, const torch::Tensor& lengths) {
    const auto packed = rnn_utils::pack_padded_sequence(embedding(words), lengths, /*batch_first=*/true,
                                                        /*enforce_sorted=*/false);
    const auto outputs = std::get<0>(gru->forward_with_packed_input(packed));
    return tag(std::get<0>(rnn_utils::pad_packed_sequence(outputs, /*batch_first=*/true)));
  }
  torch::nn::Embedding embedding;
  torch::nn::GRU gru;
  torch::nn::Linear tag;
};
TORCH_MODULE(Tagger);

int main() {
  // Tag of a word: 2 if the word is 9, else 0 before the sentence's first 5 and 1 from it on.
  const std::vector<std::vector<int64_t>> sentences = {{3, 5, 2, 9}, {1, 2, 5, 4, 9, 6}, {9, 4}, {5, 9, 9, 1, 3}};
  std::vector<torch::Tensor> words, tags;
  std::vector<int64_t> sizes;
  for (const auto& sentence : sentences) {
    std::vector<int64_t> labels;
    bool seen = false;
    for (const auto word : sentence) {
      seen = seen || word == 5;
      labels.push_back(word == 9 ? 2 : seen);
    }
    words.push_back(torch::tensor(sentence));
    tags.push_back(torch::tensor(labels));
    sizes.push_back(static_cast<int64_t>(sentence.size()));
  }
  const auto input = rnn_utils::pad_sequence(words, /*batch_first=*/true);
  const auto target = rnn_utils::pad_sequence(tags, /*batch_first=*/true, /*padding_value=*/-1);
  const auto lengths = torch::tensor(sizes);
  std::cout << input << '\n' << target << '\n';

  Tagger model(10, 3, 6);
  known(*model);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.03));
  const torch::nn::CrossEntropyLoss criterion(torch::nn::CrossEntropyLossOptions().ignore_index(-1));
  for (int epoch = 0; epoch <= 60; ++epoch) {
    optimizer.zero_grad();
    const auto logits = model(input, lengths);
    const auto loss = torch::nn::CrossEntropyLoss(criterion)->forward(logits.view({-1, 3}), target.view(-1));
    loss.backward();
    if (epoch == 0) std::cout << model->embedding->weight.grad().norm(2, {1}) << '\n';
    const auto norm = torch::nn::utils::clip_grad_norm_(model->parameters(), 1.0);
    optimizer.step();
    if (epoch % 15 == 0) {
      const auto known_tags = target != -1;
      const auto right = (logits.argmax(-1) == target).masked_select(known_tags).sum().item<int64_t>();
      std::printf("epoch %d loss %.5f gradient %.5f right %d of %d\n", epoch, loss.item<double>(), norm,
                  static_cast<int>(right), static_cast<int>(known_tags.sum().item<int64_t>()));
    }
  }
  torch::NoGradGuard no_grad;
  model->eval();
  std::cout << model(torch::tensor({{4, 5, 9, 4}}), torch::tensor({4})).softmax(-1) << '\n';
  return 0;
}
