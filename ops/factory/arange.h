// Sequences with a given step: arange, range.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns start, start + step, ..., excluding end. start defaults to 0. The dtype defaults to int64 if all numbers are
/// integers, and to the default floating dtype otherwise.
/// @throws Error if step is 0 or leads away from end
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});
/// Like arange, but includes end, and the dtype defaults to the default floating dtype even if all numbers are
/// integers.
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options);
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step = 1, const TensorOptions& options = {});

}  // namespace tandem
