// Word vectors by skip-gram with negative sampling (Mikolov et al. 2013): embeddings, bmm, log-sigmoid, gradients in
// few rows.
#include <torch/torch.h>

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct SkipGramImpl : torch::nn::Module {
  SkipGramImpl(int64_t words, int64_t size)
      : centers(register_module("centers", torch::nn::Embedding(words, size))),
        contexts(register_module("contexts", torch::nn::Embedding(torch::nn::EmbeddingOptions(words, size)))) {
    torch::NoGradGuard guard;
    const auto grid = torch::arange(words * size, torch::kFloat).view({words, size});
    centers->weight.copy_((grid * 0.37).sin() * 0.5);
    contexts->weight.copy_((grid * 0.53).cos() * 0.5);
  }
  /// Maps center (B), positive (B), negative (B, K) to the mean loss.
  torch::Tensor forward(const torch::Tensor& center, const torch::Tensor& positive, const torch::Tensor& negative) {
    const auto v = centers(center);
    const auto near = (v * contexts(positive)).sum(1);
    const auto far = torch::bmm(contexts(negative), v.unsqueeze(2)).squeeze(2);
    return -(torch::log_sigmoid(near) + torch::log_sigmoid(-far).sum(1)).mean();
  }
  torch::nn::Embedding centers, contexts;
};
TORCH_MODULE(SkipGram);

int main() {
  const std::string text =
      "the cat sat on the mat the dog sat on the rug a cat and a dog ran on the mat and the rug the cat ran";
  std::map<std::string, int64_t> vocabulary;
  std::vector<int64_t> words;
  std::istringstream in(text);
  for (std::string word; in >> word;)
    words.push_back(vocabulary.emplace(word, static_cast<int64_t>(vocabulary.size())).first->second);
  const auto count = static_cast<int64_t>(vocabulary.size());
  std::cout << words.size() << " words, " << count << " different\n";

  std::vector<int64_t> center, positive;
  const auto length = static_cast<int64_t>(words.size());
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t j = std::max<int64_t>(0, i - 2); j <= std::min(length - 1, i + 2); ++j) {
      if (i == j) continue;
      center.push_back(words[i]);
      positive.push_back(words[j]);
    }
  }
  const auto centers = torch::tensor(center),
             positives = torch::from_blob(positive.data(), {(int64_t)positive.size()}, torch::kLong);
  const auto pairs = centers.size(0);
  // Three negative samples for each pair, taken from the words that follow in the vocabulary instead of at random.
  const auto negatives =
      (positives.unsqueeze(1) + torch::tensor({1, 3, 4}) + torch::arange(pairs).unsqueeze(1) % 2) % count;
  std::cout << centers.sizes() << " " << negatives.sizes() << " " << negatives.scalar_type() << "\n";

  SkipGram model(count, 6);
  torch::optim::SGD optimizer(model->parameters(), torch::optim::SGDOptions(0.5).momentum(0.5));
  for (int epoch = 0; epoch < 30; ++epoch) {
    double total = 0;
    for (int64_t start = 0; start < pairs; start += 32) {
      const auto rows = torch::indexing::Slice(start, std::min(start + 32, pairs));
      optimizer.zero_grad();
      auto loss = model(centers.index({rows}), positives.index({rows}), negatives.index({rows}));
      loss.backward();
      optimizer.step();
      total += loss.item<float>();
    }
    if (epoch % 6 == 5) std::printf("epoch %d: %.4f\n", epoch + 1, total);
  }
  torch::NoGradGuard guard;
  const auto vectors =
      torch::nn::functional::normalize(model->centers->weight, torch::nn::functional::NormalizeFuncOptions().dim(1));
  const auto likeness = vectors.mm(vectors.t()).fill_diagonal_(-1);
  const auto nearest = likeness.argmax(1);
  for (const auto& [word, row] : vocabulary)
    for (const auto& [other, number] : vocabulary)
      if (nearest[row].item<int64_t>() == number) std::cout << word << " -> " << other << "\n";
  return 0;
}
