// Modules as LibTorch prints them, for programs that include <torch/torch.h>.
#pragma once
#include <string>

#include "tandem/core/internal.h"

namespace tandem::nn {

/// What pretty_print() of a module of the library wrote, "Conv2d(1, 2, kernel_size=(3, 3), bias=False)", in LibTorch's
/// words: "torch::nn::Conv2d(1, 2, kernel_size=[3, 3], bias=false)".
std::string in_libtorch_words(const std::string& text);

}  // namespace tandem::nn
