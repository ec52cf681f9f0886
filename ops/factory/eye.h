// The unit matrix: eye.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The (n, m) matrix with ones on the diagonal; m is n unless given.
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

}  // namespace tandem
