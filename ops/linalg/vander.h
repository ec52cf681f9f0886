// Matrices of powers: vander, linalg_vander.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Rows of the powers N - 1, ..., 1, 0 of each element of a vector, or with `increasing` the other way round; N is its
/// length unless given.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {}, detail::Flag increasing = false);
/// (..., n, N): the powers 0 to N - 1 of x (..., n); N is n unless given.
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N = {});

}  // namespace tandem
