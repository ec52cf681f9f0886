// The identity matrix: eye.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the (n, m) matrix with ones on the diagonal and zeros elsewhere. m defaults to n.
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

}  // namespace tandem
