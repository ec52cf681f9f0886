// Functions that change the colours of images, as in torchvision.transforms.v2.functional.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data::transforms::functional {

// Images are (..., C, H, W) with 1 or 3 channels (red, green, blue): floating point in [0, 1], or uint8. A result has
// the image's dtype. As in torchvision, values are truncated to integers if the image is uint8.

/// Returns the luminance of an image, in 1 or 3 equal channels.
/// @throws Error  if num_output_channels is neither 1 nor 3
Tensor rgb_to_grayscale(const Tensor& image, int64_t num_output_channels = 1);
/// Multiplies all values by a factor of 0 or more: 0 gives a black image, 1 the image itself.
Tensor adjust_brightness(const Tensor& image, double brightness_factor);
/// Blends the image with the mean of its luminance: 0 gives a grey image, 1 the image itself, 2 doubles the contrast.
Tensor adjust_contrast(const Tensor& image, double contrast_factor);
/// Blends the image with its luminance: 0 gives the grey image, 1 the image itself, 2 doubles the saturation.
Tensor adjust_saturation(const Tensor& image, double saturation_factor);
/// Rotates the hue of each pixel by hue_factor turns of the colour circle, from -0.5 to 0.5.
Tensor adjust_hue(const Tensor& image, double hue_factor);

}  // namespace tandem::data::transforms::functional
