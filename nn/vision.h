// Grids that say where each pixel of an image comes from: functional::grid_sample and affine_grid, which LibTorch has
// in a file of this name. What they compute says ops/nn/grid_sampler.h.
#pragma once
#include <optional>

#include "tandem/core/option.h"
#include "tandem/nn/padding.h"
#include "tandem/nn/upsampling.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/grid_sampler.h"

namespace tandem::nn::functional {

struct GridSampleFuncOptions {
  TANDEM_ARG(detail::ModeOption, mode) = InterpolationMode::bilinear;  // how pixels in between are made
  TANDEM_ARG(PaddingMode, padding_mode) = PaddingMode::zeros;          // what stands beyond the borders
  TANDEM_ARG(std::optional<bool>, align_corners);                      // whether -1 and 1 are centres of pixels
};

/// grid_sampler with its arguments as options: modes bilinear, nearest and bicubic, padding zeros, border and
/// reflection.
inline Tensor grid_sample(const Tensor& x, const Tensor& grid, const GridSampleFuncOptions& o = {}) {
  return detail::grid_sample(x, grid, o.mode(), o.padding_mode(), o.align_corners().value_or(false));
}

inline Tensor affine_grid(const Tensor& theta, IntArrayRef size, detail::Flag align_corners = false) {
  return affine_grid_generator(theta, size, align_corners);
}

}  // namespace tandem::nn::functional
