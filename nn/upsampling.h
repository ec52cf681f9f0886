// Upsampling: interpolation modes, options, functional::interpolate, and the module. ops/nn/upsample.h describes the
// computation.
#pragma once
#include "tandem/core/option.h"
#include "tandem/nn/init.h"
#include "tandem/nn/module/simple_module.h"
#include "tandem/ops/nn/upsample.h"

namespace tandem::detail {
/// An InterpolationMode, or kLinear, which is a constant of nn::init but also names an interpolation mode.
struct ModeOption {
  ModeOption(InterpolationMode mode) : mode(mode) {}
  ModeOption(nn::init::Nonlinearity linear) : mode(InterpolationMode::linear) {
    TANDEM_CHECK(linear == nn::init::Nonlinearity::linear,
                 "interpolate: mode is a nonlinearity other than kLinear; accepted: kNearest, kNearestExact, kLinear, "
                 "kBilinear, kBicubic, kTrilinear and kArea");
  }
  operator InterpolationMode() const { return mode; }
  InterpolationMode mode;
};
}  // namespace tandem::detail

namespace tandem::nn {

struct UpsampleOptions {
  TANDEM_ARG_DECLARED(std::optional<std::vector<int64_t>>, size);         // output sizes of the spatial dimensions
  TANDEM_ARG_DECLARED(std::optional<std::vector<double>>, scale_factor);  // output sizes as multiples of input sizes
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::nearest;      // how values between pixels are computed
  TANDEM_ARG(std::optional<bool>, align_corners);  // if true, maps corner pixels to corner pixels
};

namespace functional {
struct InterpolateFuncOptions {
  TANDEM_ARG_DECLARED(std::optional<std::vector<int64_t>>, size);         // output sizes of the spatial dimensions
  TANDEM_ARG_DECLARED(std::optional<std::vector<double>>, scale_factor);  // output sizes as multiples of input sizes
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::nearest;      // how values between pixels are computed
  TANDEM_ARG(std::optional<bool>, align_corners);           // if true, maps corner pixels to corner pixels
  TANDEM_ARG(std::optional<bool>, recompute_scale_factor);  // if true, scale_factor becomes output size / input size
};

/// Resizes x (N, C, W), (N, C, H, W) or (N, C, D, H, W) to `size`, or to scale_factor times its sizes, rounded down.
/// Sampling positions follow from scale_factor, or from the sizes if recompute_scale_factor is true. The modes nearest,
/// nearest_exact and area (the same as adaptive_avg_pool) accept any such x. linear is for one spatial dimension,
/// bilinear and bicubic for two, trilinear for three; only these four accept align_corners.
inline Tensor interpolate(const Tensor& x, const InterpolateFuncOptions& o = {}) {
  return detail::interpolate(x, o.size(), o.scale_factor(), o.mode(), o.align_corners(),
                             o.recompute_scale_factor().value_or(false));
}
}  // namespace functional

/// Applies functional::interpolate with these options.
TANDEM_OPTION_MODULE(Upsample, UpsampleOptions, = {},
                     functional::interpolate(x, functional::InterpolateFuncOptions()
                                                    .size(options.size())
                                                    .scale_factor(options.scale_factor())
                                                    .mode(options.mode())
                                                    .align_corners(options.align_corners())));

}  // namespace tandem::nn
