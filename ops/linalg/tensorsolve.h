// Linear maps of tensors: linalg_tensorsolve, linalg_tensorinv.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns the inverse of the linear map that a represents. The first `ind` dimensions of a are the shape of the map's
/// outputs, the other dimensions are the shape of its inputs.
Tensor linalg_tensorinv(const Tensor& a, int64_t ind = 2);
/// Solves tensordot(a, x, x.dim()) = b for x. If dims is given, the dimensions `dims` of a are moved to the end first.
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, detail::OptionalDims dims = {});

}  // namespace tandem
