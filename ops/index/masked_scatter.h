// masked_scatter: the elements of a source, in order, where a mask is true.
// Each gives a copy of x with something written into it; the methods whose names end in _ write into x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements of source, in order, where mask, which broadcasts with x, is true. @throws Error where source has fewer
inline Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return x.masked_scatter(mask, source);
}

}  // namespace tandem
