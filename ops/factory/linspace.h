// Sequences of so many numbers: linspace, logspace.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// `steps` values from start to end, both included; of an integer dtype, both cut to integers first, then all between.
Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options = {});
/// `steps` powers of `base`, whose exponents are linspace(start, end, steps).
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});

}  // namespace tandem
