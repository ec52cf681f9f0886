// make_grid and save_image: batches of images as one picture, under the names of torchvision.utils.
#pragma once
#include <utility>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::data {

/// How make_grid lays images out: torchvision's arguments and defaults.
struct MakeGridOptions {
  using Range = std::pair<double, double>;  // the lower first
  /// How many images stand side by side.
  TANDEM_ARG(int64_t, nrow) = 8;
  /// Pixels between images, and around all of them.
  TANDEM_ARG(int64_t, padding) = 2;
  /// Whether values are shifted and scaled to the range from 0 to 1.
  TANDEM_ARG(bool, normalize) = false;
  /// Of normalize: which values become 0 and 1; beyond them values are cut off. The smallest and the largest unless
  /// given.
  TANDEM_ARG_DECLARED(std::optional<Range>, value_range) = {};
  /// Of normalize: whether the smallest and the largest are those of each image, in place of all images.
  TANDEM_ARG(bool, scale_each) = false;
  /// The value of the pixels of the padding.
  TANDEM_ARG(double, pad_value) = 0;
};

/// The images of a batch in rows, each with padding around it.
/// @param tensor  (N, C, H, W), or one image (C, H, W) or (H, W), which gets no padding; one channel becomes three
/// @return        (C, rows, columns) of the same dtype and on the same device; without a gradient
/// @throws Error  for another shape, for no images, and for integers that are to be normalized
Tensor make_grid(const Tensor& tensor, const MakeGridOptions& options = {});
/// The same of images (C, H, W), all of one size.
Tensor make_grid(const std::vector<Tensor>& images, const MakeGridOptions& options = {});

/// Writes an image, or the grid of a batch (make_grid), as a PNG file: the whole file, or none of it.
/// @param tensor                as for make_grid: floating point from 0 to 1, beyond which values are cut off, or
/// uint8,
///                              which is written as it is. Two channels are grey and opacity, a fourth of four is
///                              opacity
/// @param fp                    the file, whose name ends in .png
/// @throws Error                for another shape, dtype or ending, for NaN, and with the system's reason
/// @throws NotImplementedError  in a build without libpng
void save_image(const Tensor& tensor, const std::string& fp, const MakeGridOptions& options = {});
/// The same of images (C, H, W), all of one size.
void save_image(const std::vector<Tensor>& images, const std::string& fp, const MakeGridOptions& options = {});

}  // namespace tandem::data
