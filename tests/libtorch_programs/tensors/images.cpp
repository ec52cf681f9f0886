// Padding, resizing, sampling and windows of images.
#include <torch/torch.h>

#include <iostream>
#include <vector>

namespace F = torch::nn::functional;

int main() {
  const torch::Tensor x = torch::arange(9, torch::kFloat64).reshape({1, 1, 3, 3});
  std::cout << F::pad(x, F::PadFuncOptions({1, 2})) << "\n"
            << F::pad(x, F::PadFuncOptions({1, 0, 0, 1}).value(-1)) << "\n";
  std::cout << F::pad(x, F::PadFuncOptions({1, 1, 1, 1}).mode(torch::kReflect)) << "\n";
  std::cout << F::pad(x, F::PadFuncOptions({2, 1, 0, 1}).mode(torch::kReplicate)) << "\n";
  std::cout << F::pad(x, F::PadFuncOptions({1, 1, 2, 0}).mode(torch::kCircular)) << "\n"
            << F::pad(x, F::PadFuncOptions({-1, 0})) << "\n";
  std::cout << torch::constant_pad_nd(torch::arange(3), {1, 1}, 7) << "\n"
            << torch::pad(x, {0, 1}, "constant", 5) << "\n";
  const std::vector<int64_t> size = {4, 5};
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(size).mode(torch::kNearest)) << "\n";
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(size).mode(torch::kBilinear).align_corners(true))
            << "\n";
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(size).mode(torch::kBilinear).align_corners(false))
            << "\n";
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(size).mode(torch::kBicubic).align_corners(false))
            << "\n";
  std::cout << F::interpolate(
                   x, F::InterpolateFuncOptions().scale_factor(std::vector<double>({2.0, 1.0})).mode(torch::kNearest))
            << "\n";
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>({2, 2})).mode(torch::kArea))
            << "\n";
  std::cout << F::interpolate(
                   x[0],
                   F::InterpolateFuncOptions().size(std::vector<int64_t>({5})).mode(torch::kLinear).align_corners(true))
            << "\n";
  const torch::Tensor theta = torch::tensor({{{0.5, 0.0, 0.25}, {0.0, 1.0, -0.5}}}, torch::kFloat64);
  const torch::Tensor grid = F::affine_grid(theta, {1, 1, 2, 3}, /*align_corners=*/true);
  std::cout << grid << "\n" << F::affine_grid(theta, {1, 1, 2, 2}, false) << "\n";
  std::cout << F::grid_sample(x, grid, F::GridSampleFuncOptions().align_corners(true)) << "\n";
  std::cout << F::grid_sample(
                   x, grid,
                   F::GridSampleFuncOptions().mode(torch::kNearest).padding_mode(torch::kBorder).align_corners(true))
            << "\n";
  std::cout
      << F::grid_sample(
             x, grid,
             F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kReflection).align_corners(false))
      << "\n";
  const torch::Tensor columns = F::unfold(x, F::UnfoldFuncOptions(2));
  std::cout << columns << "\n" << F::fold(columns, F::FoldFuncOptions({3, 3}, {2, 2})) << "\n";
  std::cout << F::unfold(x, F::UnfoldFuncOptions({2, 3}).padding({1, 0}).stride({2, 1})) << "\n";
  std::cout << F::max_pool2d(x, F::MaxPool2dFuncOptions(2).stride(1)) << "\n"
            << F::avg_pool2d(x, F::AvgPool2dFuncOptions(2).padding(1)) << "\n";
  std::cout << std::get<1>(F::max_pool2d_with_indices(x, F::MaxPool2dFuncOptions(2).stride(1))) << "\n";
  std::cout << F::adaptive_avg_pool2d(x, F::AdaptiveAvgPool2dFuncOptions({2, 1})) << "\n"
            << F::lp_pool2d(x, F::LPPool2dFuncOptions(2, 3)) << "\n";
  std::cout << F::conv2d(x, torch::ones({1, 1, 2, 2}, torch::kFloat64), F::Conv2dFuncOptions().padding(1).stride(2))
            << "\n";
  std::cout << F::conv_transpose2d(x, torch::ones({1, 1, 2, 2}, torch::kFloat64),
                                   F::ConvTranspose2dFuncOptions().stride(2))
                   .sizes()
            << "\n";
  std::cout << F::one_hot(torch::tensor({0, 2})) << "\n"
            << F::normalize(x[0][0], F::NormalizeFuncOptions().p(1).dim(0)) << "\n";
  std::cout << F::pixel_shuffle(torch::arange(4.0).reshape({1, 4, 1, 1}), F::PixelShuffleFuncOptions(2)) << "\n";
  return 0;
}
