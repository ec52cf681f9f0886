// Inverses: linalg_inv, linalg_inv_ex, inverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the inverse of a. @throws LinAlgError for a singular matrix
Tensor linalg_inv(const Tensor& a);
/// Returns (inverse, info). Like linalg_inv, but throws for a singular matrix only if check_errors is true.
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors = false);
Tensor inverse(const Tensor& a);

}  // namespace tandem
