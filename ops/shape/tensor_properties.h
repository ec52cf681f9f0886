// Properties of a tensor, as functions: is_signed.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names.

inline bool is_signed(const Tensor& x) { return x.is_signed(); }

}  // namespace tandem
