// Products of many matrices in the cheapest order: linalg_multi_dot, chain_matmul.
#include "tandem/ops/linalg/multi_dot.h"

#include "tandem/ops/autocast.h"
#include "tandem/ops/shape/copy.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, chain_matmul, linalg_multi_dot);

namespace {
/// Returns the product of the matrices from index `first` to `last`. It is split after index cuts[first][last], which
/// takes the fewest multiplications.
Tensor matrix_chain_multiplication(const std::vector<Tensor>& matrices, const std::vector<std::vector<size_t>>& cuts,
                                   size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t cut = cuts[first][last];
  return matrix_chain_multiplication(matrices, cuts, first, cut)
      .mm(matrix_chain_multiplication(matrices, cuts, cut + 1, last));
}
Tensor multi_dot_impl(const char* op, const std::vector<Tensor>& matrices) {
  const size_t n = matrices.size();
  for (size_t i = 0; i < n; ++i) {
    TANDEM_CHECK(matrices[i].dim() == 2, op, "(): tensor ", i, " must be 2D but got ", matrices[i].dim(), "D");
    const Tensor& before = matrices[i > 0 ? i - 1 : 0];
    TANDEM_CHECK(i == 0 || before.size(1) == matrices[i].size(0), op, "(): tensors ", i - 1, " and ", i,
                 " with shapes ", before.sizes(), " and ", matrices[i].sizes(), " cannot be multiplied");
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
        if (k == i || total < cost[i][j]) {
          cost[i][j] = total;
          cuts[i][j] = k;
        }
      }
    }
  }
  return matrix_chain_multiplication(matrices, cuts, 0, n - 1);
}
}  // namespace
Tensor chain_matmul(TensorList matrices) {
  if (const Autocast cast{cast_policy::chain_matmul, matrices}) return chain_matmul(cast(matrices));
  TANDEM_CHECK(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  return multi_dot_impl("chain_matmul", matrices.vec());
}
Tensor linalg_multi_dot(TensorList tensors) {
  if (const Autocast cast{cast_policy::linalg_multi_dot, tensors}) return linalg_multi_dot(cast(tensors));
  TANDEM_CHECK(tensors.size() >= 2, "linalg_multi_dot(): expected at least 2 tensors but got ", tensors.size());
  std::vector<Tensor> matrices = tensors.vec();
  const bool row = matrices.front().dim() == 1, column = matrices.back().dim() == 1;
  if (row) matrices.front() = matrices.front().unsqueeze(0);
  if (column) matrices.back() = matrices.back().unsqueeze(1);
  const Tensor y = multi_dot_impl("linalg_multi_dot", matrices);
  Shape out;
  if (!row) out.push_back(y.size(0));
  if (!column) out.push_back(y.size(1));
  return row || column ? reshape_result(y, out) : y;
}

}  // namespace tandem
