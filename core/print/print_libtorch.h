// The text that LibTorch writes for a tensor. Installed for <torch/torch.h>; no other public header includes it.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// The text of LibTorch's `out << x`, in lines of so many characters.
std::string libtorch_text(const Tensor& x, int64_t line_width = 80);

}  // namespace tandem::detail
