// Transforms of images: resizing and cropping.
#pragma once
#include "tandem/data/augmentation/resize.h"
#include "tandem/data/transforms.h"

namespace tandem::data::transforms {

/// Resizes images (..., C, H, W) by interpolation. With `antialias`, bilinear and bicubic smooth an image that becomes
/// smaller, as functional::resize says.
template <class Target = Tensor> struct Resize : public TensorTransform<Target> {
  Resize(int64_t height, int64_t width, InterpolationMode mode = InterpolationMode::bilinear, bool antialias = true)
      : height(height), width(width), mode(mode), antialias(antialias) {}
  /// The shorter edge of each image becomes `shorter_edge` long, and the other one keeps the aspect ratio.
  explicit Resize(int64_t shorter_edge, InterpolationMode mode = InterpolationMode::bilinear, bool antialias = true)
      : Resize(shorter_edge, 0, mode, antialias) {}
  Tensor operator()(Tensor input) override {
    TANDEM_CHECK(input.dim() >= 3, "Resize: the image is ", input.sizes(),
                 "; accepted: (..., channels, height, width)");
    if (width == 0) return functional::resize_shorter_edge(input, height, mode, antialias);
    return functional::resize(input, height, width, mode, antialias);
  }
  /// Size of the resulting images. If width is 0, `height` is the length of the shorter edge.
  int64_t height, width;
  /// Method of interpolation.
  InterpolationMode mode;
  /// Whether bilinear and bicubic smooth an image that becomes smaller.
  bool antialias;
};

/// Crops images (..., H, W) to their center. If an odd number of rows or columns is removed, one more is removed at the
/// bottom or right.
template <class Target = Tensor> struct CenterCrop : public TensorTransform<Target> {
  CenterCrop(int64_t height, int64_t width) : height(height), width(width) {}
  Tensor operator()(Tensor input) override {
    TANDEM_CHECK(input.dim() >= 2 && 0 < height && height <= input.size(-2) && 0 < width && width <= input.size(-1),
                 "CenterCrop: the image is ", input.sizes(), " and height x width is ", height, " x ", width,
                 "; accepted: 1 x 1 up to the last two sizes of the image");
    return input.narrow(-2, (input.size(-2) - height) / 2, height).narrow(-1, (input.size(-1) - width) / 2, width);
  }
  /// Size of the cropped image.
  int64_t height, width;
};

}  // namespace tandem::data::transforms
