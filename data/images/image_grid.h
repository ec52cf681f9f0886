// make_grid and save_image: batches of images as one picture, with the names of torchvision.utils.
#pragma once
#include <utility>

#include "tandem/core/option.h"
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Layout options of make_grid: torchvision's arguments and defaults.
struct MakeGridOptions {
  using Range = std::pair<double, double>;  // (lower, upper)
  /// Number of images in a row.
  TANDEM_ARG(int64_t, nrow) = 8;
  /// Pixels between images, and around all of them.
  TANDEM_ARG(int64_t, padding) = 2;
  /// If true, shifts and scales values to the range from 0 to 1.
  TANDEM_ARG(bool, normalize) = false;
  /// Values that `normalize` maps to 0 and 1; values outside of this range are clamped. By default, the smallest and
  /// the largest value.
  TANDEM_ARG_DECLARED(std::optional<Range>, value_range) = {};
  /// If true, and value_range is not set, `normalize` uses the smallest and the largest value of each image instead of
  /// all images.
  TANDEM_ARG(bool, scale_each) = false;
  /// Value of the padding's pixels.
  TANDEM_ARG(double, pad_value) = 0;
};

/// Arranges the images of a batch in rows, each with padding around it.
/// @param tensor  (N, C, H, W), or one image (C, H, W) or (H, W); one channel becomes three. A single image, also as a
///                batch with N = 1, gets no padding
/// @return        (C, rows, columns) with the same dtype and device; not recorded by autograd
/// @throws Error  for other shapes, if there are no images, and if integers should be normalized
Tensor make_grid(const Tensor& tensor, const MakeGridOptions& options = {});
/// Arranges images (C, H, W) of one size in rows, as make_grid of a batch does.
Tensor make_grid(const std::vector<Tensor>& images, const MakeGridOptions& options = {});

/// Writes an image, or the grid of a batch (make_grid), as a PNG file. If writing fails, an existing file is unchanged.
/// @param tensor                as for make_grid: floating point from 0 to 1 (values outside are clamped), or uint8,
///                              which is written unchanged. A second or fourth channel is opacity
/// @param fp                    the file, whose name ends in .png
/// @throws Error                for another shape, dtype or ending, for NaN, and with the system's reason if the file
///                              cannot be written
/// @throws NotImplementedError  in a build without libpng
void save_image(const Tensor& tensor, const std::string& fp, const MakeGridOptions& options = {});
/// Writes the grid of images (C, H, W) of one size as a PNG file.
void save_image(const std::vector<Tensor>& images, const std::string& fp, const MakeGridOptions& options = {});

}  // namespace tandem::data
