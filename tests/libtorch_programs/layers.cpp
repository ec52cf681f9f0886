// Losses, pooling, padding, normalization and image layers, as LibTorch programs use them. Prints the sizes of their
// results.
#include <torch/nn/functional/vision.h>
#include <torch/nn/modules/loss.h>
#include <torch/torch.h>

#include <iostream>

namespace F = torch::nn::functional;
using namespace torch::nn;

namespace {
void show(const char* what, const torch::Tensor& y) { std::cout << what << ' ' << y.sizes() << '\n'; }

void losses() {
  const auto x = torch::randn({4, 3}), y = torch::rand({4, 3});
  KLDivLoss divergence(KLDivLossOptions().reduction(torch::kBatchMean).log_target(true));
  show("KLDivLoss", divergence(x.log_softmax(1), y.log_softmax(1)));
  show("KLDivLoss", KLDivLoss(KLDivLossOptions(torch::kNone))(x.log_softmax(1), y));
  TripletMarginWithDistanceLoss triplet(
      TripletMarginWithDistanceLossOptions()
          .distance_function([&](const torch::Tensor& a, const torch::Tensor& b) { return (a - b).abs().sum({1}); })
          .margin(1.5)
          .swap(true)
          .reduction(torch::kNone));
  show("TripletMarginWithDistanceLoss", triplet(x, y, x + y));
  MultiMarginLoss margin(MultiMarginLossOptions().margin(2).weight(torch::ones({3})));
  show("MultiMarginLoss", margin(x, torch::tensor({0, 2, 1, 1}, torch::kLong)));
  CTCLoss spelling(CTCLossOptions().blank(2).zero_infinity(false).reduction(torch::kSum));
  show("CTCLoss", spelling(x.log_softmax(1).unsqueeze(1), torch::tensor({{0, 1}}, torch::kLong),
                           torch::tensor({4}, torch::kLong), torch::tensor({2}, torch::kLong)));
  show("huber_loss", torch::huber_loss(x, y, torch::Reduction::None, 0.5));
  show("cross_entropy", F::cross_entropy(x, y, F::CrossEntropyFuncOptions().label_smoothing(0.1)));
}

void pools_and_paddings() {
  const auto line = torch::randn({2, 3, 9}), plane = torch::randn({2, 3, 8, 9}), volume = torch::randn({2, 3, 5, 6, 7});
  show("MaxPool1d", MaxPool1d(MaxPool1dOptions(3).stride(2))(line));
  show("MaxPool3d", MaxPool3d(MaxPool3dOptions({3, 2, 2}).stride({2, 1, 2}))(volume));
  show("AvgPool1d", AvgPool1d(AvgPool1dOptions(3).stride(2))(line));
  show("AdaptiveMaxPool3d", AdaptiveMaxPool3d(AdaptiveMaxPool3dOptions({5, torch::nullopt, 7}))(volume));
  show("AdaptiveAvgPool2d", AdaptiveAvgPool2d(AdaptiveAvgPool2dOptions({torch::nullopt, 5}))(plane));
  show("LPPool2d", LPPool2d(LPPool2dOptions(1, std::vector<int64_t>({3, 4})).stride({5, 6}).ceil_mode(true))(plane));
  torch::Tensor y, indices;
  std::tie(y, indices) = F::max_pool2d_with_indices(plane, F::MaxPool2dFuncOptions(3).stride(2).padding(1));
  show("max_unpool2d", F::max_unpool2d(y, indices,
                                       F::MaxUnpool2dFuncOptions(3).stride(2).padding(1).output_size(
                                           std::vector<int64_t>({2, 3, 8, 9}))));
  show("ReflectionPad2d", ReflectionPad2d(ReflectionPad2dOptions({1, 1, 2, 0}))(plane));
  show("ConstantPad1d", ConstantPad1d(ConstantPad1dOptions({3, 1}, 3.5))(line));
  show("pad", F::pad(plane, F::PadFuncOptions({1, 2, 2, 1}).mode(torch::kReplicate)));
  show("Conv2d", Conv2d(Conv2dOptions(3, 4, 3).padding(1).padding_mode(torch::kCircular))(plane));
}

void norms_and_images() {
  const auto line = torch::randn({2, 4, 9}), plane = torch::randn({2, 4, 8, 9}), volume = torch::randn({2, 4, 5, 6, 7});
  show("GroupNorm", GroupNorm(GroupNormOptions(2, 4).eps(2e-5).affine(false))(plane));
  show("InstanceNorm2d", InstanceNorm2d(InstanceNorm2dOptions(4).eps(0.5).track_running_stats(true))(plane));
  show("LocalResponseNorm", LocalResponseNorm(LocalResponseNormOptions(2).alpha(0.0002).beta(0.85).k(2.))(line));
  show("BatchNorm3d", BatchNorm3d(BatchNorm3dOptions(4))(volume));
  show("normalize", F::normalize(line, F::NormalizeFuncOptions().p(1).dim(-1)));
  show("FeatureAlphaDropout", FeatureAlphaDropout(FeatureAlphaDropoutOptions().p(0.3))(plane));
  Upsample upsample(
      UpsampleOptions().scale_factor(std::vector<double>({3, 3})).mode(torch::kBilinear).align_corners(false));
  show("Upsample", upsample(plane));
  show("interpolate",
       F::interpolate(line, F::InterpolateFuncOptions().size(std::vector<int64_t>({4})).mode(torch::kLinear)));
  show("Unfold", Unfold(UnfoldOptions({2, 2}).dilation(1).padding({2, 1}).stride(2))(plane));
  show("Fold", Fold(FoldOptions({8, 8}, {3, 3}).dilation(2).padding({2, 1}).stride(2))(torch::randn({2, 18, 12})));
  show("PixelShuffle", PixelShuffle(PixelShuffleOptions(2))(plane));
  const auto grid = F::affine_grid(torch::ones({2, 2, 3}), {2, 4, 5, 6}, false);
  show("grid_sample",
       F::grid_sample(
           plane, grid,
           F::GridSampleFuncOptions().mode(torch::kBilinear).padding_mode(torch::kReflection).align_corners(true)));
}
}  // namespace

int main() {
  losses();
  pools_and_paddings();
  norms_and_images();
}
