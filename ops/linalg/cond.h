// Condition numbers: linalg_cond.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The norm p of a times that of its inverse; of p = 2 (the default) and -2 the ratio of singular values, for any
/// sizes. Infinite for a singular matrix.
Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p = {});
Tensor linalg_cond(const Tensor& a, std::string_view p);

}  // namespace tandem
