// Copies: clone and copy.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a copy of x into which source has been copied: x.clone().copy_(source).
inline Tensor copy(const Tensor& x, const Tensor& source, bool non_blocking = false) {
  return x.clone().copy_(source, non_blocking);
}

/// Returns a copy of x that autograd records, with x's layout or in the given memory format.
Tensor clone(const Tensor& x, std::optional<MemoryFormat> format = {});

}  // namespace tandem
