// Integrals by the trapezoidal rule: trapezoid and cumulative_trapezoid.
#include "tandem/ops/reduce/trapezoid.h"

#include <algorithm>

#include "tandem/core/internal.h"
#include "tandem/ops/elementwise/operators.h"

namespace tandem {

TANDEM_CAST_POLICY(none, cumulative_trapezoid, trapezoid);

namespace {
/// Returns twice the area between adjacent elements along dim. x holds the coordinates of the elements; if x is
/// undefined, dx is the distance between adjacent elements.
Tensor trapezoid_areas(const char* op, const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  TANDEM_CHECK(y.dim() > 0, op, ": Dimension specified as ", dim, " but tensor has no dimensions");
  const int64_t d = wrap_dim(op, dim, y.dim()), gaps = std::max<int64_t>(y.size(d) - 1, 0);
  const Tensor pairs = y.narrow(d, 0, gaps) + y.narrow(d, y.size(d) - gaps, gaps);
  if (!x.defined()) return pairs * dx;
  Tensor positions = x;
  if (x.dim() == 1) {  // x is a vector of coordinates along dimension d
    TANDEM_CHECK(x.size(0) == y.size(d), op, ": There must be one `x` value for each sample point, got x ", x.sizes(),
                 " and y ", y.sizes());
    Shape sizes(static_cast<size_t>(y.dim()), 1);
    sizes[static_cast<size_t>(d)] = x.size(0);
    positions = x.reshape(sizes);
  }
  return pairs * positions.diff(1, d - y.dim());
}
}  // namespace
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  return trapezoid_areas("trapezoid", y, x, 1, dim).sum(dim) / 2;
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  return trapezoid_areas("trapezoid", y, {}, dx, dim).sum(dim) / 2;
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  return trapezoid_areas("cumulative_trapezoid", y, x, 1, dim).cumsum(dim) / 2;
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  const Tensor pairs = trapezoid_areas("cumulative_trapezoid", y, {}, 1, dim);
  // the floating-point factor makes integers sum in floating point, as in PyTorch
  return (pairs * (dx.to_double() / 2)).cumsum(dim);
}

}  // namespace tandem
