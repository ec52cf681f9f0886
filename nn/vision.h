// Layers of images: upsampling, patches, pixels and channels in another order, grids. What they compute says
// ops/nn/vision.h.
#pragma once
#include <optional>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/nn/padding.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/fold.h"
#include "tandem/ops/nn/grid_sampler.h"
#include "tandem/ops/nn/pixel_shuffle.h"

namespace tandem {

/// How interpolate and grid_sample find values between pixels; LibTorch's names are kNearest, kLinear, ...
enum class InterpolationMode { nearest, linear, bilinear, bicubic, trilinear, area, nearest_exact };
constexpr InterpolationMode kNearest = InterpolationMode::nearest, kBilinear = InterpolationMode::bilinear,
                            kBicubic = InterpolationMode::bicubic, kTrilinear = InterpolationMode::trilinear,
                            kArea = InterpolationMode::area, kNearestExact = InterpolationMode::nearest_exact;

}  // namespace tandem

namespace tandem::detail {
/// An InterpolationMode, or kLinear, which is a name of nn::init as well.
struct ModeOption {
  ModeOption(InterpolationMode mode) : mode(mode) {}
  ModeOption(nn::init::Nonlinearity linear) : mode(InterpolationMode::linear) {
    TANDEM_CHECK(linear == nn::init::Nonlinearity::linear,
                 "interpolate: the mode is a nonlinearity; only kLinear is a mode too");
  }
  operator InterpolationMode() const { return mode; }
  InterpolationMode mode;
};
}  // namespace tandem::detail

