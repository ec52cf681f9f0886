// Internal.
#pragma once
#include <string>

#include "tandem/core/tensor.h"

namespace tandem::detail {

/// The text of LibTorch's `out << x`.
std::string libtorch_text(const Tensor& x);

}  // namespace tandem::detail
