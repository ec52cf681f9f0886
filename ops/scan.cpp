// Products and sums up to each element, differences, integrals.
#include <cmath>
#include <limits>

#include "tandem/ops/factory.h"
#include "tandem/ops/index.h"
#include "tandem/ops/operands.h"
#include "tandem/ops/reduce.h"
#include "tandem/ops/statistics.h"

namespace tandem {
namespace {
/// Each element joined with all before it, in log2(size) steps: after k of them with the 2^k - 1 before it.
template <class Join> Tensor scan(const Tensor& x, int64_t d, Join join) {
  Tensor y = x;
  for (int64_t reach = 1; x.dim() > 0 && reach < x.size(d); reach *= 2) {
    const int64_t rest = x.size(d) - reach;
    y = cat({y.narrow(d, 0, reach), join(y.narrow(d, 0, rest), y.narrow(d, reach, rest))}, d);
  }
  return y.storage() == x.storage() ? x.clone(MemoryFormat::Contiguous) : y;
}
}  // namespace
Tensor Tensor::cumprod(int64_t dim) const {
  const int64_t d = wrap_dim("cumprod", dim, this->dim());
  return scan((is_floating_point() ? *this : to(kInt64)).contiguous(), d,
              [](const Tensor& a, const Tensor& b) { return a * b; });
}
Tensor Tensor::logcumsumexp(int64_t dim) const {
  check_accepted("logcumsumexp", Accepts::real, dtype());
  const int64_t d = wrap_dim("logcumsumexp", dim, this->dim());
  if (numel() == 0 || this->dim() == 0) return clone(MemoryFormat::Contiguous);
  const Tensor rows = contiguous();
  if (size(d) == 1) return rows.logaddexp(full({}, -std::numeric_limits<double>::infinity(), options()));
  const Tensor y = scan(rows, d, [](const Tensor& a, const Tensor& b) { return a.logaddexp(b); });
  const NoGradGuard guard;
  y.narrow(d, 0, 1).add_(0.0);  // a -0 becomes 0, as by the logarithm of a sum
  return y;
}

Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const {
  TANDEM_CHECK(this->dim() > 0, "diff: x is a scalar; accepted: one dimension or more");
  TANDEM_CHECK(n >= 0, "diff: n is ", n, "; accepted: 0 or more");
  if (n == 0) return clone();  // without what would be put before or behind it; dim does not matter
  const int64_t d = wrap_dim("diff", dim, this->dim());
  std::vector<Tensor> parts;
  if (prepend.defined()) parts.push_back(prepend);
  parts.push_back(*this);
  if (append.defined()) parts.push_back(append);
  Tensor y = parts.size() == 1 ? *this : cat(parts, d);
  for (n = std::min(n, y.size(d)); n > 0; --n) {
    const int64_t left = y.size(d) - 1;
    const Tensor before = y.narrow(d, 0, left), after = y.narrow(d, y.size(d) - left, left);
    y = y.dtype() == kBool ? after.logical_xor(before) : after - before;
  }
  return y;
}

namespace {
/// Twice the area between each two neighbours. dx: their distances, along dimension d.
Tensor areas(const char* op, const Tensor& y, const Tensor& x, const Scalar& dx, int64_t dim) {
  TANDEM_CHECK(y.dim() > 0, op, ": y is a scalar; accepted: one dimension or more");
  const int64_t d = wrap_dim(op, dim, y.dim()), gaps = std::max<int64_t>(y.size(d) - 1, 0);
  const Tensor pairs = y.narrow(d, 0, gaps) + y.narrow(d, y.size(d) - gaps, gaps);
  if (!x.defined()) return pairs * dx;
  Tensor places = x;
  if (x.dim() == 1) {  // along d
    TANDEM_CHECK(x.size(0) == y.size(d), op, ": x is ", x.sizes(), " and y ", y.sizes(), "; accepted: (", y.size(d),
                 ",) or y's sizes");
    Shape sizes(static_cast<size_t>(y.dim()), 1);
    sizes[static_cast<size_t>(d)] = x.size(0);
    places = x.reshape(sizes);
  }
  return pairs * places.diff(1, d - y.dim());
}
}  // namespace
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  return areas("trapezoid", y, x, 1, dim).sum(dim) / 2;
}
Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  return areas("trapezoid", y, {}, dx, dim).sum(dim) / 2;
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  return areas("cumulative_trapezoid", y, x, 1, dim).cumsum(dim) / 2;
}
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  return areas("cumulative_trapezoid", y, {}, dx, dim).cumsum(dim) / 2;
}

}  // namespace tandem
