// Determinants: linalg_det, det, linalg_slogdet, slogdet, logdet.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The determinant of a. It has first and second derivatives at any rank.
Tensor linalg_det(const Tensor& a);
Tensor det(const Tensor& a);
/// (sign, ln |det|): 0 and -inf for a singular matrix.
std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& a);
std::tuple<Tensor, Tensor> slogdet(const Tensor& a);
/// ln det a, NaN where the determinant is negative.
Tensor logdet(const Tensor& a);

}  // namespace tandem
