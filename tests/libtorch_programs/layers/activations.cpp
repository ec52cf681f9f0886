// All activation modules: how they print, their results, and their gradients.
#include <torch/torch.h>

#include <iostream>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

template <class M> void show(M module) {
  module->to(torch::kFloat64);
  auto x = torch::tensor({{-3.1, -1.2, -0.4, -0.1}, {0.1, 0.45, 1.3, 6.7}}, torch::kFloat64).requires_grad_();
  const torch::Tensor y = module(x.clone());
  (y * torch::tensor({1.0, 0.5, -2.0, 3.0}, torch::kFloat64).slice(0, 0, y.size(1))).sum().backward();
  std::cout << y << '\n' << x.grad() << '\n';
}

int main() {
  show(nn::ELU(nn::ELUOptions().alpha(1.5)));
  show(nn::SELU());
  show(nn::CELU(nn::CELUOptions().alpha(0.7)));
  show(nn::GELU());
  show(nn::GELU(nn::GELUOptions().approximate("tanh")));
  show(nn::GLU(1));
  show(nn::Hardshrink(0.3));
  show(nn::Hardtanh(nn::HardtanhOptions().min_val(-0.5).max_val(0.25)));
  show(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.2)));
  show(nn::LogSigmoid());
  show(nn::LogSoftmax(1));
  show(nn::Mish());
  show(nn::PReLU());
  show(nn::PReLU(nn::PReLUOptions().num_parameters(4).init(0.1)));
  show(nn::ReLU());
  show(nn::ReLU(nn::ReLUOptions(true)));
  show(nn::ReLU6());
  show(nn::SiLU());
  show(nn::Sigmoid());
  show(nn::Softmax(nn::SoftmaxOptions(0)));
  show(nn::Softmin(1));
  show(nn::Softplus(nn::SoftplusOptions().beta(2).threshold(3)));
  show(nn::Softshrink(0.2));
  show(nn::Softsign());
  show(nn::Tanh());
  show(nn::Tanhshrink());
  show(nn::Threshold(nn::ThresholdOptions(0.2, -7)));
  nn::RReLU slopes(nn::RReLUOptions().lower(0.1).upper(0.5));
  slopes->eval();
  show(slopes);
  const auto maps = torch::linspace(-1, 1, 12, torch::kFloat64).view({1, 3, 2, 2});
  std::cout << nn::Softmax2d()(maps) << '\n';

  const auto x = torch::linspace(-2, 2, 6, torch::kFloat64);
  std::cout << F::elu(x, F::ELUFuncOptions().alpha(0.3)) << '\n' << F::leaky_relu(x) << '\n' << F::relu6(x * 4) << '\n';
  std::cout << F::softmax(x, 0) << '\n'
            << F::log_softmax(x, F::LogSoftmaxFuncOptions(0).dtype(torch::kFloat32)) << '\n';
  std::cout << F::softplus(x) << '\n'
            << F::hardtanh(x, F::HardtanhFuncOptions().max_val(0.9)) << '\n'
            << F::glu(x, 0) << '\n';
  std::cout << F::threshold(x, F::ThresholdFuncOptions(0.5, 0.25)) << '\n'
            << F::prelu(x, torch::full({1}, 0.2, torch::kFloat64)) << '\n';
  std::cout << torch::hardswish(x) << '\n' << torch::hardsigmoid(x) << '\n' << F::mish(x) << '\n' << F::silu(x) << '\n';
  return 0;
}
