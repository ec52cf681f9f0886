// Checks of indices and sources, and conversion of negative positions to non-negative ones: checked_places, from_front.
#include "tandem/ops/index/index_checks.h"

#include "tandem/ops/define_op.h"

namespace tandem::detail {

Tensor from_front(const Tensor& places, int64_t n) { return where(places < 0, places + n, places); }
Tensor checked_places(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  if (index.numel() == 0)  // an index without elements may have any dtype, as in PyTorch
    return index.device() == x.device() ? index.to(kInt64) : checked_index(op, x, index);
  TANDEM_CHECK(rank_of(index) == rank_of(x), op, ": x is ", x.sizes(), " and index ", index.sizes(),
               "; both must have the same number of dimensions");
  for (int64_t d = 0; d < x.dim(); ++d)
    TANDEM_CHECK(d == dim || index.size(d) <= x.size(d), op, ": index is ", index.sizes(), " for x of ", x.sizes(),
                 "; it may be larger only in dimension ", dim);
  return checked_index(op, x, index);
}

}  // namespace tandem::detail
