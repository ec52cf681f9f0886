// Functions of torch::nn::init: values of deterministic ones, and bounds, means and products of random ones.
#include <torch/torch.h>

#include <cmath>
#include <exception>
#include <iomanip>
#include <iostream>

namespace init = torch::nn::init;

bool close(double value, double expected, double tolerance) { return std::abs(value - expected) <= tolerance; }

int main() {
  torch::manual_seed(3);
  std::cout << std::boolalpha << std::setprecision(6);
  auto w = torch::empty({4, 3});
  std::cout << init::constant_(w, 0.25) << init::ones_(w).sum() << init::zeros_(w).sum() << init::eye_(w) << std::endl;
  auto kernel = torch::empty({2, 2, 3, 3});
  std::cout << init::dirac_(kernel) << std::endl;
  std::cout << init::calculate_gain(torch::kReLU) << " " << init::calculate_gain(torch::kTanh) << " "
            << init::calculate_gain(torch::kLinear) << " " << init::calculate_gain(torch::kLeakyReLU, 0.2) << " "
            << init::calculate_gain(torch::kSigmoid) << " " << init::calculate_gain(torch::kConv2D) << std::endl;

  auto large = torch::empty({300, 200});
  init::uniform_(large, -2, 3);
  std::cout << (large.min().item<float>() >= -2) << (large.max().item<float>() <= 3)
            << close(large.mean().item<float>(), 0.5, 0.05);
  init::normal_(large, 1, 0.5);
  std::cout << close(large.mean().item<float>(), 1, 0.02) << close(large.std().item<float>(), 0.5, 0.02) << std::endl;
  init::xavier_uniform_(large, 2);
  const double xavier = 2 * std::sqrt(6.0 / 500);
  std::cout << (large.abs().max().item<float>() <= xavier)
            << close(large.std().item<float>(), xavier / std::sqrt(3), 0.005);
  init::xavier_normal_(large);
  std::cout << close(large.std().item<float>(), std::sqrt(2.0 / 500), 0.002) << std::endl;
  init::kaiming_uniform_(large, std::sqrt(5));
  std::cout << close(large.abs().max().item<float>(), 1 / std::sqrt(200.0), 1e-4);
  init::kaiming_normal_(large, 0, torch::kFanOut, torch::kReLU);
  std::cout << close(large.std().item<float>(), std::sqrt(2.0 / 300), 0.002);
  init::sparse_(large, 0.4, 0.01);
  std::cout << ((large == 0).sum(0) == 120).all().item<bool>() << std::endl;
  auto tall = torch::empty({8, 3}), wide = torch::empty({3, 2, 4});
  init::orthogonal_(tall, 2);
  init::orthogonal_(wide);
  std::cout << torch::allclose(tall.t().mm(tall), 4 * torch::eye(3), 1e-4, 1e-5)
            << torch::allclose(wide.view({3, 8}).mm(wide.view({3, 8}).t()), torch::eye(3), 1e-4, 1e-5) << std::endl;

  // Initializes a module's parameters with apply, and prints errors of invalid arguments.
  torch::nn::Sequential net(torch::nn::Conv2d(2, 4, 3), torch::nn::BatchNorm2d(4), torch::nn::Linear(6, 2));
  net->apply([](torch::nn::Module& module) {
    torch::NoGradGuard guard;
    if (auto* linear = module.as<torch::nn::Linear>()) {
      init::constant_(linear->weight, 0.5);
      init::constant_(linear->bias, -1);
    } else if (auto* convolution = module.as<torch::nn::Conv2d>()) {
      init::dirac_(convolution->weight);
      init::zeros_(convolution->bias);
    }
  });
  for (const auto& parameter : net->named_parameters())
    std::cout << parameter.key() << " " << parameter.value().sizes() << " " << parameter.value().sum().item<float>()
              << " " << parameter.value().requires_grad() << std::endl;
  const auto refuses = [](const auto& fill) {
    try {
      fill();
      std::cout << "filled ";
    } catch (const std::exception&) {
      std::cout << "refused ";
    }
  };
  refuses([] { init::xavier_uniform_(torch::empty(3)); });
  refuses([] { init::eye_(torch::empty({2, 2, 2})); });
  refuses([] { init::dirac_(torch::empty({2, 2})); });
  refuses([] { init::orthogonal_(torch::empty(4)); });
  refuses([] { init::sparse_(torch::empty({2, 2, 2}), 0.1); });
  std::cout << std::endl;
  return 0;
}
