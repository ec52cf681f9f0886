// Random transforms of images, with torchvision's names, options and distributions.
#pragma once
#include "tandem/data/augmentation/augmentation_options.h"
#include "tandem/data/augmentation/color.h"
#include "tandem/data/augmentation/geometry.h"
#include "tandem/data/augmentation/resize.h"
#include "tandem/data/transforms.h"

namespace tandem::data::transforms {

// Note [Draws of transforms]: a transform draws from the default generator. In a loader that is the stream of the
// example that is made, so that results depend neither on the number of workers nor on a resume (see Note [Random
// numbers of examples]). All images of a batch (N, C, H, W) get the same draw, as in torchvision.

namespace detail {
/// Check the options of a transform. @throws Error that names the option and the accepted values
void check_options(const RandomCropOptions& options);
void check_options(const RandomResizedCropOptions& options);
void check_options(const RandomFlipOptions& options);
void check_options(const RandomRotationOptions& options);
void check_options(const ColorJitterOptions& options);
void check_options(const RandomGrayscaleOptions& options);
void check_options(const RandomErasingOptions& options);

/// Apply a transform to an image.
Tensor random_crop(const Tensor& image, const RandomCropOptions& options);
Tensor random_resized_crop(const Tensor& image, const RandomResizedCropOptions& options);
Tensor random_horizontal_flip(const Tensor& image, const RandomFlipOptions& options);
Tensor random_vertical_flip(const Tensor& image, const RandomFlipOptions& options);
Tensor random_rotation(const Tensor& image, const RandomRotationOptions& options);
Tensor color_jitter(const Tensor& image, const ColorJitterOptions& options);
Tensor random_grayscale(const Tensor& image, const RandomGrayscaleOptions& options);
Tensor random_erasing(const Tensor& image, const RandomErasingOptions& options);

/// Position and size of a crop.
struct CropBox {
  int64_t top, left, height, width;
};
/// Draws the box of RandomResizedCrop in an image of height x width.
CropBox draw_resized_crop(int64_t height, int64_t width, const RandomResizedCropOptions& options);

/// A transform with options, which `function` applies to the data of each example.
template <class Options, Tensor (*function)(const Tensor&, const Options&), class Target>
struct ImageTransform : public TensorTransform<Target> {
  /// @throws Error for invalid options
  ImageTransform(Options options = {}) : options(std::move(options)) { check_options(this->options); }
  Tensor operator()(Tensor input) override { return function(input, options); }
  Options options;
};
}  // namespace detail

/// Crops images (..., C, H, W) at a random position, each with the same probability. Optionally pads them before.
template <class Target = Tensor>
using RandomCrop = detail::ImageTransform<RandomCropOptions, detail::random_crop, Target>;
/// Crops a random part of images (..., C, H, W), with a random area and aspect ratio, and resizes it to one size.
template <class Target = Tensor>
using RandomResizedCrop = detail::ImageTransform<RandomResizedCropOptions, detail::random_resized_crop, Target>;
/// Mirrors images (..., H, W) left to right with probability p.
template <class Target = Tensor>
using RandomHorizontalFlip = detail::ImageTransform<RandomFlipOptions, detail::random_horizontal_flip, Target>;
/// Mirrors images (..., H, W) top to bottom with probability p.
template <class Target = Tensor>
using RandomVerticalFlip = detail::ImageTransform<RandomFlipOptions, detail::random_vertical_flip, Target>;
/// Rotates images (..., C, H, W) by a random angle.
template <class Target = Tensor>
using RandomRotation = detail::ImageTransform<RandomRotationOptions, detail::random_rotation, Target>;
/// Changes brightness, contrast, saturation and hue of images (..., C, H, W) by random factors, in random order.
template <class Target = Tensor>
using ColorJitter = detail::ImageTransform<ColorJitterOptions, detail::color_jitter, Target>;
/// Converts images (..., C, H, W) to grey with probability p, and keeps the number of channels.
template <class Target = Tensor>
using RandomGrayscale = detail::ImageTransform<RandomGrayscaleOptions, detail::random_grayscale, Target>;
/// Erases a random rectangle of images (..., C, H, W) with probability p (Zhong et al. 2017, arXiv:1708.04896).
template <class Target = Tensor>
using RandomErasing = detail::ImageTransform<RandomErasingOptions, detail::random_erasing, Target>;

/// Converts images (..., C, H, W) to grey, with 1 or 3 equal channels.
template <class Target = Tensor> struct Grayscale : public TensorTransform<Target> {
  explicit Grayscale(int64_t num_output_channels = 1) : num_output_channels(num_output_channels) {}
  Tensor operator()(Tensor input) override { return functional::rgb_to_grayscale(input, num_output_channels); }
  /// Number of channels of the result.
  int64_t num_output_channels;
};

}  // namespace tandem::data::transforms
