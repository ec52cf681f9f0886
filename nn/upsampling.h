// Upsampling: modes of interpolation, options, functional::interpolate, the module. What it computes says
// ops/nn/upsample.h.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/upsample.h"

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

namespace functional {
struct InterpolateFuncOptions {
  TANDEM_ARG_DECLARED(std::optional<std::vector<int64_t>>, size);         // the sizes behind the channels
  TANDEM_ARG_DECLARED(std::optional<std::vector<double>>, scale_factor);  // the sizes as multiples of the old ones
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::nearest;      // how pixels in between are made
  TANDEM_ARG(std::optional<bool>, align_corners);           // whether the outermost pixels keep their places
  TANDEM_ARG(std::optional<bool>, recompute_scale_factor);  // whether the factors follow from the sizes, rounded
};

/// x (N, C, W), (N, C, H, W) or (N, C, D, H, W) in other sizes: those of `size`, or scale_factor times x's, rounded
/// down; then places are computed from the factors, or with recompute_scale_factor from the sizes.
/// Modes: nearest, nearest_exact and area (as adaptive_avg_pool) for all of these, linear, bilinear and bicubic,
/// trilinear for one, two and three dimensions; these take align_corners.
inline Tensor interpolate(const Tensor& x, const InterpolateFuncOptions& o = {}) {
  return detail::interpolate(x, o.size(), o.scale_factor(), o.mode(), o.align_corners(),
                             o.recompute_scale_factor().value_or(false));
}
}  // namespace functional

/// functional::interpolate with these options.
TANDEM_OPTION_MODULE(Upsample, UpsampleOptions, = {},
                     functional::interpolate(x, functional::InterpolateFuncOptions()
                                                    .size(options.size())
                                                    .scale_factor(options.scale_factor())
                                                    .mode(options.mode())
                                                    .align_corners(options.align_corners())));

}  // namespace tandem::nn
