// Functions that move the pixels of images, as in torchvision.transforms.v2.functional.
#pragma once
#include <string>
#include <vector>

#include "tandem/ops/nn/upsample.h"

namespace tandem::data::transforms::functional {

/// Returns the part of an image (..., H, W) that begins at row `top` and column `left`. A part outside of the image is
/// 0.
Tensor crop(const Tensor& image, int64_t top, int64_t left, int64_t height, int64_t width);
/// Mirrors an image (..., H, W): left and right, or top and bottom, change places.
Tensor horizontal_flip(const Tensor& image);
Tensor vertical_flip(const Tensor& image);

/// Pads an image (..., C, H, W) of any dtype.
/// @param padding       {left, top, right, bottom}, {left and right, top and bottom}, or {all sides}
/// @param fill          values of the padding in mode "constant": one, or one for each channel
/// @param padding_mode  "constant", "edge" (repeats the outermost pixels), "reflect" (mirrors the image without
///                      repeating the outermost pixels), or "symmetric" (mirrors it with them)
Tensor pad_image(const Tensor& image, const std::vector<int64_t>& padding, const std::vector<double>& fill = {0},
                 const std::string& padding_mode = "constant");

/// Rotates an image (..., C, H, W) counter-clockwise.
/// @param angle          in degrees
/// @param interpolation  nearest or bilinear
/// @param expand         if true, the result is large enough for the whole rotated image; only without a centre
/// @param center         {x, y} of the fixed point, in pixels from the top left corner; by default the image's centre
/// @param fill           values of pixels outside of the rotated image: one, or one for each channel; by default 0
Tensor rotate(const Tensor& image, double angle, InterpolationMode interpolation = InterpolationMode::nearest,
              bool expand = false, const std::vector<double>& center = {}, const std::vector<double>& fill = {});

/// Replaces the pixels in rows i to i + h - 1 and columns j to j + w - 1 of an image (..., C, H, W) by `v`, which is
/// broadcast to (..., C, h, w) and converted to the image's dtype.
/// @param inplace  if true, changes the image itself
Tensor erase(const Tensor& image, int64_t i, int64_t j, int64_t h, int64_t w, const Tensor& v, bool inplace = false);

}  // namespace tandem::data::transforms::functional
