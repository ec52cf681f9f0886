// Linear maps of tensors: linalg_tensorsolve, linalg_tensorinv.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// Returns the inverse of a linear map of tensors. The first `ind` dimensions of a are the image, the others the
/// source.
Tensor linalg_tensorinv(const Tensor& a, int64_t ind = 2);
/// Solves tensordot(a, x, x.dim()) = b for x. If dims is given, these dimensions of a are moved to the end first.
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, detail::OptionalDims dims = {});

}  // namespace tandem
