// Grids that say where each pixel of an image comes from: checks of options.
#include "tandem/nn/vision.h"

#include "tandem/core/internal.h"

namespace tandem::nn {

Tensor functional::grid_sample(const Tensor& x, const Tensor& grid, const GridSampleFuncOptions& o) {
  const InterpolationMode mode = o.mode();
  const int64_t way = mode == InterpolationMode::bilinear  ? 0
                      : mode == InterpolationMode::nearest ? 1
                      : mode == InterpolationMode::bicubic ? 2
                                                           : -1;
  TANDEM_CHECK(way >= 0, "grid_sample: mode is ", mode_name(mode), "; accepted: bilinear, nearest and bicubic");
  const int64_t padding = o.padding_mode() == PaddingMode::zeros        ? 0
                          : o.padding_mode() == PaddingMode::border     ? 1
                          : o.padding_mode() == PaddingMode::reflection ? 2
                                                                        : -1;
  TANDEM_CHECK(padding >= 0, "grid_sample: padding_mode is none of kZeros, kBorder and kReflection");
  return grid_sampler(x, grid, way, padding, o.align_corners().value_or(false));
}

}  // namespace tandem::nn
