// index_select: selects slices along a dimension at the positions that a 1-d index names.
#include "tandem/ops/index/index_select.h"

#include "tandem/kernels/index.h"
#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index_select);

using detail::as_outer_dim_inner, detail::check_and_convert_index;

/// Returns zeros(sizes).index_add(dim, index, dy) without copying the zeros. Autograd records it as index_add, which is
/// linear in dy.
static Tensor index_select_backward(const Tensor& dy, int64_t dim, const Tensor& index, IntArrayRef sizes) {
  Tensor dx = zeros(sizes, dy.options());
  const Tensor g = as_outer_dim_inner(dy, dim), at = index.contiguous();
  Tensor y = as_outer_dim_inner(dx, dim);
  TANDEM_DISPATCH(dy.device(), index_add, g, at, y);
  return record_op("index_add", dx, {dy}, {index}, [dim](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
    return {ddx.index_select(dim, ctx.saved(0))};
  });
}
Tensor detail::select_rows(const char* op, const Tensor& from, int64_t dim, const Tensor& index) {
  const Tensor positions = check_and_convert_index(op, from, index);
  dim = wrap_dim(op, dim, from.dim());
  TANDEM_CHECK_AS(IndexError, index.dim() <= 1, op, ": Index is supposed to be a vector, got ", index.sizes());
  TANDEM_CHECK_AS(IndexError, from.dim() > 0 || index.numel() == 1, op, ": Index to scalar can have only 1 value, got ",
                  index.numel(), " value(s)");
  const Tensor x = as_outer_dim_inner(from, dim), at = positions.contiguous();
  Shape sizes = from.sizes();
  if (from.dim() > 0) sizes[static_cast<size_t>(dim)] = index.numel();
  Tensor y = core::empty(sizes, from.dtype(), from.device());
  TANDEM_DISPATCH(from.device(), index_select, op, x, at, y);
  return record_op("index_select", y, {from}, {positions},
                   [dim, sizes = Shape(from.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {index_select_backward(dy, dim, ctx.saved(0), sizes)};
                   });
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const {
  return select_rows("index_select", *this, dim, index);
}

}  // namespace tandem
