// Copies: clone and copy.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// A copy of x with source's elements: copy_ of a copy.
inline Tensor copy(const Tensor& x, const Tensor& source, bool non_blocking = false) {
  return x.clone().copy_(source, non_blocking);
}

/// A copy, recorded: as x lies, or in the format given.
Tensor clone(const Tensor& x, MemoryFormat format = MemoryFormat::Preserve);

}  // namespace tandem
