// Condition numbers: linalg_cond.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the condition number: the norm of order p of a, times the norm of the inverse of a. For p = 2 (the default)
/// and -2 it is a ratio of singular values, and matrices need not be square. For a singular matrix it is infinite, or 0
/// if p is -2.
Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p = {});
Tensor linalg_cond(const Tensor& a, std::string_view p);

}  // namespace tandem
