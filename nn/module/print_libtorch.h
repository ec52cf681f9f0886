// Modules as LibTorch prints them, for programs that include <torch/torch.h>.
#pragma once
#include <string>

#include "tandem/core/internal.h"

namespace tandem::nn {

/// Converts a line by pretty_print() of a library module, "Conv2d(1, 2, kernel_size=(3, 3), bias=False)", to LibTorch's
/// format: "torch::nn::Conv2d(1, 2, kernel_size=[3, 3], bias=false)".
std::string to_libtorch_format(const std::string& text);

}  // namespace tandem::nn
