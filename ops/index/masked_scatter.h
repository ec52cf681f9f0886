// masked_scatter: writes the elements of a source, in order, where a mask is true.
// Each returns a changed copy of x; the methods whose names end in _ change x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The elements of source, in order, where mask, which broadcasts with x, is true. @throws Error where source has fewer
inline Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return x.masked_scatter(mask, source);
}

}  // namespace tandem
