// Scalar products of vectors: dot, vdot, inner, linalg_vecdot.
#include "tandem/ops/products/dot.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/products/tensordot.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, linalg_vecdot);
TANDEM_CAST_POLICY(promote, dot, inner);

Tensor Tensor::dot(const Tensor& other) const {
  check_operands("dot", *this, other);
  TANDEM_CHECK(dim() == 1 && other.dim() == 1 && numel() == other.numel(), "dot: the operands are ", sizes(), " and ",
               other.sizes(), "; accepted: (k,) and (k,)");
  return matmul(other);
}
Tensor Tensor::inner(const Tensor& other) const {
  if (dim() == 0 || other.dim() == 0) return *this * other;
  TANDEM_CHECK(size(-1) == other.size(-1), "inner: the operands are ", sizes(), " and ", other.sizes(),
               "; their last dimensions must be equal");
  return tensordot(*this, other, {-1}, {-1});
}
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_operands("linalg_vecdot", x, y);
  check_real("linalg_vecdot", x);
  return (x * y).sum(dim);
}

}  // namespace tandem
