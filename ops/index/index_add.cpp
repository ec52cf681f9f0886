// index_add and index_add_: add slices to the slices that a 1-d index names.
#include "tandem/ops/index/index_add.h"

#include "tandem/kernels/index.h"
#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index_add);

using detail::as_outer_dim_inner, detail::check_and_convert_index;

Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  if (alpha.to_double() != 1) return index_add(dim, index, source * alpha);
  const Tensor positions = check_and_convert_index("index_add", *this, index);
  dim = wrap_dim("index_add", dim, this->dim());
  detail::check_vector_index("index_add", *this, index);
  check_same_dtype_and_device("index_add", "x", *this, "source", source);
  detail::check_source_slices("index_add", *this, dim, index, source);
  const Tensor x = as_outer_dim_inner(source, dim), at = positions.contiguous();
  Tensor out;
  {
    const NoGradGuard guard;
    out = clone(MemoryFormat::Contiguous);
  }
  Tensor y = as_outer_dim_inner(out, dim);
  TANDEM_DISPATCH(device(), index_add, x, at, y);
  return record_op("index_add", out, {*this, source}, {positions},
                   [dim](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {dy, ctx.needs_grad(1) ? dy.index_select(dim, ctx.saved(0)) : Tensor()};
                   });
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  return write_inplace("index_add_", self(), {source},
                       [&](const Tensor& x) { return x.index_add(dim, index, source, alpha); });
}

}  // namespace tandem
