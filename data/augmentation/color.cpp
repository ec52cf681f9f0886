// Implements the adjustments of brightness, contrast, saturation and hue, with torchvision's weights and rounding.
#include "tandem/data/augmentation/color.h"

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"
#include "tandem/ops/elementwise/where.h"
#include "tandem/ops/shape/cat.h"

namespace tandem::data::transforms::functional {
namespace {

void check_image(const char* function, const Tensor& image) {
  TANDEM_CHECK(image.dim() >= 3 && (image.size(-3) == 1 || image.size(-3) == 3), function, ": the image is ",
               image.sizes(), "; accepted: (..., C, H, W) with 1 or 3 channels");
  TANDEM_CHECK_AS(NotImplementedError, image.is_floating_point() || image.dtype() == kUInt8, function,
                  ": the image is ", image.dtype(), "; accepted: floating point or uint8");
}
void check_factor(const char* function, double factor) {
  TANDEM_CHECK(factor >= 0, function, ": the factor is ", factor, "; accepted: 0 or more");
}

/// Returns the value of white.
double max_value(const Tensor& image) { return image.is_floating_point() ? 1 : 255; }

/// Converts a uint8 image to float32, and keeps others as they are.
Tensor to_floating(const Tensor& image) { return image.is_floating_point() ? image : image.to(kFloat32); }

/// Returns the luminance (..., 1, H, W) of an image with three channels, as floating point.
Tensor compute_luminance(const Tensor& image) {
  const Tensor x = to_floating(image);
  return x.narrow(-3, 0, 1) * 0.2989 + x.narrow(-3, 1, 1) * 0.587 + x.narrow(-3, 2, 1) * 0.114;
}

/// Returns image * ratio + other * (1 - ratio), clamped to valid values, in the image's dtype.
Tensor blend(const Tensor& image, const Tensor& other, double ratio) {
  return (to_floating(image) * ratio + other * (1 - ratio)).clamp(0, max_value(image)).to(image.dtype());
}

/// Converts red, green and blue to hue, saturation and value, each (..., 1, H, W) in [0, 1].
std::array<Tensor, 3> rgb_to_hsv(const Tensor& image) {
  const Tensor r = image.narrow(-3, 0, 1), g = image.narrow(-3, 1, 1), b = image.narrow(-3, 2, 1);
  const Tensor max = image.amax({-3}, true), min = image.amin({-3}, true);
  const Tensor is_grey = max.eq(min), range = max - min;
  const Tensor divisor = where(is_grey, 1.0, range);  // a grey pixel gets hue 0 and saturation 0
  const Tensor saturation = range / where(is_grey, 1.0, max);
  // Distance of each channel from the largest one
  const Tensor dr = (max - r) / divisor, dg = (max - g) / divisor, db = (max - b) / divisor;
  const Tensor sextant = where(max.eq(r), db - dg, where(max.eq(g), dr - db + 2, dg - dr + 4));
  return {(sextant / 6 + 1).fmod(1), saturation, max};
}

/// Converts hue, saturation and value to a red, green and blue image.
Tensor hsv_to_rgb(const Tensor& hue, const Tensor& saturation, const Tensor& value) {
  std::vector<Tensor> channels;
  for (const int offset : {5, 3, 1}) {
    const Tensor k = (hue * 6 + offset).remainder(6);
    channels.push_back(value - value * saturation * k.minimum(4 - k).clamp(0, 1));
  }
  return cat(channels, -3);
}

}  // namespace

Tensor rgb_to_grayscale(const Tensor& image, int64_t num_output_channels) {
  check_image("rgb_to_grayscale", image);
  TANDEM_CHECK(num_output_channels == 1 || num_output_channels == 3,
               "rgb_to_grayscale: num_output_channels must be 1 or 3, got ", num_output_channels, ".");
  const Tensor grey = image.size(-3) == 1 ? image : compute_luminance(image).to(image.dtype());
  if (num_output_channels == 1) return grey;
  Shape sizes = grey.sizes();
  sizes[sizes.size() - 3] = 3;
  return grey.expand(sizes);
}

Tensor adjust_brightness(const Tensor& image, double brightness_factor) {
  check_image("adjust_brightness", image);
  check_factor("adjust_brightness", brightness_factor);
  return (to_floating(image) * brightness_factor).clamp(0, max_value(image)).to(image.dtype());
}

Tensor adjust_contrast(const Tensor& image, double contrast_factor) {
  check_image("adjust_contrast", image);
  check_factor("adjust_contrast", contrast_factor);
  Tensor grey = image.size(-3) == 1 ? to_floating(image) : compute_luminance(image);
  if (!image.is_floating_point()) grey = grey.floor();
  return blend(image, grey.mean({-3, -2, -1}, true), contrast_factor);
}

Tensor adjust_saturation(const Tensor& image, double saturation_factor) {
  check_image("adjust_saturation", image);
  check_factor("adjust_saturation", saturation_factor);
  if (image.size(-3) == 1) return image;
  const Tensor grey = compute_luminance(image);
  return blend(image, image.is_floating_point() ? grey : grey.floor(), saturation_factor);
}

Tensor adjust_hue(const Tensor& image, double hue_factor) {
  check_image("adjust_hue", image);
  TANDEM_CHECK(hue_factor >= -0.5 && hue_factor <= 0.5, "adjust_hue: hue_factor is ", hue_factor,
               "; accepted: -0.5 to 0.5");
  if (image.size(-3) == 1 || image.numel() == 0) return image;
  const bool is_uint8 = image.dtype() == kUInt8;
  const Tensor x = is_uint8 ? image.to(kFloat32) * (1.0 / 255) : image.to(kFloat32);
  const auto [hue, saturation, value] = rgb_to_hsv(x);
  const Tensor adjusted = hsv_to_rgb((hue + hue_factor).remainder(1), saturation, value);
  // torchvision's scale from [0, 1] to integers: each integer gets an equal part of the interval
  return is_uint8 ? (adjusted * (256 - 1e-3)).to(kUInt8) : adjusted.to(image.dtype());
}

}  // namespace tandem::data::transforms::functional
