// functional::grid_sample and affine_grid: sampling of images at the positions in a grid. LibTorch has a file of the
// same name. ops/nn/grid_sampler.h describes the computation.
#pragma once
#include <optional>

#include "tandem/core/option.h"
#include "tandem/nn/padding.h"
#include "tandem/nn/upsampling.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/grid_sampler.h"

namespace tandem::nn::functional {

struct GridSampleFuncOptions {
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::bilinear;  // how values between pixels are computed
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;          // values used outside the image
  TANDEM_ARG(std::optional<bool>, align_corners);  // if true, -1 and 1 are the centres of the corner pixels
};

/// Same as grid_sampler, with options: modes bilinear, nearest and bicubic; padding modes zeros, border and reflection.
inline Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleFuncOptions& o = {}) {
  return detail::grid_sample(x, grid, o.mode(), o.padding_mode(), o.align_corners().value_or(false));
}

inline Tensor affine_grid(const Tensor& theta, IntArrayRef size, detail::Flag align_corners = false) {
  return affine_grid_generator(theta, size, align_corners);
}

}  // namespace tandem::nn::functional
