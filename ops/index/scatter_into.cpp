// Scattering into an existing tensor: scatter_into.
#include "tandem/ops/index/scatter_into.h"

#include "tandem/kernels/index.h"

namespace tandem::detail {

Tensor narrow_to_index(Tensor x, int64_t dim, const Tensor& index) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if (d != dim && x.size(d) != index.size(d)) x = x.narrow(d, 0, index.size(d));
  return x;
}
void scatter_into(const char* op, const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, bool add) {
  if (index.numel() == 0) return;
  const NoGradGuard guard;
  const Tensor part = narrow_to_index(out, dim, index);
  Tensor flat = as_outer_dim_inner(part, dim);
  const Tensor at = as_outer_dim_inner(index, dim), from = as_outer_dim_inner(source, dim);
  TANDEM_DISPATCH(out.device(), scatter, op, at, from, add, flat);
  if (flat.storage() != out.storage()) copy_elements(core::try_view(flat, part.sizes()), part);
}

}  // namespace tandem::detail
