// Converts tensors to PNG files.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Returns the contents of a PNG file that shows a uint8 tensor (channels, height, width) on any device. The channels
/// are grey; grey and opacity; red, green and blue; or red, green, blue and opacity.
/// @param op                    name that error messages begin with
/// @throws NotImplementedError  in a build without libpng
std::string tensor_to_png(const std::string& op, const Tensor& image);
/// @throws Error if the image has NaNs; the message begins with `what` and states their number
void check_no_nan(const std::string& what, const Tensor& image);

}  // namespace tandem::data
