// Choosing between two tensors by a condition: where.
#include "tandem/ops/elementwise/where.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/elementwise/where_kernel.h"
#include "tandem/ops/index/nonzero.h"
#include "tandem/ops/promotion.h"

namespace tandem {

TANDEM_CAST_POLICY(none, where);

namespace {
/// Checks that `type` can hold s, like check_representable; but for a half type, s may overflow to infinity, as in
/// PyTorch.
void check_where_scalar(DType type, const Scalar& s) {
  if (!is_reduced_floating_point(type)) check_representable("where", type, s);
}
}  // namespace
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  return launch_where("where", condition, a, b);
}
Tensor where(const Tensor& condition, const Scalar& a, const Tensor& b) {
  check_where_scalar(result_type(b, a), a);
  return where(condition, wrap_scalar(b, a), b);
}
Tensor where(const Tensor& condition, const Tensor& a, const Scalar& b) {
  check_where_scalar(result_type(a, b), b);
  return where(condition, a, wrap_scalar(a, b));
}
Tensor where(const Tensor& condition, const Scalar& a, const Scalar& b) {
  const DType dtype = promote_types(a.dtype(), b.dtype());
  return where(condition, wrapped_scalar_tensor(condition.device(), a, dtype),
               wrapped_scalar_tensor(condition.device(), b, dtype));
}
Tensor Tensor::where(const Tensor& condition, const Scalar& other) const {
  return tandem::where(condition, *this, other);
}
Tensor Tensor::where(const Tensor& condition, const Tensor& other) const {
  return tandem::where(condition, *this, other);
}
std::vector<Tensor> where(const Tensor& condition) {
  return nonzero(condition.dim() == 0 ? condition.unsqueeze(0) : condition).unbind(1);
}

}  // namespace tandem
