// Powers of matrices: linalg_matrix_power, matrix_power.
#include "tandem/ops/linalg/matrix_power.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/linalg/inverse.h"

namespace tandem {

TANDEM_CAST_POLICY(none, linalg_matrix_power, matrix_power);

Tensor linalg_matrix_power(const Tensor& a, int64_t n) {
  TANDEM_CHECK(a.dim() >= 2, "linalg_matrix_power: The input tensor A must have at least 2 dimensions, got ",
               a.sizes());
  TANDEM_CHECK(a.size(-1) == a.size(-2), "linalg_matrix_power: A must be batches of square matrices, but they are ",
               a.size(-2), " by ", a.size(-1), " matrices");
  if (n == 0)
    return record_op("linalg_matrix_power",
                     eye(a.size(-1), a.options()).expand(a.sizes()).clone(MemoryFormat::Contiguous), {a}, {},
                     [](const BackwardContext&, const Tensor& dy) -> Grads { return {zeros_like(dy)}; });
  Tensor square = n < 0 ? linalg_inv(a) : a, y;
  // Binary exponentiation, from the lowest bit of |n|.
  for (uint64_t rest = n < 0 ? -static_cast<uint64_t>(n) : static_cast<uint64_t>(n); rest; rest >>= 1) {
    if (rest & 1) y = y.defined() ? y.matmul(square) : square;
    if (rest > 1) square = square.matmul(square);
  }
  return y.is_same(a) ? a.clone(MemoryFormat::Contiguous) : y;
}
Tensor matrix_power(const Tensor& a, int64_t n) { return linalg_matrix_power(a, n); }
Tensor Tensor::matrix_power(int64_t n) const { return linalg_matrix_power(*this, n); }

}  // namespace tandem
