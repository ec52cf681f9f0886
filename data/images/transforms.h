// Transforms of images: resizing and cropping.
#pragma once
#include "tandem/data/transforms.h"
#include "tandem/nn/upsampling.h"

namespace tandem::data::transforms {

/// Resizes images (C, H, W) of floating point by interpolation, by default bilinear. It does not smooth an image before
/// making it smaller; for much smaller sizes kArea, which averages, is the better mode.
template <class Target = Tensor> struct Resize : public TensorTransform<Target> {
  Resize(int64_t height, int64_t width, InterpolationMode mode = InterpolationMode::bilinear)
      : height(height), width(width), mode(mode) {}
  Tensor operator()(Tensor input) override {
    TANDEM_CHECK(input.dim() == 3, "Resize: the image is ", input.sizes(), "; accepted: (channels, height, width)");
    const auto size = std::vector<int64_t>{height, width};
    const auto options = nn::functional::InterpolateFuncOptions().size(size).mode(mode);
    return nn::functional::interpolate(input.unsqueeze(0), options).squeeze(0);
  }
  /// Size of the resulting images.
  int64_t height, width;
  /// Method of interpolation.
  InterpolationMode mode;
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
