// Padding, masking and slicing of sequences, as in language and signal models.
#include <torch/torch.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

using torch::indexing::Ellipsis;
using torch::indexing::None;
using torch::indexing::Slice;
namespace rnn = torch::nn::utils::rnn;

int main() {
  // maps words to numbers, padded to the same length
  const std::vector<std::string> sentences = {"the cat sat", "the dog", "a cat saw the dog"};
  std::map<std::string, int64_t> vocabulary = {{"<pad>", 0}};
  std::vector<torch::Tensor> rows;
  for (const std::string& sentence : sentences) {
    std::vector<int64_t> numbers;
    std::string word;
    std::istringstream words(sentence);
    while (words >> word)
      numbers.push_back(vocabulary.emplace(word, static_cast<int64_t>(vocabulary.size())).first->second);
    rows.push_back(torch::tensor(numbers));
  }
  const torch::Tensor batch = rnn::pad_sequence(rows, /*batch_first=*/true), lengths = (batch != 0).sum(1);
  std::cout << vocabulary.size() << "\n"
            << batch << "\n"
            << lengths << "\n"
            << rnn::pad_sequence(rows, false, -1).sizes() << "\n";
  const torch::Tensor mask = torch::arange(batch.size(1)).unsqueeze(0) < lengths.unsqueeze(1);
  std::cout << mask << "\n" << batch.masked_select(mask) << "\n";
  // bags of words and bigrams
  const torch::Tensor counts =
      torch::zeros({3, static_cast<int64_t>(vocabulary.size())}).scatter_add_(1, batch, mask.to(torch::kFloat));
  std::cout << counts << "\n" << torch::one_hot(batch, 7).sum({0, 1}) << "\n";
  const torch::Tensor pairs = batch.unfold(1, 2, 1).reshape({-1, 2});
  std::cout << std::get<0>(torch::unique_dim(pairs.index({pairs.prod(1) > 0}), 0)) << "\n";
  // the last element of each sequence, and reversed sequences
  std::cout << batch.gather(1, (lengths - 1).unsqueeze(1)).squeeze(1) << "\n";
  const torch::Tensor back = (lengths.unsqueeze(1) - 1 - torch::arange(batch.size(1))).clamp_min(0);
  std::cout << torch::where(mask, batch.gather(1, back), torch::zeros_like(batch)) << "\n";
  // means over the unpadded elements; attention with a mask
  torch::Tensor vectors = torch::arange(7 * 2, torch::kDouble).view({7, 2}).index({batch});
  const torch::Tensor mean = (vectors * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1);
  std::cout << vectors.sizes() << "\n" << mean << "\n";
  torch::Tensor scores = torch::matmul(vectors, vectors.transpose(1, 2)) / 50;
  scores.masked_fill_(mask.logical_not().unsqueeze(1), -INFINITY);
  scores.masked_fill_(torch::ones({5, 5}, torch::kBool).triu(1), -INFINITY);
  const torch::Tensor attention = scores.softmax(-1);
  std::cout << attention[0] << "\n" << attention.matmul(vectors).index({1, Slice(0, 2)}) << "\n";
  // packed, and padded again
  const auto packed = rnn::pack_padded_sequence(vectors, lengths, /*batch_first=*/true, /*enforce_sorted=*/false);
  std::cout << packed.data().sizes() << packed.batch_sizes() << packed.sorted_indices() << "\n";
  const auto [padded, again] = rnn::pad_packed_sequence(packed, true, 0.0);
  std::cout << torch::equal(padded, vectors * mask.unsqueeze(-1)) << torch::equal(again, lengths) << "\n";
  // signals: overlapping frames, moving averages, differences, zero crossings, run lengths
  const torch::Tensor t = torch::arange(16, torch::kDouble), signal = torch::sin(t * 0.7) + 0.1 * t;
  const torch::Tensor frames = signal.unfold(0, 6, 5) * torch::hann_window(6, torch::kDouble);
  std::cout << frames << "\n" << frames.square().sum(1).sqrt() << "\n";
  std::cout << torch::conv1d(signal.view({1, 1, -1}), torch::full({1, 1, 4}, 0.25, torch::kDouble)).flatten() << "\n";
  std::cout << torch::nonzero(torch::diff(torch::sign(signal - signal.mean()))).flatten() << "\n";
  std::cout << torch::cumsum(signal, 0).index({Slice(None, None, 5)}) << "\n"
            << signal.index({Ellipsis, Slice(-3, None)}) << "\n";
  const auto [values, inverse, runs] = torch::unique_consecutive((signal > 0.5).to(torch::kLong), true, true);
  std::cout << values << "\n" << runs << "\n" << inverse.max() << "\n";
  std::cout << torch::searchsorted(torch::cumsum(torch::tensor({0.1, 0.2, 0.7}), 0), torch::tensor({0.05, 0.15, 0.5}))
            << "\n";
  // a positional encoding, greedy choice and best-first choice
  const torch::Tensor position = torch::arange(3, torch::kDouble).unsqueeze(1),
                      rate = torch::exp(torch::arange(0, 4, 2, torch::kDouble) * (-std::log(10000.0) / 4));
  torch::Tensor encoding = torch::zeros({3, 4}, torch::kDouble);
  encoding.index_put_({Slice(), Slice(0, None, 2)}, torch::sin(position * rate));
  encoding.index_put_({Slice(), Slice(1, None, 2)}, torch::cos(position * rate));
  std::cout << encoding << "\n" << encoding.argmax(1) << "\n" << std::get<1>(encoding.topk(2)) << "\n";
  return 0;
}
