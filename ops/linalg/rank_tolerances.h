// Bounds below which singular values count as zero, for pinv and matrix_rank. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Absolute and relative bounds up to which values count as zero: one bound per matrix, or one for all matrices.
struct Tolerances {
  std::optional<Tensor> atol, rtol;
};
/// Converts the bounds to 0-dim tensors of a's dtype and device.
Tolerances make_tolerances(const Tensor& a, std::optional<double> atol, std::optional<double> rtol);
/// Returns a mask of the `values` (..., k) that exceed the bounds. The values are singular values of a, or absolute
/// values of its eigenvalues.
Tensor exceeds_tolerance(const char* op, const Tensor& a, const Tensor& values, const Tolerances& tolerances);

}  // namespace tandem::detail
