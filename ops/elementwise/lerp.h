// Linear interpolation: lerp, lerp_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns start + weight (end - start). @throws Error unless start, end and, if it is a tensor, weight have one
/// floating dtype
inline Tensor lerp(const Tensor& start, const Tensor& end, const Scalar& weight) { return start.lerp(end, weight); }
inline Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) { return start.lerp(end, weight); }

}  // namespace tandem
