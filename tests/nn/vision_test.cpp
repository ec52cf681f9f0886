// Tests image layers: that each option has its effect, output sizes from scale factors, how they print, and errors.
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/tests/catch.h"

namespace tandem {
namespace F = nn::functional;

static std::string vision_text(const nn::Module& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}
using Interpolate = F::InterpolateFuncOptions;

TEST_CASE("interpolate takes sizes or factors, in every mode", "[nn][vision]") {
  manual_seed(51);
  const Tensor line = randn({2, 3, 5}), plane = randn({2, 3, 4, 5}), volume = randn({2, 3, 2, 3, 4});
  const auto sized = [](std::vector<int64_t> size) { return Interpolate().size(size); };
  const auto scaled = [](std::vector<double> factors) { return Interpolate().scale_factor(factors); };
  CHECK(F::interpolate(line, sized({8})).equal(upsample_nearest1d(line, 8)));
  CHECK(F::interpolate(plane, scaled({1.6, 1.7})).equal(upsample_nearest2d(plane, {6, 8}, 1.6, 1.7)));
  CHECK(
      F::interpolate(plane, scaled({1.6, 1.7}).recompute_scale_factor(true)).equal(upsample_nearest2d(plane, {6, 8})));
  CHECK(F::interpolate(volume, sized({4, 2, 3})).equal(upsample_nearest3d(volume, {4, 2, 3})));
  CHECK(F::interpolate(line, scaled({2}).mode(kLinear)).equal(upsample_linear1d(line, 10, false, 2)));
  CHECK(F::interpolate(plane, sized({7, 3}).mode(kBilinear).align_corners(true))
            .equal(upsample_bilinear2d(plane, {7, 3}, true)));
  CHECK(F::interpolate(plane, scaled({1.3, 1.1}).mode(kBicubic).align_corners(false))
            .equal(upsample_bicubic2d(plane, {5, 5}, false, 1.3, 1.1)));
  CHECK(
      F::interpolate(volume, sized({3, 3, 3}).mode(kTrilinear)).equal(upsample_trilinear3d(volume, {3, 3, 3}, false)));
  CHECK(F::interpolate(line, sized({2}).mode(kArea)).equal(adaptive_avg_pool1d(line, 2)));
  CHECK(F::interpolate(plane, sized({3, 2}).mode(kArea)).equal(adaptive_avg_pool2d(plane, {3, 2})));
  CHECK(F::interpolate(volume, scaled({0.5, 1, 0.5}).mode(kArea)).equal(adaptive_avg_pool3d(volume, {1, 3, 2})));
  // Downsampling three pixels to one: nearest-exact takes the middle pixel, nearest takes the first.
  const Tensor three = tensor({{{1.0, 2.0, 3.0}}});
  CHECK(F::interpolate(three, sized({1}).mode(kNearestExact)).item<double>() == 2);
  CHECK(F::interpolate(three, sized({1})).item<double>() == 1);
  CHECK(F::interpolate(three.to(kUInt8), sized({6})).equal(tensor({{{1, 1, 2, 2, 3, 3}}}).to(kUInt8)));
  CHECK(nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 3}).mode(kBilinear).align_corners(true))(
            plane)
            .equal(upsample_bilinear2d(plane, {8, 15}, true)));
}

TEST_CASE("upsampling keeps channels last, and half types their dtype", "[nn][vision]") {
  const Tensor x = randn({2, 3, 4, 5}).to(kChannelsLast);
  CHECK(upsample_bilinear2d(x, {6, 6}, false).suggest_memory_format() == kChannelsLast);
  CHECK(upsample_bilinear2d(x, {4, 5}, false).equal(x));
  CHECK(upsample_bilinear2d(x, {4, 5}, false).data_ptr() != x.data_ptr());
  CHECK(upsample_bicubic2d(x.to(kHalf), {6, 6}, false).dtype() == kHalf);
}

TEST_CASE("interpolate names what it does not take", "[nn][vision]") {
  const Tensor plane = zeros({1, 1, 4, 4});
  CHECK_THROWS_WITH(F::interpolate(plane), Contains("either size or scale_factor should be defined"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().size({{2}})),
                    Contains("Input and output must have the same number of spatial dimensions"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().scale_factor({{2.0}})),
                    Contains("Input and scale_factor must have the same number of spatial dimensions"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().size({{2, 2}}).mode(kTrilinear)),
                    Contains("Got 4D input, but trilinear mode needs 5D input"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().size({{2, 2}}).align_corners(true)),
                    Contains("align_corners option can only be set with the interpolating modes"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().size({{2, 0}})),
                    Contains("Input and output sizes should be greater than 0"));
  CHECK_THROWS_WITH(F::interpolate(plane, Interpolate().size({{2, 2}}).recompute_scale_factor(true)),
                    Contains("recompute_scale_factor is not meaningful with an explicit size."));
  CHECK_THROWS_WITH(Interpolate().mode(kReLU), Contains("mode is a nonlinearity other than kLinear"));
  CHECK_THROWS_WITH(upsample_nearest2d(plane, 3),
                    Contains("upsample_nearest2d: It is expected output_size equals to 2, but got size 1"));
}

