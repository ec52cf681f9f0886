// Resizing of images with antialiasing, as in torchvision.transforms.v2.functional.
#pragma once
#include "tandem/ops/nn/upsample.h"

namespace tandem::data::transforms::functional {

/// Resizes an image (..., C, H, W) to height x width.
/// @param interpolation  nearest, nearest_exact, bilinear, bicubic or area
/// @param antialias      if true, bilinear and bicubic average over all pixels that a pixel of the result covers, as
///                       nn.functional.interpolate(antialias=True) does in PyTorch and Pillow does, and record no
///                       gradient; the other modes ignore it
/// Images of dtypes other than float32 and float64 are computed in float32; integers are rounded.
Tensor resize(const Tensor& image, int64_t height, int64_t width,
              InterpolationMode interpolation = InterpolationMode::bilinear, bool antialias = true);
/// Resizes an image so that its shorter edge becomes `edge` long and the aspect ratio stays.
Tensor resize_shorter_edge(const Tensor& image, int64_t edge,
                           InterpolationMode interpolation = InterpolationMode::bilinear, bool antialias = true);
/// Crops an image as crop() does, and resizes the part.
Tensor resized_crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width,
                    int64_t output_height, int64_t output_width,
                    InterpolationMode interpolation = InterpolationMode::bilinear, bool antialias = true);

}  // namespace tandem::data::transforms::functional
