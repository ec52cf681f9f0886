// Ranks of matrices: linalg_matrix_rank.
#include "tandem/ops/linalg/matrix_rank.h"

#include <algorithm>

#include "tandem/ops/linalg/eig.h"
#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/rank_tolerances.h"
#include "tandem/ops/linalg/svd.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_matrix_rank);

namespace {
Tensor rank_of_matrix(const Tensor& a, const Tolerances& tolerances, bool hermitian) {
  if (const Autocast cast{cast_policy::linalg_matrix_rank, a}) return rank_of_matrix(cast(a), tolerances, hermitian);
  static constexpr const char* kName = "linalg_matrix_rank";
  hermitian ? check_square(kName, a) : check_matrices(kName, a);
  const NoGradGuard guard;
  if (std::min(a.size(-1), a.size(-2)) == 0) return zeros(batch_sizes(a), a.options().dtype(kInt64));
  const Tensor values = hermitian ? linalg_eigvalsh(a.detach()).abs() : linalg_svdvals(a.detach());
  return exceeds_tolerance(kName, a, values, tolerances).to(kInt64).sum(-1);
}
}  // namespace

Tensor linalg_matrix_rank(const Tensor& a, const std::optional<Tensor>& atol, const std::optional<Tensor>& rtol,
                          bool hermitian) {
  return rank_of_matrix(a, {atol, rtol}, hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, std::optional<double> atol, std::optional<double> rtol, bool hermitian) {
  return rank_of_matrix(a, make_tolerances(a, atol, rtol), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, double tol, bool hermitian) {
  return rank_of_matrix(a, make_tolerances(a, tol, {}), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& a, const Tensor& tol, bool hermitian) {
  return rank_of_matrix(a, {tol, {}}, hermitian);
}

}  // namespace tandem
