// Functions of torch::nn::utils: gradient clipping, parameters as one vector, sequences of different lengths.
#include <torch/torch.h>

#include <iostream>
#include <vector>

namespace nn = torch::nn;
namespace rnn = torch::nn::utils::rnn;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

nn::Sequential network() {
  nn::Sequential net(nn::Linear(3, 2), nn::Tanh(), nn::Linear(2, 1));
  net->to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.2;
  for (auto& parameter : net->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.13));
  return net;
}

void show_gradients(nn::Sequential& net) {
  for (const auto& parameter : net->parameters()) std::cout << parameter.grad() << '\n';
}

void clipping() {
  auto net = network();
  const auto loss = [&] { return net->forward(wave({5, 3})).square().sum() * 10; };
  loss().backward();
  std::cout.precision(6);
  std::cout << nn::utils::clip_grad_norm_(net->parameters(), 1.5) << '\n';
  show_gradients(net);
  std::cout << nn::utils::clip_grad_norm_(net->parameters(), 100) << '\n';
  std::cout << nn::utils::clip_grad_norm_(net->parameters(), 0.5, /*norm_type=*/1) << '\n';
  std::cout << nn::utils::clip_grad_norm_(net->parameters(), 0.1, std::numeric_limits<double>::infinity()) << '\n';
  show_gradients(net);
  net->zero_grad();
  loss().backward();
  nn::utils::clip_grad_value_(net->parameters(), 0.75);
  show_gradients(net);
  nn::utils::clip_grad_norm_(net->parameters().front(), 0.2);
  std::cout << net->parameters().front().grad().norm().item<double>() << '\n';
}

void vectors() {
  auto net = network();
  const auto vector = nn::utils::parameters_to_vector(net->parameters());
  std::cout << vector << '\n';
  nn::utils::vector_to_parameters(vector * 2 - 1, net->parameters());
  for (const auto& parameter : net->parameters()) std::cout << parameter << '\n';
}

void sequences() {
  const std::vector<torch::Tensor> parts = {wave({2}), wave({4}, 0.2), wave({3}, 0.5)};
  std::cout << rnn::pad_sequence(parts) << '\n' << rnn::pad_sequence(parts, /*batch_first=*/true, -1) << '\n';
  const auto packed = rnn::pack_sequence(parts, /*enforce_sorted=*/false);
  std::cout << packed.data() << packed.batch_sizes() << packed.sorted_indices() << packed.unsorted_indices() << '\n';
  const auto [padded, lengths] = rnn::pad_packed_sequence(packed, /*batch_first=*/true, 9.5, /*total_length=*/6);
  std::cout << padded << '\n' << lengths << '\n';
  const auto inverse = rnn::invert_permutation(torch::tensor({2, 0, 3, 1}));
  std::cout << inverse << '\n';
  try {
    rnn::pack_sequence(parts);
  } catch (const c10::Error&) {
    std::cout << "refused\n";
  }
}

int main() {
  clipping();
  vectors();
  sequences();
  return 0;
}
