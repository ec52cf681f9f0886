// The text that LibTorch prints for a tensor. Installed for <torch/torch.h>; no other public header includes it.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Returns the text of LibTorch's `out << x`, with lines of `line_width` characters.
std::string format_as_libtorch(const Tensor& x, int64_t line_width = 80);

}  // namespace tandem::detail
