// Matrix products that autograd does not record, for matmul and linear.
#include "tandem/ops/products/multiply_matrices.h"

#include "tandem/kernels/matmul.h"
#include "tandem/ops/define_op.h"

namespace tandem {

/// Returns x as (batch, rows, columns), not recorded by autograd: an alias if rows or columns are dense, otherwise a
/// copy.
static Tensor to_batched_matrix(const Tensor& x) {
  const Tensor lifted =
      x.dim() == 3 ? core::alias(x)
                   : core::as_strided(x, {1, x.size(0), x.size(1)}, {0, x.stride(0), x.stride(1)}, x.storage_offset());
  const bool rows = lifted.stride(2) == 1 && lifted.stride(1) >= std::max<int64_t>(lifted.size(2), 1);
  const bool columns = lifted.stride(1) == 1 && lifted.stride(2) >= std::max<int64_t>(lifted.size(1), 1);
  const NoGradGuard guard;
  return rows || columns ? lifted : lifted.clone(MemoryFormat::Contiguous);
}

void detail::multiply_matrices(const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& y) {
  const Tensor left = to_batched_matrix(a), right = to_batched_matrix(b),
               row = bias.defined() ? detail::contiguous_detached(bias) : Tensor();
  Tensor to = y.dim() == 3 ? y : core::try_view(y, {1, y.size(0), y.size(1)});
  TANDEM_DISPATCH(a.device(), matmul, left, right, row, to);
}
void detail::accumulate_outer_products(const Tensor& a, const Tensor& b, Tensor y) {
  for (int64_t k = 0; k < a.size(-1); ++k) y.add_(a.narrow(-1, k, 1) * b.narrow(-2, k, 1));
}

}  // namespace tandem
