// Inverses: linalg_inv, linalg_inv_ex, inverse.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The inverse of a. @throws LinAlgError for a singular matrix
Tensor linalg_inv(const Tensor& a);
/// (inverse, info): as linalg_inv, but a singular matrix is an error only with check_errors.
std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors = false);
Tensor inverse(const Tensor& a);

}  // namespace tandem
