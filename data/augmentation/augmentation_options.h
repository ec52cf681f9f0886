// Options of the random transforms in augmentation.h, with torchvision's names and defaults.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "tandem/core/option.h"
#include "tandem/ops/nn/expanding_array.h"
#include "tandem/ops/nn/upsample.h"

namespace tandem::data::transforms {

/// Height and width of an image: one number for both, or {height, width}.
using ImageSize = ExpandingArray<2>;
/// Smallest and largest value.
using Range = std::pair<double, double>;

/// Options of RandomCrop.
class RandomCropOptions {
 public:
  RandomCropOptions(int64_t size) : size_(size) {}
  RandomCropOptions(int64_t height, int64_t width) : size_(height, width) {}
  TANDEM_ARG(ImageSize, size);  // of the result
  /// Padding before the crop: {left, top, right, bottom}, {left and right, top and bottom}, or {all sides}.
  TANDEM_ARG(std::vector<int64_t>, padding) = {};
  /// Whether to pad an image that is smaller than the crop, by the missing number of pixels on both sides.
  TANDEM_ARG(bool, pad_if_needed) = false;
  TANDEM_ARG(std::vector<double>, fill) = {0};  // values of the padding: one, or one for each channel
  /// "constant", "edge", "reflect" or "symmetric"; functional::pad_image describes them.
  TANDEM_ARG(std::string, padding_mode) = "constant";
};

/// Options of RandomResizedCrop.
class RandomResizedCropOptions {
 public:
  RandomResizedCropOptions(int64_t size) : size_(size) {}
  RandomResizedCropOptions(int64_t height, int64_t width) : size_(height, width) {}
  TANDEM_ARG(ImageSize, size);                  // of the result
  TANDEM_ARG(Range, scale) = {0.08, 1.0};       // area of the crop, as a part of the image's area
  TANDEM_ARG(Range, ratio) = {3. / 4, 4. / 3};  // width of the crop divided by its height
  TANDEM_ARG(InterpolationMode, interpolation) = InterpolationMode::bilinear;
  TANDEM_ARG(bool, antialias) = true;
};

/// Options of RandomHorizontalFlip and RandomVerticalFlip.
class RandomFlipOptions {
 public:
  RandomFlipOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);  // probability of a flip
};

/// Options of RandomRotation.
class RandomRotationOptions {
 public:
  /// The angle is drawn from -degrees to degrees.
  RandomRotationOptions(double degrees) : degrees_(-degrees, degrees) {}
  RandomRotationOptions(double low, double high) : degrees_(low, high) {}
  TANDEM_ARG(Range, degrees);
  TANDEM_ARG(InterpolationMode, interpolation) = InterpolationMode::nearest;
  TANDEM_ARG(bool, expand) = false;              // whether the result is large enough for the whole rotated image
  TANDEM_ARG(std::vector<double>, center) = {};  // {x, y} of the fixed point; by default the image's centre
  TANDEM_ARG(std::vector<double>, fill) = {0};   // values outside of the image: one, or one for each channel
};

/// Range of a factor of ColorJitter: a number is the distance from the factor that changes nothing; {low, high} are the
/// bounds themselves.
struct JitterRange {
  JitterRange() = default;
  JitterRange(double amount) : amount(amount), is_set(true) {}
  JitterRange(double low, double high) : bounds(low, high), is_set(true), has_bounds(true) {}

  /// Distance from the factor that changes nothing, if has_bounds is false.
  double amount = 0;
  /// Bounds of the factor, if has_bounds is true.
  Range bounds{0, 0};
  /// Whether there is a range, and whether it was given by its bounds.
  bool is_set = false, has_bounds = false;
};

/// Options of ColorJitter.
class ColorJitterOptions {
 public:
  ColorJitterOptions(JitterRange brightness = {}, JitterRange contrast = {}, JitterRange saturation = {},
                     JitterRange hue = {})
      : brightness_(brightness), contrast_(contrast), saturation_(saturation), hue_(hue) {}
  // Ranges of the factors of functional::adjust_brightness and so on. A factor without a range changes nothing.
  TANDEM_ARG(JitterRange, brightness);
  TANDEM_ARG(JitterRange, contrast);
  TANDEM_ARG(JitterRange, saturation);
  TANDEM_ARG(JitterRange, hue);
};

/// Options of RandomGrayscale.
class RandomGrayscaleOptions {
 public:
  RandomGrayscaleOptions(double p = 0.1) : p_(p) {}
  TANDEM_ARG(double, p);  // probability of a grey image
};

/// Options of RandomErasing.
class RandomErasingOptions {
 public:
  RandomErasingOptions(double p = 0.5) : p_(p) {}
  TANDEM_ARG(double, p);                         // probability that a rectangle is erased
  TANDEM_ARG(Range, scale) = {0.02, 0.33};       // area of the rectangle, as a part of the image's area
  TANDEM_ARG(Range, ratio) = {0.3, 3.3};         // height of the rectangle divided by its width
  TANDEM_ARG(std::vector<double>, value) = {0};  // values of the rectangle: one, or one for each channel
  /// Whether the rectangle gets random numbers of a standard normal distribution instead of `value`.
  TANDEM_ARG(bool, random_value) = false;
  TANDEM_ARG(bool, inplace) = false;  // whether to change the image itself instead of a copy
};

}  // namespace tandem::data::transforms
