// Image layers: upsampling and interpolation, pixel shuffles, Fold and Unfold, grids and affine maps.
#include <torch/torch.h>

#include <iostream>
#include <vector>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

torch::Tensor wave(torch::IntArrayRef sizes, double step = 0.7) {
  int64_t count = 1;
  for (const auto size : sizes) count *= size;
  return (torch::arange(count, torch::kFloat64) * step + 0.3).sin().view(sizes);
}

template <class M> void show(M module, torch::Tensor x) {
  x.set_requires_grad(true);
  const torch::Tensor y = module(x);
  y.square().sum().backward();
  std::cout << y << '\n' << x.grad() << '\n';
}

void sizes_changed() {
  using Scales = std::vector<double>;
  using Sizes = std::vector<int64_t>;
  show(nn::Upsample(nn::UpsampleOptions().scale_factor(Scales({2})).mode(torch::kNearest)), wave({1, 2, 3}));
  show(nn::Upsample(nn::UpsampleOptions().scale_factor(Scales({2})).mode(torch::kLinear).align_corners(true)),
       wave({1, 2, 3}));
  show(nn::Upsample(nn::UpsampleOptions().size(Sizes({3, 5})).mode(torch::kBilinear).align_corners(false)),
       wave({1, 1, 2, 3}));
  show(nn::Upsample(nn::UpsampleOptions().scale_factor(Scales({1.5, 2})).mode(torch::kBicubic).align_corners(false)),
       wave({1, 1, 4, 3}));
  show(nn::Upsample(nn::UpsampleOptions().scale_factor(Scales({2, 1, 2})).mode(torch::kTrilinear).align_corners(true)),
       wave({1, 1, 2, 2, 2}));
  const auto x = wave({1, 1, 4, 6});
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(Sizes({2, 3})).mode(torch::kArea)) << '\n';
  std::cout << F::interpolate(x,
                              F::InterpolateFuncOptions().scale_factor(Scales({0.5, 0.5})).recompute_scale_factor(true))
            << '\n';
  std::cout << F::interpolate(x, F::InterpolateFuncOptions().size(Sizes({5, 5})).mode(torch::kNearestExact)) << '\n';
}

void rearranged() {
  show(nn::PixelShuffle(2), wave({1, 4, 2, 3}));
  show(nn::PixelUnshuffle(nn::PixelUnshuffleOptions(2)), wave({1, 1, 4, 4}));
  show(nn::Unfold(nn::UnfoldOptions({2, 3}).padding({1, 0}).stride({1, 2}).dilation(1)), wave({1, 2, 3, 5}));
  show(nn::Fold(nn::FoldOptions({4, 5}, {2, 2}).padding(1).stride({2, 1})), wave({1, 8, 18}));
  std::cout << F::unfold(wave({1, 1, 3, 3}), F::UnfoldFuncOptions({2, 2})) << '\n';
  std::cout << torch::channel_shuffle(wave({1, 4, 1, 2}), 2) << '\n';
  show(nn::Flatten(nn::FlattenOptions().start_dim(1).end_dim(2)), wave({2, 2, 2, 2}));
  show(nn::Unflatten(nn::UnflattenOptions(1, {2, 2})), wave({2, 4}));
}

void grids() {
  const auto theta = torch::tensor({{{0.8, 0.1, 0.05}, {-0.2, 0.9, 0.1}}}, torch::kFloat64);
  const auto x = wave({1, 2, 3, 4});
  for (const bool corners : {false, true}) {
    const auto grid = F::affine_grid(theta, {1, 2, 3, 3}, corners);
    std::cout << grid << '\n';
    const auto linear = [&](auto padding) {
      const auto options =
          F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(padding).align_corners(corners);
      std::cout << F::grid_sample(x, grid * 1.3, options) << '\n';
    };
    linear(torch::kZeros);
    linear(torch::kBorder);
    linear(torch::kReflection);
    std::cout << F::grid_sample(x, grid, F::GridSampleFuncOptions().mode(torch::kNearest).align_corners(corners))
              << '\n';
  }
}

int main() {
  sizes_changed();
  rearranged();
  grids();
  return 0;
}
