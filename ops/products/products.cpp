#include "tandem/ops/products/products.h"

#include <vector>

#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/products/matmul.h"
#include "tandem/ops/reduce/reduce.h"
#include "tandem/ops/shape/arrange.h"
#include "tandem/ops/shape/copy.h"
#include "tandem/ops/shape/view.h"

namespace tandem {

Tensor Tensor::outer(const Tensor& other) const {
  TANDEM_CHECK(dim() == 1 && other.dim() == 1, "outer: the operands are ", sizes(), " and ", other.sizes(),
               "; accepted: (n,) and (m,)");
  return unsqueeze(1) * other;
}
Tensor Tensor::inner(const Tensor& other) const {
  if (dim() == 0 || other.dim() == 0) return *this * other;
  TANDEM_CHECK(size(-1) == other.size(-1), "inner: the operands are ", sizes(), " and ", other.sizes(),
               "; their last dimensions must be equal");
  return tensordot(*this, other, {-1}, {-1});
}
Tensor Tensor::kron(const Tensor& other) const {
  const int64_t rank = std::max(dim(), other.dim());
  TANDEM_CHECK(2 * rank <= kMaxDims, "kron: the operands are ", sizes(), " and ", other.sizes(), "; accepted: at most ",
               kMaxDims / 2, " dimensions");
  Shape left, right, out;
  for (int64_t d = 0; d < rank; ++d) {
    const auto size_in = [&](const Tensor& x) { return d < rank - x.dim() ? 1 : x.size(d - rank + x.dim()); };
    const int64_t a = size_in(*this), b = size_in(other);
    left.push_back(a), left.push_back(1), right.push_back(1), right.push_back(b), out.push_back(a * b);
  }
  return reshape_result((reshape(left) * other.reshape(right)).contiguous(), out);
}
Tensor Tensor::cross(const Tensor& other, std::optional<int64_t> dim) const {
  TANDEM_CHECK(this->dim() == other.dim(), "cross: the operands are ", this->sizes(), " and ", other.sizes(),
               "; both must have the same number of dimensions");
  TANDEM_CHECK(dtype() == other.dtype(), "cross: the operands are ", dtype(), " and ", other.dtype(),
               "; both must be of one dtype");
  const Shape sizes = broadcast_shapes("cross", this->sizes(), other.sizes());
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t d = dim ? wrap_dim("cross", *dim, rank) : 0;
  if (!dim)
    while (d < rank && sizes[static_cast<size_t>(d)] != 3) ++d;
  TANDEM_CHECK(d < rank && sizes[static_cast<size_t>(d)] == 3, "cross: the operands are ", this->sizes(), " and ",
               other.sizes(), "; accepted: a dimension of size 3, which dim names");
  const Tensor a = expand(sizes), b = other.expand(sizes);
  return a.roll(-1, d) * b.roll(-2, d) - a.roll(-2, d) * b.roll(-1, d);
}

Tensor tensordot(const Tensor& a, const Tensor& b, IntArrayRef dims_a, IntArrayRef dims_b) {
  check_operands("tensordot", a, b);
  TANDEM_CHECK(dims_a.size() == dims_b.size(), "tensordot: dims are ", dims_a, " and ", dims_b,
               "; both must be of one length");
  Tensor left = a, right = b;
  std::vector<int64_t> summed_a, summed_b;
  unsigned mask_a = 0, mask_b = 0;
  int64_t inner = 1;
  for (size_t i = 0; i < dims_a.size(); ++i) {
    const int64_t p = wrap_dim("tensordot", dims_a[i], a.dim()), q = wrap_dim("tensordot", dims_b[i], b.dim());
    TANDEM_CHECK(!(mask_a >> p & 1) && !(mask_b >> q & 1), "tensordot: dims are ", dims_a, " and ", dims_b,
                 "; each must be named once");
    const int64_t m = left.size(p), n = right.size(q);
    TANDEM_CHECK(m == n || m == 1 || n == 1, "tensordot: dimension ", p, " of ", a.sizes(), " and ", q, " of ",
                 b.sizes(), " differ; they must be equal, or one of them 1");
    if (m == 1 && n != 1) right = right.sum(q, true);
    if (n == 1 && m != 1) left = left.sum(p, true);
    inner *= m == 1 || n == 1 ? 1 : m;
    mask_a |= 1u << p, mask_b |= 1u << q, summed_a.push_back(p), summed_b.push_back(q);
  }
  std::vector<int64_t> order_a, order_b = summed_b, sizes;
  for (int64_t d = 0; d < a.dim(); ++d)
    if (!(mask_a >> d & 1)) order_a.push_back(d), sizes.push_back(a.size(d));
  const int64_t rows = numel_of(sizes);
  for (int64_t d = 0; d < b.dim(); ++d)
    if (!(mask_b >> d & 1)) order_b.push_back(d), sizes.push_back(b.size(d));
  const int64_t columns = numel_of(IntArrayRef(sizes).slice(order_a.size(), sizes.size() - order_a.size()));
  order_a.insert(order_a.end(), summed_a.begin(), summed_a.end());
  return reshape_result(
      left.permute(order_a).reshape({rows, inner}).mm(right.permute(order_b).reshape({inner, columns})), sizes);
}

namespace {
/// Matrices first to last, cut where the fewest multiplications follow: cuts[first][last].
Tensor multiply_chain(const std::vector<Tensor>& matrices, const std::vector<std::vector<size_t>>& cuts, size_t first,
                      size_t last) {
  if (first == last) return matrices[first];
  const size_t cut = cuts[first][last];
  return multiply_chain(matrices, cuts, first, cut).mm(multiply_chain(matrices, cuts, cut + 1, last));
}
Tensor multiply_all(const char* op, const std::vector<Tensor>& matrices) {
  const size_t n = matrices.size();
  for (size_t i = 0; i < n; ++i) {
    TANDEM_CHECK(matrices[i].dim() == 2, op, ": tensor ", i, " is ", matrices[i].sizes(), "; accepted: a matrix");
    TANDEM_CHECK(i == 0 || matrices[i - 1].size(1) == matrices[i].size(0), op, ": ",
                 matrices[i > 0 ? i - 1 : 0].sizes(), " stands before ", matrices[i].sizes(),
                 "; accepted: (n, k) before (k, m)");
  }
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> cuts(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      for (size_t k = i; k < j; ++k) {
        const double own = static_cast<double>(matrices[i].size(0)) * static_cast<double>(matrices[k].size(1)) *
                           static_cast<double>(matrices[j].size(1));
        const double total = cost[i][k] + cost[k + 1][j] + own;
        if (k == i || total < cost[i][j]) cost[i][j] = total, cuts[i][j] = k;
      }
    }
  }
  return multiply_chain(matrices, cuts, 0, n - 1);
}
}  // namespace
Tensor chain_matmul(TensorList matrices) {
  TANDEM_CHECK(!matrices.empty(), "chain_matmul: the list is empty; accepted: one matrix or more");
  return multiply_all("chain_matmul", matrices.vec());
}
Tensor linalg_multi_dot(TensorList tensors) {
  TANDEM_CHECK(tensors.size() >= 2, "linalg_multi_dot: there are ", tensors.size(), " tensors; accepted: two or more");
  std::vector<Tensor> matrices = tensors.vec();
  const bool row = matrices.front().dim() == 1, column = matrices.back().dim() == 1;
  if (row) matrices.front() = matrices.front().unsqueeze(0);
  if (column) matrices.back() = matrices.back().unsqueeze(1);
  const Tensor y = multiply_all("linalg_multi_dot", matrices);
  Shape out;
  if (!row) out.push_back(y.size(0));
  if (!column) out.push_back(y.size(1));
  return row || column ? reshape_result(y, out) : y;
}

}  // namespace tandem
