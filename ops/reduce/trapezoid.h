// Integrals by the trapezoidal rule: trapezoid, cumulative_trapezoid and trapz.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The integral of y along dim by the trapezoidal rule, over the places x or in steps of dx; cumulative_trapezoid: up
/// to each element but the first.
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
/// Another spelling of trapezoid.
inline Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1) { return trapezoid(y, x, dim); }
inline Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1) { return trapezoid(y, Scalar(dx), dim); }

}  // namespace tandem
