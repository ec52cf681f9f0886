// gather: reads elements along a dimension at the positions that an index names.
#include "tandem/ops/index/gather.h"

#include "tandem/kernels/index.h"
#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, gather);

using detail::as_outer_dim_inner;

/// Returns zeros(sizes).scatter_add(dim, index, dy) without copying the zeros. Autograd records it as scatter_add,
/// which is linear in dy.
static Tensor gather_backward(const Tensor& dy, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  const Tensor dx = zeros(sizes, dy.options());
  scatter_into("gather", dx, dim, index, dy, true);
  return record_op("scatter_add", dx, {dy}, {index}, [dim](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
    return {ddx.gather(dim, ctx.saved(0))};
  });
}
Tensor Tensor::gather(int64_t dim, const Tensor& index, Flag sparse_grad) const {
  TANDEM_CHECK(!sparse_grad, "gather: sparse_grad is true, but there are no sparse gradients; accepted: false");
  dim = wrap_dim("gather", dim, this->dim());
  const Tensor positions = check_gather_index("gather", *this, dim, index);
  Tensor y = core::empty(index.sizes(), dtype(), device());
  if (index.numel() > 0) {
    const NoGradGuard guard;
    const Tensor x = as_outer_dim_inner(narrow_to_index(*this, dim, positions), dim),
                 at = as_outer_dim_inner(positions, dim);
    Tensor flat = core::try_view(y, at.sizes());
    TANDEM_DISPATCH(device(), gather, x, at, flat);
  }
  return record_op("gather", y, {*this}, {positions},
                   [dim, sizes = Shape(this->sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {gather_backward(dy, dim, ctx.saved(0), sizes)};
                   });
}

}  // namespace tandem
