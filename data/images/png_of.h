// From tensors to PNG files.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::data {

/// A PNG file of a uint8 tensor (channels, height, width), on any device. The channels are grey; grey and opacity; red,
/// green and blue; or these and opacity.
/// @param op                    whose name errors begin with
/// @throws NotImplementedError  in a build without libpng
std::string png_of(const std::string& op, const Tensor& image);
/// @throws Error that begins with `what` and has the number of NaNs, if there are any
void check_no_nan(const std::string& what, const Tensor& image);

}  // namespace tandem::data
