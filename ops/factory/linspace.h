// Sequences with a given number of values: linspace, logspace.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns `steps` evenly spaced values from start to end, both included. For an integer dtype, first start and end and
/// then all values are truncated to integers.
Tensor linspace(double start, double end, int64_t steps, const TensorOptions& options = {});
/// Returns `steps` powers of `base` with the exponents linspace(start, end, steps).
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10.0,
                const TensorOptions& options = {});

}  // namespace tandem
