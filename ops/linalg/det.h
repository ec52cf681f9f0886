// Determinants: linalg_det, det, linalg_slogdet, slogdet, logdet.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the determinant. First and second derivatives exist for singular matrices too.
Tensor linalg_det(const Tensor& a);
Tensor det(const Tensor& a);
/// Returns (sign, ln |det|), which are 0 and -inf for a singular matrix.
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a);
std::tuple<Tensor, Tensor> slogdet(const Tensor& a);
/// Returns ln det a: -inf for a singular matrix, NaN for a negative determinant.
Tensor logdet(const Tensor& a);

}  // namespace tandem