TEST_CASE("pixels, channels and patches go there and back", "[nn][vision]") {
  manual_seed(52);
  const Tensor x = randn({2, 8, 4, 6});
  const Tensor shuffled = nn::PixelShuffle(2)(x);
  CHECK(shuffled.sizes() == IntArrayRef{2, 2, 8, 12});
  CHECK(shuffled[1][1][3][4].equal(x[1][6][1][2]));  // channel 1 * 4 + (3 % 2) * 2 + 4 % 2
  CHECK(nn::PixelUnshuffle(2)(shuffled).equal(x));
  const Tensor dealt = nn::ChannelShuffle(2)(x);
  CHECK(dealt.select(1, 1).equal(x.select(1, 4)));
  CHECK(F::channel_shuffle(dealt, 4).equal(x));
  const auto window = nn::UnfoldOptions({2, 3}).stride({2, 3});
  const Tensor columns = nn::Unfold(window)(x);
  CHECK(columns.sizes() == IntArrayRef{2, 48, 4});
  CHECK(nn::Fold(nn::FoldOptions({4, 6}, {2, 3}).stride({2, 3}))(columns).equal(x));
  // If windows overlap, fold adds an element once for each window that contains it: once in the corner, 4 times in the
  // middle.
  const Tensor counted = F::fold(F::unfold(ones({1, 1, 3, 3}), 2), F::FoldFuncOptions(3, 2));
  CHECK(counted.equal(tensor({{{{1.f, 2.f, 1.f}, {2.f, 4.f, 2.f}, {1.f, 2.f, 1.f}}}})));
  CHECK_THROWS_WITH(pixel_shuffle(x, 3),
                    Contains("divisible by the square of upscale_factor, but input.size(-3)=8 is not divisible by 9"));
  CHECK_THROWS_WITH(pixel_unshuffle(x, 4), Contains("pixel_unshuffle expects width to be divisible by "
                                                    "downscale_factor, but input.size(-1)=6 is not divisible by 4"));
  CHECK_THROWS_WITH(channel_shuffle(x, 3),
                    Contains("Number of channels must be divisible by groups. Got 8 channels and 3 groups."));
  CHECK_THROWS_WITH(
      F::unfold(x, 7),
      Contains("im2col: kernel_size 7 with dilation 1 spans 7 elements, which is larger than the padded size 4"));
  CHECK_THROWS_WITH(F::fold(columns, F::FoldFuncOptions(5, 2)),
                    Contains("the calculated number of sliding blocks 4 * 4 = 16, but got input.size(2)=4"));
}

TEST_CASE("an affine grid samples the image that it maps", "[nn][vision]") {
  const Tensor x = arange(12, kFloat64).reshape({1, 1, 3, 4});
  const Tensor identity = tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}, kFloat64),
               flipped = identity * tensor({-1.0, 1.0, 1.0}, kFloat64);
  const auto options = F::GridSampleFuncOptions().align_corners(false);
  CHECK(F::grid_sample(x, F::affine_grid(identity, x.sizes()), options).allclose(x));
  CHECK(F::grid_sample(x, F::affine_grid(flipped, x.sizes()), options).allclose(x.flip({3})));
  const auto exact = F::GridSampleFuncOptions().mode(kNearest).padding_mode(kBorder).align_corners(true);
  // moves the sampling grid by one image width to the right
  const Tensor moved = identity + tensor({{{0.0, 0.0, 2.0}, {0.0, 0.0, 0.0}}}, kFloat64);
  CHECK(F::grid_sample(x, F::affine_grid(moved, x.sizes(), true), exact).equal(x.narrow(3, 3, 1).expand({1, 1, 3, 4})));
  auto mirrored = exact;
  CHECK(F::grid_sample(x, F::affine_grid(moved, x.sizes(), true), mirrored.padding_mode(kReflection).mode(kBilinear))
            .allclose(x.flip({3})));
  CHECK(F::grid_sample(x, full({1, 1, 1, 2}, 9.0, kFloat64)).item<double>() == 0);
  CHECK_THROWS_WITH(F::grid_sample(x, zeros({1, 3, 4, 3}, kFloat64)),
                    Contains("expected grid to have size 2 in last dimension, but got grid with sizes (1, 3, 4, 3)"));
  CHECK_THROWS_WITH(F::grid_sample(x, zeros({1, 1, 1, 2}, kFloat64), F::GridSampleFuncOptions().mode(kArea)),
                    Contains("expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: 'area'"));
  CHECK_THROWS_WITH(F::grid_sample(x, zeros({1, 1, 1, 2}, kFloat64), F::GridSampleFuncOptions().padding_mode(kReflect)),
                    Contains("expected padding_mode to be 'zeros', 'border', or 'reflection', but got: 'reflect'"));
  CHECK_THROWS_WITH(
      F::affine_grid(identity, {2, 1, 3, 4}),
      Contains("Expected a batch of 2D affine matrices of shape Nx2x3 for size (2, 1, 3, 4). Got (1, 2, 3)"));
}

TEST_CASE("layers of images print as Python's", "[nn][vision]") {
  CHECK(vision_text(*nn::Upsample(nn::UpsampleOptions().scale_factor(std::vector<double>{2, 1.5}))) ==
        "Upsample(scale_factor=(2.0, 1.5), mode='nearest')");
  CHECK(vision_text(*nn::Upsample(nn::UpsampleOptions().size(std::vector<int64_t>{2, 3}).mode(kBilinear))) ==
        "Upsample(size=(2, 3), mode='bilinear')");
  CHECK(vision_text(*nn::PixelShuffle(2)) == "PixelShuffle(upscale_factor=2)");
  CHECK(vision_text(*nn::PixelUnshuffle(2)) == "PixelUnshuffle(downscale_factor=2)");
  CHECK(vision_text(*nn::ChannelShuffle(2)) == "ChannelShuffle(groups=2)");
  CHECK(vision_text(*nn::Unfold(2)) == "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)");
  CHECK(vision_text(*nn::Fold(4, 2)) == "Fold(output_size=4, kernel_size=2, dilation=1, padding=0, stride=1)");
}

}  // namespace tandem
