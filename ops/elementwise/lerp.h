// Linear interpolation: lerp, lerp_.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// start + weight (end - start). All of one floating dtype. @throws Error unless they are
inline Tensor lerp(const Tensor& start, const Tensor& end, const Scalar& weight) { return start.lerp(end, weight); }
inline Tensor lerp(const Tensor& start, const Tensor& end, const Tensor& weight) { return start.lerp(end, weight); }

}  // namespace tandem
