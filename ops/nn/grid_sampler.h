// Sampling of images at the positions of a grid: grid_sampler, grid_sampler_2d, grid_sampler_3d, affine_grid_generator.
#pragma once
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/nn/upsample.h"

namespace tandem {

/// Samples x (N, C, H, W) at the positions of grid (N, OH, OW, 2) -> (N, C, OH, OW), or x (N, C, D, H, W) at the
/// positions of grid (N, OD, OH, OW, 3) -> (N, C, OD, OH, OW). A position is (x, y) or (x, y, z). Coordinates go from
/// -1 to 1 between the outer edges of the image, or, with align_corners, between the centres of the outermost pixels.
/// @param interpolation_mode  0 bilinear, 1 nearest, 2 bicubic (2-d images only)
/// @param padding_mode        values outside the image: 0 zeros, 1 the border pixels, 2 the mirrored image
Tensor grid_sampler(const Tensor& x, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    detail::Flag align_corners);
/// Like grid_sampler, but accept only 2-d images (grid_sampler_2d) or only 3-d images (grid_sampler_3d).
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
/// Returns the grid of an affine map, for grid_sampler: theta (N, 2, 3) and size (N, C, H, W) -> (N, H, W, 2), or theta
/// (N, 3, 4) and size (N, C, D, H, W) -> (N, D, H, W, 3).
Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, detail::Flag align_corners);

namespace detail {
/// grid_sampler with named modes. @throws Error for modes that it does not support
Tensor grid_sample(const Tensor& x, const Tensor& grid, InterpolationMode mode, PaddingMode padding_mode,
                   bool align_corners);
}  // namespace detail

}  // namespace tandem
