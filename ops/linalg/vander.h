// Matrices of powers: vander, linalg_vander.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns a matrix whose rows are the powers N - 1, ..., 1, 0 of each element of a vector; in ascending order if
/// increasing. N defaults to the vector's length.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, detail::Flag increasing = false);
/// Returns the powers 0 to N - 1 of x (..., n) as a tensor (..., n, N). N defaults to n.
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N = {});

}  // namespace tandem
