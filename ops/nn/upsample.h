// Images of other sizes: interpolate, upsample_nearest1d to 3d, upsample_linear1d, upsample_bilinear2d,
// upsample_bicubic2d and others.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// Images of other sizes: x (N, C, W), (N, C, H, W) or (N, C, D, H, W). Output pixel i takes its value from around the
/// input's position (i + 0.5) / scale - 0.5, or with align_corners, which maps the first and the last pixels onto each
/// other, i (in - 1) / (out - 1); nearest from floor(i / scale). A scale is output size over input size unless given.
/// bicubic: convolution with Keys' kernel, a = -0.75. Half types are computed in float32, except by nearest.
Tensor upsample_nearest1d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales = {});
Tensor upsample_nearest2d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_h = {},
                          std::optional<double> scales_w = {});
Tensor upsample_nearest3d(const Tensor& x, IntArrayRef output_size, std::optional<double> scales_d = {},
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_linear1d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                         std::optional<double> scales = {});
Tensor upsample_bilinear2d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                           std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_bicubic2d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                          std::optional<double> scales_h = {}, std::optional<double> scales_w = {});
Tensor upsample_trilinear3d(const Tensor& x, IntArrayRef output_size, detail::Flag align_corners,
                            std::optional<double> scales_d = {}, std::optional<double> scales_h = {},
                            std::optional<double> scales_w = {});

namespace detail {
enum class Resampling { nearest, nearest_exact, linear, cubic };
/// What the upsample functions do, for op. scales: one for each of `size`, or empty.
Tensor resample(const char* op, const Tensor& x, IntArrayRef size, const std::vector<std::optional<double>>& scales,
                Resampling kind, bool align_corners);
}  // namespace detail

/// Interpolation between pixels in interpolate and grid_sample; LibTorch's names are kNearest, kLinear, ...
enum class InterpolationMode { nearest, linear, bilinear, bicubic, trilinear, area, nearest_exact };
constexpr InterpolationMode kNearest = InterpolationMode::nearest, kBilinear = InterpolationMode::bilinear,
                            kBicubic = InterpolationMode::bicubic, kTrilinear = InterpolationMode::trilinear,
                            kArea = InterpolationMode::area, kNearestExact = InterpolationMode::nearest_exact;

namespace detail {
/// "nearest-exact": the mode as Python's PyTorch names it; "kNearestExact": as LibTorch does.
const char* mode_name(InterpolationMode mode, bool as_libtorch = false);
/// nn::functional::interpolate with its options as arguments.
Tensor interpolate(const Tensor& x, const std::optional<std::vector<int64_t>>& output_size,
                   const std::optional<std::vector<double>>& scale_factor, InterpolationMode mode,
                   std::optional<bool> align_corners, bool recompute_scale_factor);
}  // namespace detail

}  // namespace tandem
