// Sampling of images at the places of a grid: grid_sampler, grid_sampler_2d, grid_sampler_3d, affine_grid_generator.
#pragma once
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/nn/upsample.h"

namespace tandem {

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
/// grid_sampler with the modes by name. @throws Error for modes that it does not have
Tensor grid_sample(const Tensor& x, const Tensor& grid, InterpolationMode mode, PaddingMode padding_mode,
                   bool align_corners);
}  // namespace detail

}  // namespace tandem
