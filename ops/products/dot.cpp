// Scalar products of vectors: dot, vdot, inner, linalg_vecdot.
#include "tandem/ops/products/dot.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/products/tensordot.h"

namespace tandem {

TANDEM_CAST_POLICY(lower, linalg_vecdot);
TANDEM_CAST_POLICY(promote, dot, inner);

Tensor Tensor::dot(const Tensor& other) const {
  if (const Autocast cast{cast_policy::dot, *this, other}) return cast(*this).dot(cast(other));
  check_product_operands("dot", *this, other);
  TANDEM_CHECK(dim() == 1 && other.dim() == 1, "dot: 1D tensors expected, but got ", dim(), "D and ", other.dim(),
               "D tensors");
  TANDEM_CHECK(numel() == other.numel(), "dot: inconsistent tensor size, expected tensor ", sizes(), " and src ",
               other.sizes(), " to have the same number of elements, but got ", numel(), " and ", other.numel(),
               " elements respectively");
  return matmul(other);
}
Tensor Tensor::inner(const Tensor& other) const {
  if (dim() == 0 || other.dim() == 0) return *this * other;
  if (const Autocast cast{cast_policy::inner, *this, other}) return cast(*this).inner(cast(other));
  TANDEM_CHECK(size(-1) == other.size(-1), "inner: the last dimension must match on both input tensors but got shapes ",
               sizes(), " and ", other.sizes());
  return tensordot(*this, other, {-1}, {-1});
}
Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  if (const Autocast cast{cast_policy::linalg_vecdot, x, y}) return linalg_vecdot(cast(x), cast(y), dim);
  check_product_operands("linalg_vecdot", x, y);
  check_floating_point("linalg_vecdot", x);
  return (x * y).sum(dim);
}

}  // namespace tandem
