// Inverses: linalg_inv, linalg_inv_ex, inverse.
#include "tandem/ops/linalg/inverse.h"

#include "tandem/ops/linalg/host_lapack.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, inverse, linalg_inv, linalg_inv_ex);

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& a, bool check_errors) {
  if (const Autocast cast{cast_policy::linalg_inv_ex, a}) return linalg_inv_ex(cast(a), check_errors);
  static constexpr const char* kName = "linalg_inv_ex";
  check_square(kName, a);
  const LuFactors f = factor_lu(kName, a);
  const int64_t n = a.size(-1);
  Tensor columns;
  {
    const NoGradGuard guard;
    columns = eye(n, TensorOptions(a.dtype()).device(f.lu.device()))
                  .expand({f.lu.size(0), n, n})
                  .clone(MemoryFormat::Contiguous);
  }
  TANDEM_DISPATCH_HOST(columns.device(), lu_solve, f.lu, f.pivots, columns);
  if (check_errors)
    check_lapack_info(kName, f.info, "The diagonal element ",
                      " is zero, the inversion could not be completed because the input matrix is singular");
  const Tensor y = from_column_major(columns, batch_sizes(a), a.device());
  return record_op(kName, std::tuple(y, copy_from_host(f.info, batch_sizes(a), a.device())), {a}, {y},
                   [](const BackwardContext& ctx, const Grads& dy) -> Grads {
                     const Tensor t = ctx.saved(0).mT();
                     return {-t.matmul(dy[0]).matmul(t)};
                   });
}
Tensor linalg_inv(const Tensor& a) { return std::get<0>(linalg_inv_ex(a, /*check_errors=*/true)); }
Tensor inverse(const Tensor& a) { return linalg_inv(a); }
Tensor Tensor::inverse() const { return linalg_inv(*this); }

}  // namespace tandem
