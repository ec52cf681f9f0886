// Images: pixels and channels in another order, patches as columns, other sizes, sampling on a grid.
#pragma once
#include <optional>

#include "tandem/ops/nn/pair.h"

namespace tandem {

/// (..., C r r, H, W) -> (..., C, H r, W r) and back: r^2 channels become squares of pixels (Shi et al. 2016).
/// @throws Error unless r^2 divides the channels, or r the height and the width
Tensor pixel_shuffle(const Tensor& x, int64_t upscale_factor);
Tensor pixel_unshuffle(const Tensor& x, int64_t downscale_factor);
/// Channels of x (N, C, ...) of `groups` groups dealt out in turn. @throws Error unless groups divides C
Tensor channel_shuffle(const Tensor& x, int64_t groups);
inline Tensor native_channel_shuffle(const Tensor& x, int64_t groups) { return channel_shuffle(x, groups); }

/// The windows of a convolution as columns: x (N, C, H, W) or (C, H, W) -> (N, C KH KW, L), L windows in row-major
/// order. col2im is its transpose: what overlaps is added up. output_size: (H, W).
Tensor im2col(const Tensor& x, detail::Pair kernel_size, detail::Pair dilation, detail::Pair padding,
              detail::Pair stride);
Tensor col2im(const Tensor& x, detail::Pair output_size, detail::Pair kernel_size, detail::Pair dilation,
              detail::Pair padding, detail::Pair stride);

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

/// x (N, C, H, W) at the places of grid (N, OH, OW, 2): (N, C, OH, OW); x (N, C, D, H, W) at those of (N, OD, OH, OW,
/// 3). A place is (x, y) or (x, y, z), from -1 to 1 over the image, with align_corners over the centres of its pixels.
/// @param interpolation_mode  0 bilinear, 1 nearest, 2 bicubic (of images only)
/// @param padding_mode        what lies outside: 0 zeros, 1 the border, 2 the image mirrored
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    detail::Flag align_corners);
/// The same, of images of two or three dimensions only.
inline Tensor grid_sampler_2d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                              detail::Flag align_corners) {
  TANDEM_CHECK(x.dim() == 4, "grid_sampler_2d: x is ", x.sizes(), "; accepted: (N, C, H, W)");
  return grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners);
}
inline Tensor grid_sampler_3d(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                              detail::Flag align_corners) {
  TANDEM_CHECK(x.dim() == 5, "grid_sampler_3d: x is ", x.sizes(), "; accepted: (N, C, D, H, W)");
  return grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners);
}
/// The grid of an affine map for grid_sampler: theta (N, 2, 3) and size (N, C, H, W) -> (N, H, W, 2), theta (N, 3, 4)
/// and size (N, C, D, H, W) -> (N, D, H, W, 3).
Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, detail::Flag align_corners);

namespace detail {
enum class Resampling { nearest, nearest_exact, linear, cubic };
/// What the upsample functions do, for op. scales: one for each of `size`, or empty.
Tensor resample(const char* op, const Tensor& x, IntArrayRef size, const std::vector<std::optional<double>>& scales,
                Resampling kind, bool align_corners);
}  // namespace detail

}  // namespace tandem
