// RNN, LSTM and GRU: layers, directions, projections, packed sequences, and their cells.
#include <torch/torch.h>

#include <iostream>
#include <string>
#include <tuple>

namespace nn = torch::nn;
namespace rnn = torch::nn::utils::rnn;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes) * 0.8;
}

template <class M> M known(M module) {
  module->to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.2;
  for (auto& parameter : module->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.13));
  return module;
}

template <class M> void gradients(M& module) {
  for (const auto& parameter : module->named_parameters())
    std::cout << parameter.key() << ' ' << parameter->sizes() << ' ' << parameter->grad().sum().template item<double>()
              << ' ' << parameter->grad().abs().max().template item<double>() << '\n';
}

void modules() {
  auto plain = known(nn::RNN(nn::RNNOptions(3, 4).nonlinearity(torch::kReLU).num_layers(2)));
  auto [y, h] = plain(wave({5, 2, 3}));
  std::cout << y << '\n' << h << '\n';
  (y.square().sum() + h.sum()).backward();
  gradients(plain);

  auto gru = known(nn::GRU(nn::GRUOptions(2, 3).bidirectional(true).batch_first(true)));
  auto [z, g] = gru(wave({2, 4, 2}), wave({2, 2, 3}, 0.4));
  std::cout << z << '\n' << g << '\n';
  z.square().sum().backward();
  gradients(gru);

  auto lstm = known(nn::LSTM(nn::LSTMOptions(3, 4).num_layers(2).bidirectional(true).bias(false)));
  auto [out, state] = lstm(wave({3, 2, 3}), std::make_tuple(wave({4, 2, 4}, 0.3), wave({4, 2, 4}, 0.2)));
  std::cout << out << '\n' << std::get<0>(state) << '\n' << std::get<1>(state) << '\n';
  out.square().sum().backward();
  gradients(lstm);

  auto projected = known(nn::LSTM(nn::LSTMOptions(3, 4).proj_size(2)));
  auto [small, both] = projected(wave({3, 1, 3}));
  std::cout << small << '\n' << std::get<0>(both).sizes() << std::get<1>(both).sizes() << '\n';
  for (const auto& parameter : lstm->named_parameters()) std::cout << parameter.key() << ' ';
  std::cout << '\n' << projected->all_weights().size() << '\n';
}

void packed() {
  const auto padded = rnn::pad_sequence({wave({4, 3}), wave({2, 3}, 0.2), wave({3, 3}, 0.5)}, /*batch_first=*/true);
  std::cout << padded << '\n';
  const auto lengths = torch::tensor({4, 2, 3});
  auto lstm = known(nn::LSTM(nn::LSTMOptions(3, 2).batch_first(true).bidirectional(true)));
  const auto sequences = rnn::pack_padded_sequence(padded, lengths, /*batch_first=*/true, /*enforce_sorted=*/false);
  std::cout << sequences.batch_sizes() << '\n' << sequences.sorted_indices() << '\n' << sequences.data() << '\n';
  auto [y, state] = lstm->forward_with_packed_input(sequences);
  auto [values, counts] = rnn::pad_packed_sequence(y, /*batch_first=*/true, /*padding_value=*/-9);
  std::cout << values << '\n' << counts << '\n' << std::get<0>(state) << '\n';
  values.sum().backward();
  gradients(lstm);
  auto gru = known(nn::GRU(3, 2));
  const auto sorted = rnn::pack_sequence({wave({3, 3}), wave({3, 3}, 0.1), wave({1, 3})});
  auto [outputs, last] = gru->forward_with_packed_input(sorted);
  std::cout << outputs.data() << '\n' << last << '\n';
}

void cells() {
  auto plain = known(nn::RNNCell(nn::RNNCellOptions(3, 2)));
  auto gru = known(nn::GRUCell(nn::GRUCellOptions(3, 2).bias(false)));
  auto lstm = known(nn::LSTMCell(3, 2));
  torch::Tensor a, b;
  std::tuple<torch::Tensor, torch::Tensor> c = {torch::zeros({2, 2}, torch::kFloat64), wave({2, 2})};
  for (const auto& x : wave({4, 2, 3}).unbind()) {
    a = plain(x, a);
    b = gru(x, b);
    c = lstm(x, c);
  }
  std::cout << a << '\n' << b << '\n' << std::get<0>(c) << '\n' << std::get<1>(c) << '\n';
  (a.sum() + b.sum() + std::get<1>(c).sum()).backward();
  gradients(plain);
  gradients(gru);
  gradients(lstm);
}

int main() {
  modules();
  packed();
  cells();
  return 0;
}