namespace tandem::nn {

struct UpsampleOptions {
  TANDEM_ARG_DECLARED(std::optional<std::vector<int64_t>>, size);         // the sizes behind the channels
  TANDEM_ARG_DECLARED(std::optional<std::vector<double>>, scale_factor);  // the sizes as multiples of the old ones
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::nearest;      // how pixels in between are made
  TANDEM_ARG(std::optional<bool>, align_corners);  // whether the outermost pixels keep their places
};
struct PixelShuffleOptions {
  PixelShuffleOptions(int64_t upscale_factor) : upscale_factor_(upscale_factor) {}
  TANDEM_ARG(int64_t, upscale_factor);  // how much larger each side becomes
};
struct PixelUnshuffleOptions {
  PixelUnshuffleOptions(int64_t downscale_factor) : downscale_factor_(downscale_factor) {}
  TANDEM_ARG(int64_t, downscale_factor);  // how much smaller each side becomes
};
/// LibTorch has no ChannelShuffle; the name is that of Python's PyTorch.
struct ChannelShuffleOptions {
  ChannelShuffleOptions(int64_t groups) : groups_(groups) {}
  TANDEM_ARG(int64_t, groups);  // how many groups of channels are interleaved
};
struct FoldOptions {
  FoldOptions(detail::Pair output_size, detail::Pair kernel_size)
      : output_size_(output_size), kernel_size_(kernel_size) {}
  TANDEM_ARG(detail::Pair, output_size);   // (H, W) of the images
  TANDEM_ARG(detail::Pair, kernel_size);   // (H, W) of a patch
  TANDEM_ARG(detail::Pair, dilation) = 1;  // the step from element to element of a window
  TANDEM_ARG(detail::Pair, padding) = 0;   // zeros on each side
  TANDEM_ARG(detail::Pair, stride) = 1;    // the step from window to window
};
struct UnfoldOptions {
  UnfoldOptions(detail::Pair kernel_size) : kernel_size_(kernel_size) {}
  UnfoldOptions(int64_t kernel_size) : kernel_size_(kernel_size) {}
  TANDEM_ARG(detail::Pair, kernel_size);   // (H, W) of a patch
  TANDEM_ARG(detail::Pair, dilation) = 1;  // the step from element to element of a window
  TANDEM_ARG(detail::Pair, padding) = 0;   // zeros on each side
  TANDEM_ARG(detail::Pair, stride) = 1;    // the step from window to window
};

namespace functional {
using PixelShuffleFuncOptions = PixelShuffleOptions;
using PixelUnshuffleFuncOptions = PixelUnshuffleOptions;
using FoldFuncOptions = FoldOptions;
using UnfoldFuncOptions = UnfoldOptions;
struct InterpolateFuncOptions {
  TANDEM_ARG_DECLARED(std::optional<std::vector<int64_t>>, size);         // the sizes behind the channels
  TANDEM_ARG_DECLARED(std::optional<std::vector<double>>, scale_factor);  // the sizes as multiples of the old ones
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::nearest;      // how pixels in between are made
  TANDEM_ARG(std::optional<bool>, align_corners);           // whether the outermost pixels keep their places
  TANDEM_ARG(std::optional<bool>, recompute_scale_factor);  // whether the factors follow from the sizes, rounded
};
struct GridSampleFuncOptions {
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::bilinear;  // how pixels in between are made
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;          // what stands beyond the borders
  TANDEM_ARG(std::optional<bool>,
             align_corners);  // whether -1 and 1 are centres of pixels
};

/// x (N, C, W), (N, C, H, W) or (N, C, D, H, W) in other sizes: those of `size`, or scale_factor times x's, rounded
/// down; then places are computed from the factors, or with recompute_scale_factor from the sizes.
/// Modes: nearest, nearest_exact and area (as adaptive_avg_pool) for all of these, linear, bilinear and bicubic,
/// trilinear for one, two and three dimensions; these take align_corners.
Tensor interpolate(const Tensor& x, const InterpolateFuncOptions& o = {});

inline Tensor pixel_shuffle(const Tensor& x, const PixelShuffleOptions& o) {
  return tandem::pixel_shuffle(x, o.upscale_factor());
}
inline Tensor pixel_unshuffle(const Tensor& x, const PixelUnshuffleOptions& o) {
  return tandem::pixel_unshuffle(x, o.downscale_factor());
}
inline Tensor channel_shuffle(const Tensor& x, int64_t groups) { return tandem::channel_shuffle(x, groups); }
inline Tensor fold(const Tensor& x, const FoldOptions& o) {
  return col2im(x, o.output_size(), o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
inline Tensor unfold(const Tensor& x, const UnfoldOptions& o) {
  return im2col(x, o.kernel_size(), o.dilation(), o.padding(), o.stride());
}
/// grid_sampler with its arguments as options: modes bilinear, nearest and bicubic, padding zeros, border and
/// reflection.
Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleFuncOptions& o = {});

inline Tensor affine_grid(const Tensor& theta, IntArrayRef size, detail::Flag align_corners = false) {
  return affine_grid_generator(theta, size, align_corners);
}
}  // namespace functional

/// functional::interpolate with these options.
class UpsampleImpl : public Cloneable<UpsampleImpl> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& o = {}) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// (N, C, ...) with other sizes behind the channels.
  Tensor forward(const Tensor& x);
  UpsampleOptions options;
};
TANDEM_LIBRARY_MODULE(Upsample);
TANDEM_OPTION_MODULE(PixelShuffle, PixelShuffleOptions, , pixel_shuffle(x, options.upscale_factor()));
TANDEM_OPTION_MODULE(PixelUnshuffle, PixelUnshuffleOptions, , pixel_unshuffle(x, options.downscale_factor()));
TANDEM_OPTION_MODULE(ChannelShuffle, ChannelShuffleOptions, , channel_shuffle(x, options.groups()));
TANDEM_OPTION_MODULE(Unfold, UnfoldOptions, , functional::unfold(x, options));
/// The opposite of Unfold, where windows do not overlap; where they do, their elements are added up.
class FoldImpl : public Cloneable<FoldImpl> {
 public:
  FoldImpl(detail::Pair output_size, detail::Pair kernel_size) : FoldImpl(FoldOptions(output_size, kernel_size)) {}
  explicit FoldImpl(const FoldOptions& o) : options(o) {}
  void reset() override;
  void pretty_print(std::ostream& out) const override;
  /// (N, C KH KW, L) -> (N, C, H, W)
  Tensor forward(const Tensor& x) { return functional::fold(x, options); }
  FoldOptions options;
};
TANDEM_LIBRARY_MODULE(Fold);

}  // namespace tandem::nn
