// Pooling: maximum, average, power-average, adaptive and fractional pooling, and unpooling.
#include <torch/torch.h>

#include <iostream>
#include <string>
#include <vector>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * 0.7 + 0.3).sin().view(sizes);
}

template <class M> void show(const std::string& name, M module, torch::Tensor x) {
  x.set_requires_grad(true);
  const torch::Tensor y = module(x);
  (y * y).sum().backward();
  std::cout << "== " << name << '\n' << y.sizes() << '\n' << y.flatten().slice(0, 0, 12) << '\n';
  std::cout << x.grad().flatten().slice(0, 0, 12) << '\n';
}

void maxima() {
  show("MaxPool1d", nn::MaxPool1d(nn::MaxPool1dOptions(3).stride(2)), wave({1, 2, 9}));
  show("MaxPool2d", nn::MaxPool2d(nn::MaxPool2dOptions({3, 2}).stride({2, 1}).padding({1, 0})), wave({1, 2, 5, 6}));
  show("dilated", nn::MaxPool2d(nn::MaxPool2dOptions(2).dilation(2).ceil_mode(true)), wave({1, 1, 6, 7}));
  show("MaxPool3d", nn::MaxPool3d(2), wave({1, 1, 4, 4, 5}));
  auto [largest, where] = nn::MaxPool2d(2)->forward_with_indices(wave({1, 1, 4, 6}));
  std::cout << largest << '\n' << where << '\n' << nn::MaxUnpool2d(2)(largest, where) << '\n';
  std::cout << nn::MaxUnpool2d(nn::MaxUnpool2dOptions(2))(largest, where, std::vector<int64_t>{1, 1, 5, 7}) << '\n';
  auto [line, places] = F::max_pool1d_with_indices(wave({1, 2, 8}), F::MaxPool1dFuncOptions(2));
  std::cout << places << '\n' << F::max_unpool1d(line, places, F::MaxUnpool1dFuncOptions(2)) << '\n';
  auto [volume, voxels] = nn::MaxPool3d(2)->forward_with_indices(wave({1, 1, 2, 4, 4}));
  std::cout << voxels << '\n' << nn::MaxUnpool3d(2)(volume, voxels) << '\n';
}

void averages() {
  show("AvgPool1d", nn::AvgPool1d(nn::AvgPool1dOptions(3).stride(2).padding(1).count_include_pad(false)),
       wave({1, 2, 8}));
  show("AvgPool2d", nn::AvgPool2d(nn::AvgPool2dOptions({2, 3}).ceil_mode(true).divisor_override(5)),
       wave({1, 1, 5, 7}));
  show("AvgPool3d", nn::AvgPool3d(nn::AvgPool3dOptions(2).stride({1, 2, 2})), wave({1, 1, 3, 4, 4}));
  show("LPPool1d", nn::LPPool1d(nn::LPPool1dOptions(2, 3).stride(2)), wave({1, 2, 7}));
  show("LPPool2d", nn::LPPool2d(nn::LPPool2dOptions(2, std::vector<int64_t>({2, 3}))), wave({1, 2, 4, 6}));
  show("LPPool3d", nn::LPPool3d(nn::LPPool3dOptions(2, std::vector<int64_t>({2, 2, 1}))), wave({1, 1, 4, 4, 2}));
}

void adaptive() {
  show("AdaptiveMaxPool1d", nn::AdaptiveMaxPool1d(3), wave({1, 2, 7}));
  show("AdaptiveMaxPool2d", nn::AdaptiveMaxPool2d(nn::AdaptiveMaxPool2dOptions({3, 2})), wave({1, 2, 5, 7}));
  show("AdaptiveMaxPool3d", nn::AdaptiveMaxPool3d(nn::AdaptiveMaxPool3dOptions({2, std::nullopt, 3})),
       wave({1, 1, 3, 2, 4}));
  show("AdaptiveAvgPool1d", nn::AdaptiveAvgPool1d(4), wave({1, 2, 7}));
  show("AdaptiveAvgPool2d", nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({2, std::nullopt})), wave({1, 1, 5, 4}));
  show("AdaptiveAvgPool3d", nn::AdaptiveAvgPool3d(2), wave({1, 1, 3, 4, 5}));
  const auto pooled = F::adaptive_max_pool2d_with_indices(wave({1, 1, 6, 6}), F::AdaptiveMaxPool2dFuncOptions(2));
  std::cout << std::get<0>(pooled) << '\n' << std::get<1>(pooled) << '\n';
}

void fractional() {
  const auto places = torch::tensor({{{0.1, 0.7}, {0.6, 0.2}}}, torch::kFloat64);
  nn::FractionalMaxPool2d plane(nn::FractionalMaxPool2dOptions(2).output_size(3)._random_samples(places));
  const auto [y, where] = plane->forward_with_indices(wave({1, 2, 7, 7}));
  std::cout << y << '\n' << where << '\n';
  const auto corners = torch::tensor({{{0.1, 0.7, 0.4}}}, torch::kFloat64);
  nn::FractionalMaxPool3d volume(
      nn::FractionalMaxPool3dOptions(2).output_ratio(std::vector<double>({0.5, 0.5, 0.5}))._random_samples(corners));
  std::cout << volume(wave({1, 1, 6, 6, 6})) << '\n';
}

int main() {
  maxima();
  averages();
  adaptive();
  fractional();
  return 0;
}
