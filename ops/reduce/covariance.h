// Covariances: cov and corrcoef.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the covariance matrix of the rows of x (variables, observations), or the variance of a vector, which is one
/// variable. The sums are divided by the number of observations (with weights: their total) minus
/// `correction`. Observation weights: fweights are
/// integer frequencies, aweights are floating-point importance weights.
inline Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) {
  return x.cov(correction, fweights, aweights);
}
/// Returns the matrix of correlation coefficients of the rows of x, in [-1, 1].
inline Tensor corrcoef(const Tensor& x) { return x.corrcoef(); }

}  // namespace tandem
