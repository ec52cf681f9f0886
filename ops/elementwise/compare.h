// Predicates of a tensor: is_nonzero, is_same_size.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

// Tensor's methods of these names.

inline bool is_same_size(const Tensor& x, const Tensor& other) { return x.is_same_size(other); }
inline bool is_nonzero(const Tensor& x) { return x.is_nonzero(); }

}  // namespace tandem
