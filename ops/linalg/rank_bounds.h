// Bounds below which singular values count as zero, for pinv and matrix_rank. Internal.
#pragma once
#include "tandem/core/internal.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// The bounds, of each matrix or of all.
struct Bounds {
  std::optional<Tensor> atol, rtol;
};
/// Numbers as tensors of the dtype that singular values of a have.
Bounds bounds_of(const Tensor& a, std::optional<double> atol, std::optional<double> rtol);
/// Which of the values (..., k), absolute ones, count.
Tensor counting(const char* op, const Tensor& a, const Tensor& values, const Bounds& bounds);

}  // namespace tandem::detail
