// masked_scatter: writes the elements of a source, in order, to the positions where a mask is true.
// masked_scatter returns a changed copy of x; the method masked_scatter_ changes x itself.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns x with elements of source, in order, where mask is true. x and mask broadcast. @throws Error if source has
/// fewer elements than mask has true ones
inline Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source) {
  return x.masked_scatter(mask, source);
}

}  // namespace tandem
