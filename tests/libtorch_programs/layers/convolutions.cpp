// Convolutions and transposed convolutions in one to three dimensions, with strides, groups, padding and gradients.
#include <torch/torch.h>

#include <iostream>
#include <string>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

/// Converts a module to float64 and sets its parameters to fixed values.
template <class M> M known(M module) {
  module->to(torch::kFloat64);
  torch::NoGradGuard guard;
  double step = 0.5;
  for (auto& parameter : module->parameters()) parameter.copy_(wave(parameter.sizes(), step += 0.11));
  return module;
}

template <class M> void show(const std::string& name, M module, torch::Tensor x) {
  known(module);
  x.set_requires_grad(true);
  const torch::Tensor y = module(x);
  (y * wave(y.sizes(), 0.3)).sum().backward();
  std::cout << "== " << name << '\n' << y.sizes() << '\n' << y.flatten().slice(0, 0, 12) << '\n';
  std::cout << x.grad().flatten().slice(0, 0, 6) << '\n';
  for (const auto& parameter : module->named_parameters())
    std::cout << parameter.key() << ' ' << parameter->grad().sizes() << ' '
              << parameter->grad().sum().template item<double>() << '\n';
}

int main() {
  show("line", nn::Conv1d(nn::Conv1dOptions(3, 4, 3).stride(2).padding(1)), wave({2, 3, 9}));
  show("line without a bias", nn::Conv1d(nn::Conv1dOptions(3, 4, 2).bias(false).dilation(2)), wave({2, 3, 9}));
  show("same", nn::Conv1d(nn::Conv1dOptions(3, 2, 4).padding(torch::kSame)), wave({1, 3, 7}));
  show("valid", nn::Conv1d(nn::Conv1dOptions(3, 2, 4).padding(torch::kValid)), wave({1, 3, 7}));
  show("plane", nn::Conv2d(nn::Conv2dOptions(2, 3, {2, 3}).stride({2, 1}).padding({0, 2})), wave({2, 2, 5, 6}));
  show("groups", nn::Conv2d(nn::Conv2dOptions(4, 4, 3).groups(2).dilation({1, 2})), wave({1, 4, 6, 7}));
  show("depthwise", nn::Conv2d(nn::Conv2dOptions(3, 6, 3).groups(3).padding(1)), wave({1, 3, 4, 4}));
  show("reflected", nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding(1).padding_mode(torch::kReflect)),
       wave({1, 1, 4, 5}));
  show("circular", nn::Conv2d(nn::Conv2dOptions(1, 2, 3).padding({1, 2}).padding_mode(torch::kCircular)),
       wave({1, 1, 4, 5}));
  show("volume", nn::Conv3d(nn::Conv3dOptions(2, 2, {2, 3, 1}).padding({1, 0, 0})), wave({1, 2, 3, 4, 3}));
  show("transposed line", nn::ConvTranspose1d(nn::ConvTranspose1dOptions(3, 2, 3).stride(2).output_padding(1)),
       wave({2, 3, 4}));
  show("transposed plane", nn::ConvTranspose2d(nn::ConvTranspose2dOptions(4, 2, {3, 2}).stride(2).padding(1).groups(2)),
       wave({1, 4, 3, 4}));
  show("transposed volume", nn::ConvTranspose3d(nn::ConvTranspose3dOptions(1, 2, 2).stride(2).dilation(2).bias(false)),
       wave({1, 1, 2, 2, 3}));

  auto up = known(nn::ConvTranspose2d(nn::ConvTranspose2dOptions(2, 1, 3).stride(2).padding(1)));
  for (const int64_t size : {7, 8}) std::cout << up(wave({1, 2, 4, 4}), std::vector<int64_t>{size, 7}).sizes() << '\n';

  const auto weight = wave({2, 3, 2}, 0.2), x = wave({1, 3, 5});
  std::cout << F::conv1d(x, weight, F::Conv1dFuncOptions().stride(2).bias(wave({2}))) << '\n';
  std::cout << F::conv2d(wave({1, 2, 3, 3}), wave({2, 1, 2, 2}), F::Conv2dFuncOptions().groups(2)) << '\n';
  std::cout << F::conv_transpose1d(x, wave({3, 1, 2}), F::ConvTranspose1dFuncOptions().stride(3)) << '\n';
  std::cout << F::conv2d(wave({1, 1, 3, 3}), wave({1, 1, 2, 2}), F::Conv2dFuncOptions().padding(torch::kSame)) << '\n';
  return 0;
}
