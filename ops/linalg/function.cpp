// Functions of matrices, and linear algebra that is spelt by other operations.
#include <cmath>

#include "tandem/autograd/record.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/linalg/host.h"
#include "tandem/ops/linalg/linalg.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/products/products.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/reduce/statistics.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor linalg_matrix_power(const Tensor& a, int64_t n) {
  TANDEM_CHECK(a.dim() >= 2 && a.size(-1) == a.size(-2), "linalg_matrix_power: a is ", a.sizes(),
               "; accepted: square matrices, (..., n, n)");
  if (n == 0)
    return record("linalg_matrix_power", eye(a.size(-1), a.options()).expand(a.sizes()).clone(MemoryFormat::Contiguous),
                  {a}, {}, [](const Context&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  Tensor square = n < 0 ? linalg_inv(a) : a, y;
  // Of a power's bits, the lowest first.
  for (uint64_t rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); rest; rest >>= 1) {
    if (rest & 1) y = y.defined() ? y.matmul(square) : square;
    if (rest > 1) square = square.matmul(square);
  }
  return y.is_same(a) ? a.clone(MemoryFormat::Contiguous) : y;
}
Tensor matrix_power(const Tensor& a, int64_t n) { return linalg_matrix_power(a, n); }
Tensor Tensor::matrix_power(int64_t n) const { return linalg_matrix_power(*this, n); }

namespace {
/// sum of x^i / i! up to 19: of matrices with a norm up to 1.09, exact in double. Five polynomials of x, x^2 and x^3
/// are joined by powers of x^4 (Paterson and Stockmeyer 1973): seven products in place of 18.
Tensor taylor(const Tensor& x) {
  const Tensor x2 = x.matmul(x), x3 = x2.matmul(x), x4 = x2.matmul(x2);
  const Tensor one = eye(x.size(-1), x.options());
  double factorial[20] = {1};
  for (int i = 1; i < 20; ++i) factorial[i] = factorial[i - 1] * i;
  Tensor y;
  for (int i = 16; i >= 0; i -= 4) {
    const Tensor part = one / factorial[i] + x / factorial[i + 1] + x2 / factorial[i + 2] + x3 / factorial[i + 3];
    y = y.defined() ? y.matmul(x4) + part : part;
  }
  return y;
}
/// e^a without history: a is halved until its norm is small, each matrix as often as it needs.
Tensor exponential(const char* op, const Tensor& a) {
  const Tensor norms = a.abs().sum({-2}).amax({-1});
  // How often, 0 where it is small or not finite.
  const Tensor wanted = (norms / 1.09).log2().ceil();
  const Tensor halvings = where((wanted > 0) & wanted.isfinite(), wanted, Scalar(0)).unsqueeze(-1).unsqueeze(-1);
  check_not_recorded(op, "chooses its number of products by the norm of the matrix");
  const auto most = static_cast<int>(halvings.max().item<double>());
  Tensor y = taylor(a * full({}, 0.5, a.options()).pow(halvings));
  for (int i = 0; i < most; ++i) y = where(halvings > i, y.matmul(y), y);
  return y;
}
}  // namespace
Tensor linalg_matrix_exp(const Tensor& a) {
  static constexpr const char* kName = "linalg_matrix_exp";
  check_square(kName, a);
  Tensor y;
  {
    const NoGradGuard guard;
    y = a.numel() == 0 ? empty_like(a) : exponential(kName, a.detach());
  }
  return record(kName, y, {a}, {a}, [](const Context& ctx, const Tensor& dy) -> Grads {
    // Above the diagonal of e^[[a^T, dy], [0, a^T]] stands the derivative (Najfeld and Havel 1995).
    const Tensor t = ctx.saved(0).mT();
    const int64_t n = t.size(-1);
    const Tensor whole = cat({cat({t, dy}, -1), cat({zeros_like(t), t}, -1)}, -2);
    return {linalg_matrix_exp(whole).narrow(-2, 0, n).narrow(-1, n, n)};
  });
}
Tensor matrix_exp(const Tensor& a) { return linalg_matrix_exp(a); }
Tensor Tensor::matrix_exp() const { return linalg_matrix_exp(*this); }

Tensor linalg_tensorinv(const Tensor& a, int64_t ind) {
  TANDEM_CHECK(ind > 0 && ind <= a.dim(), "linalg_tensorinv: ind is ", ind, " for ", a.sizes(),
               "; accepted: 1 to the number of dimensions");
  const auto at = static_cast<size_t>(ind);
  const IntArrayRef image = a.sizes().slice(0, at), source = a.sizes().slice(at, a.sizes().size() - at);
  const int64_t n = numel_of(image);
  TANDEM_CHECK(n == numel_of(source), "linalg_tensorinv: the first ", ind, " sizes of ", a.sizes(), " give ", n,
               " and the others ", numel_of(source), "; they must be equal");
  Shape sizes = source;
  for (const int64_t size : image) sizes.push_back(size);
  return reshape_result(linalg_inv(a.reshape({n, n})).contiguous(), sizes);
}
Tensor linalg_tensorsolve(const Tensor& a, const Tensor& b, OptionalDims dims) {
  Tensor map = a;
  if (dims.given) {
    std::vector<int64_t> source, last;
    for (size_t i = 0; i < dims.dims.size(); ++i) {
      source.push_back(wrap_dim("linalg_tensorsolve", dims.dims[i], a.dim()));
      last.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(dims.dims.size()));
    }
    map = a.movedim(source, last);
  }
  const int64_t n = b.numel();
  TANDEM_CHECK(map.dim() >= b.dim() && map.numel() == n * n, "linalg_tensorsolve: a is ", a.sizes(), " and b ",
               b.sizes(), "; the product of a's first sizes must be that of the others, and b's number of elements");
  const Shape sizes = map.sizes().slice(static_cast<size_t>(b.dim()), static_cast<size_t>(map.dim() - b.dim()));
  TANDEM_CHECK(numel_of(sizes) == n, "linalg_tensorsolve: a is ", a.sizes(), " and b ", b.sizes(),
               "; a's sizes behind the first ", b.dim(), " must have b's number of elements, ", n);
  return reshape_result(linalg_solve(map.reshape({n, n}), b.reshape({n})), sizes);
}
Tensor linalg_vander(const Tensor& x, std::optional<int64_t> N) {
  TANDEM_CHECK(x.dim() >= 1 && x.dtype() != kBool, "linalg_vander: x is ", x.dtype(), x.sizes(),
               "; accepted: numbers, one dimension or more");
  const int64_t columns = N.value_or(x.size(-1));
  TANDEM_CHECK(columns > 1, "linalg_vander: N is ", columns, "; accepted: 2 and more");
  const Tensor powers = x.unsqueeze(-1).expand(joined(x.sizes(), {columns - 1})).cumprod(-1);
  return cat({ones(joined(x.sizes(), {1}), powers.options()), powers}, -1);
}
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_operands("linalg_vecdot", x, y);
  check_real("linalg_vecdot", x);
  return (x * y).sum(dim);
}
Tensor linalg_cross(const Tensor& a, const Tensor& b, int64_t dim) { return a.cross(b, dim); }
Tensor linalg_diagonal(const Tensor& a, int64_t offset, int64_t dim1, int64_t dim2) {
  return a.diagonal(offset, dim1, dim2);
}
Tensor linalg_matmul(const Tensor& a, const Tensor& b) { return matmul(a, b); }

}  // namespace tandem
