// Condition numbers: linalg_cond.
#include "tandem/ops/linalg/cond.h"

#include <cmath>
#include <limits>

#include "tandem/ops/linalg/host_lapack.h"
#include "tandem/ops/linalg/inverse.h"
#include "tandem/ops/linalg/norm.h"
#include "tandem/ops/linalg/svd.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, linalg_cond);

namespace {
/// Returns whether a has no elements: there are no matrices, or the matrices are empty. Then the condition numbers are
/// 0, for any dtype and without a graph, as in PyTorch.
bool is_empty(const Tensor& a) { return a.dim() >= 2 && a.numel() == 0; }
template <class Ord> Tensor cond_by_inverse(const Tensor& a, const Ord& p) {
  check_square("linalg_cond", a);
  const auto [inverse, info] = linalg_inv_ex(a);
  const Tensor singular = info != 0;
  // The inverse of a singular matrix is not finite. It is replaced by zeros, so that decompositions of the batch do not
  // fail.
  const Tensor usable = inverse.masked_fill(singular.unsqueeze(-1).unsqueeze(-1), 0);
  return (linalg_matrix_norm(a, p) * linalg_matrix_norm(usable, p))
      .masked_fill(singular, std::numeric_limits<double>::infinity());
}
}  // namespace
Tensor linalg_cond(const Tensor& a, const std::optional<Scalar>& p) {
  if (const Autocast cast{cast_policy::linalg_cond, a}) return linalg_cond(cast(a), p);
  if (is_empty(a)) return zeros(batch_sizes(a), a.options());
  check_matrices("linalg_cond", a);
  if (p && std::abs(p->to<double>()) != 2) return cond_by_inverse(a, *p);
  const Tensor s = linalg_svdvals(a);
  const Tensor largest = s.select(-1, 0), smallest = s.select(-1, -1);
  return p && p->to<double>() < 0 ? smallest / largest : largest / smallest;
}
Tensor linalg_cond(const Tensor& a, std::string_view p) {
  if (const Autocast cast{cast_policy::linalg_cond, a}) return linalg_cond(cast(a), p);
  return is_empty(a) ? zeros(batch_sizes(a), a.options()) : cond_by_inverse(a, p);
}

}  // namespace tandem
