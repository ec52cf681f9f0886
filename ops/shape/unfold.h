// Sliding windows along a dimension: unfold_copy. Tensor::unfold is a method only.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// unfold() as a contiguous copy.
template <class... Args> Tensor unfold_copy(const Tensor& x, Args... args) {
  return x.unfold(args...).clone(MemoryFormat::Contiguous);
}

}  // namespace tandem
