// Transforms of images: to one size, and a part of them.
#pragma once
#include "tandem/data/transforms.h"
#include "tandem/nn/upsampling.h"

namespace tandem::data::transforms {

/// Images (C, H, W) of floating point in another size, by interpolation between four pixels. It does not smooth before
/// it makes an image smaller: for a fraction of the size, kArea, which averages, is the better mode.
template <class Target = Tensor> struct Resize : public TensorTransform<Target> {
  Resize(int64_t height, int64_t width, InterpolationMode mode = InterpolationMode::bilinear)
      : height(height), width(width), mode(mode) {}
  Tensor operator()(Tensor input) override {
    TANDEM_CHECK(input.dim() == 3, "Resize: the image is ", input.sizes(), "; (channels, height, width) is accepted");
    const auto size = std::vector<int64_t>{height, width};
    const auto options = nn::functional::InterpolateFuncOptions().size(size).mode(mode);
    return nn::functional::interpolate(input.unsqueeze(0), options).squeeze(0);
  }
  /// The size that images get.
  int64_t height, width;
  /// How pixels in between are made.
  InterpolationMode mode;
};

/// The middle of images (..., H, W); where the borders are odd, the upper and the left one are the smaller.
template <class Target = Tensor> struct CenterCrop : public TensorTransform<Target> {
  CenterCrop(int64_t height, int64_t width) : height(height), width(width) {}
  Tensor operator()(Tensor input) override {
    TANDEM_CHECK(input.dim() >= 2 && 0 < height && height <= input.size(-2) && 0 < width && width <= input.size(-1),
                 "CenterCrop: the image is ", input.sizes(), "; a part of ", height, " x ", width,
                 " must be within its last two dimensions");
    return input.narrow(-2, (input.size(-2) - height) / 2, height).narrow(-1, (input.size(-1) - width) / 2, width);
  }
  /// The size of the part that is kept.
  int64_t height, width;
};

}  // namespace tandem::data::transforms
