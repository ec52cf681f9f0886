// Integrals by the trapezoidal rule: trapezoid, cumulative_trapezoid and trapz.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Returns the integral of y along dim by the trapezoidal rule, for the coordinates x, or with distance dx between
/// elements. cumulative_trapezoid returns the integral up to each element but the first.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
/// Alias of trapezoid.
inline Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1) { return trapezoid(y, x, dim); }
inline Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1) { return trapezoid(y, Scalar(dx), dim); }

}  // namespace tandem
