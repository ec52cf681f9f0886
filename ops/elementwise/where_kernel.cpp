// Launches the kernel of where, for where and masked_fill.
#include "tandem/ops/elementwise/where_kernel.h"

#include "tandem/kernels/elementwise.h"
#include "tandem/ops/define_op.h"

namespace tandem::detail {

Tensor launch_where(const char* op, const Tensor& condition, const Tensor& a, const Tensor& b, bool row_major) {
  TANDEM_CHECK(condition.dtype() == kBool, op,
               " expected condition to be a boolean tensor, but got a tensor with dtype ", condition.dtype());
  const Operands o = promote_operands(op, a, b);
  const Device device = common_device(op, condition, o.device.is_cuda() == a.is_cuda() ? a : b);
  const Shape sizes = broadcast_shapes(op, condition.sizes(), o.sizes);
  Tensor y = row_major ? core::empty(sizes, o.a.dtype(), device)
                       : core::empty_result(sizes, o.a.dtype(), device, condition, o.a, o.b);
  TANDEM_DISPATCH(y.device(), where, condition, o.a, o.b, y);
  return record_op("where", y, {o.a, o.b}, {condition},
                   [row_major](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     const Tensor condition = ctx.saved(0);
                     if (row_major) return {Tensor(), dy.masked_fill(condition, 0)};
                     return {ctx.needs_grad(0) ? tandem::where(condition, dy, Scalar(0)) : Tensor(),
                             ctx.needs_grad(1) ? tandem::where(condition, Scalar(0), dy) : Tensor()};
                   });
}

}  // namespace tandem::detail
