// Converts tensors to PNG files.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// Returns the PNG file of a uint8 tensor (channels, height, width) on any device. The channels are grey; grey and
/// opacity; red, green and blue; or red, green, blue and opacity.
/// @param op                    name that error messages begin with
/// @throws NotImplementedError  in a build without libpng
std::string png_of(const std::string& op, const Tensor& image);
/// @throws Error that begins with `what` and tells the number of NaNs, if there are any
void check_no_nan(const std::string& what, const Tensor& image);

}  // namespace tandem::data
