// Sequences by steps: arange, range.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// start, start + step, ... below end. int64 when all are integers.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});
/// arange with the end included, of the default dtype even where all are integers.
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});

}  // namespace tandem
