// Embedding and EmbeddingBag: options, gradients, pretrained tables and offsets.
#include <torch/torch.h>

#include <iostream>
#include <vector>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor table(int64_t rows, int64_t columns) {
  return (torch::arange(rows * columns, torch::kFloat64) * 0.7 + 0.3).sin().view({rows, columns});
}

void embeddings() {
  nn::Embedding plain(nn::EmbeddingOptions(6, 3)._weight(table(6, 3)));
  const auto words = torch::tensor({{1, 4, 1}, {0, 5, 2}});
  const auto y = plain(words);
  std::cout << y << '\n';
  (y * y).sum().backward();
  std::cout << plain->weight.grad() << '\n';

  nn::Embedding padded(nn::EmbeddingOptions(6, 3).padding_idx(1).scale_grad_by_freq(true)._weight(table(6, 3)));
  padded(torch::tensor({1, 4, 4, 2, 1})).square().sum().backward();
  std::cout << padded->weight.grad() << '\n';

  auto frozen = nn::Embedding::from_pretrained(table(4, 2));
  auto trained = nn::Embedding::from_pretrained(table(4, 2), nn::EmbeddingFromPretrainedOptions().freeze(false));
  std::cout << frozen->weight.requires_grad() << trained->weight.requires_grad() << '\n';
  std::cout << frozen->options.num_embeddings() << ' ' << frozen->options.embedding_dim() << '\n';
  std::cout << trained(torch::tensor({3, 0})) << '\n';

  nn::Embedding bounded(nn::EmbeddingOptions(4, 3).max_norm(1.0).norm_type(2)._weight(table(4, 3)));
  std::cout << bounded(torch::tensor({0, 2})) << '\n' << bounded->weight << '\n';
  std::cout << F::embedding(words, table(6, 2), F::EmbeddingFuncOptions().padding_idx(0)) << '\n';
  std::cout << F::one_hot(torch::tensor({2, 0, 1}), 4) << '\n' << F::one_hot(torch::tensor({{1}, {2}})) << '\n';
}

void bags() {
  const auto words = torch::tensor({1, 2, 4, 5, 4, 3}), starts = torch::tensor({0, 2, 2, 5});
  for (const nn::EmbeddingBagMode& mode : std::vector<nn::EmbeddingBagMode>{torch::kSum, torch::kMean, torch::kMax}) {
    nn::EmbeddingBag bag(nn::EmbeddingBagOptions(6, 2).mode(mode)._weight(table(6, 2)));
    const auto y = bag(words, starts);
    y.square().sum().backward();
    std::cout << y << '\n' << bag->weight.grad() << '\n' << bag(words.view({2, 3})) << '\n';
  }
  nn::EmbeddingBag weighted(nn::EmbeddingBagOptions(6, 2).mode(torch::kSum)._weight(table(6, 2)));
  auto shares = torch::tensor({0.5, 1.0, -1.0, 2.0, 0.25, 1.5}, torch::kFloat64).requires_grad_();
  weighted(words, starts, shares).sum().backward();
  std::cout << shares.grad() << '\n' << weighted->weight.grad() << '\n';
  nn::EmbeddingBag last(
      nn::EmbeddingBagOptions(6, 2).mode(torch::kMean).include_last_offset(true)._weight(table(6, 2)));
  std::cout << last(words, torch::tensor({0, 3, 6})) << '\n';
  nn::EmbeddingBag skipping(nn::EmbeddingBagOptions(6, 2).padding_idx(4)._weight(table(6, 2)));
  std::cout << skipping(words, starts) << '\n';
  auto fixed =
      nn::EmbeddingBag::from_pretrained(table(3, 2), nn::EmbeddingBagFromPretrainedOptions().mode(torch::kSum));
  std::cout << fixed(torch::tensor({{0, 1}, {2, 2}})) << '\n';
  std::cout << F::embedding_bag(words, table(6, 2), F::EmbeddingBagFuncOptions().mode(torch::kMax).offsets(starts))
            << '\n';
}

int main() {
  embeddings();
  bags();
  return 0;
}
