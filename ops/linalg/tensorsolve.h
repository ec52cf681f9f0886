// Linear maps of tensors: linalg_tensorsolve, linalg_tensorinv.
#pragma once
#include "tandem/ops/linalg/argument_types.h"

namespace tandem {

/// The inverse of the linear map that a's last dimensions are the source of, its first `ind` the image.
Tensor linalg_tensorinv(const Tensor& a, int64_t ind = 2);
/// x with tensordot(a, x, x.dim()) = b; dims of a, if given, are moved to its end first.
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, detail::OptionalDims dims = {});

}  // namespace tandem
