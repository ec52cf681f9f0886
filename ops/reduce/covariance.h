// Covariances: cov and corrcoef.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Covariances of the rows of x (variables, observations), or the variance of one variable (a vector), divided by the
/// number of observations minus `correction`. fweights says how often each was made (integers), aweights how much it
/// counts.
inline Tensor cov(const Tensor& x, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) {
  return x.cov(correction, fweights, aweights);
}
/// Correlation coefficients of the rows of x, in [-1, 1].
inline Tensor corrcoef(const Tensor& x) { return x.corrcoef(); }

}  // namespace tandem
