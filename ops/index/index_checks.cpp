// Checks of indices and sources, and conversion of negative positions to non-negative ones: check_gather_index,
// wrap_negative_indices.
#include "tandem/ops/index/index_checks.h"

#include <algorithm>
#include <string_view>

#include "tandem/ops/define_op.h"

namespace tandem::detail {

Tensor wrap_negative_indices(const Tensor& positions, int64_t n) {
  return where(positions < 0, positions + n, positions);
}
Tensor check_gather_index(const char* op, const Tensor& x, int64_t dim, const Tensor& index) {
  if (index.numel() == 0)  // an index without elements may have any dtype, as in PyTorch
    return index.device() == x.device() ? index.to(kInt64) : check_and_convert_index(op, x, index);
  const bool gathers = std::string_view(op) == "gather";
  TANDEM_CHECK(ensure_nonempty_dim(index) == ensure_nonempty_dim(x), op,
               ": Index tensor must have the same number of dimensions as ", gathers ? "input" : "self",
               " tensor, got ", index.sizes(), " for ", x.sizes());
  for (int64_t d = 0; d < x.dim(); ++d) {
    const bool fits = d == dim || index.size(d) <= x.size(d);
    TANDEM_CHECK(fits || !gathers, op, ": Size does not match at dimension ", d, " expected index ", index.sizes(),
                 " to be no larger than self ", x.sizes(), " apart from dimension ", dim);
    TANDEM_CHECK(fits, op, ": Expected index ", index.sizes(), " to be no larger than self ", x.sizes(),
                 " apart from dimension ", dim);
  }
  return check_and_convert_index(op, x, index);
}
bool is_broadcastable(IntArrayRef a, IntArrayRef b) {
  for (size_t k = 1; k <= std::min(a.size(), b.size()); ++k) {
    const int64_t x = a[a.size() - k], y = b[b.size() - k];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}
void check_vector_index(const char* op, const Tensor& x, const Tensor& index) {
  TANDEM_CHECK(index.dim() <= 1, op, ": Index is supposed to be a vector, but got dim: ", index.dim(),
               " with type: ", index.dtype(), " and size: ", index.sizes());
  TANDEM_CHECK(x.dim() > 0 || index.numel() == 1, op, ": Index to scalar can have only 1 value, got ", index.numel(),
               " value(s)");
}
void check_source_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  Shape expected = x.sizes();
  if (x.dim() > 0) expected[static_cast<size_t>(dim)] = index.numel();
  if (source.sizes() == expected) return;
  TANDEM_CHECK(source.dim() != x.dim() || x.dim() == 0 || source.size(dim) == index.numel(), op,
               ": Number of indices (", index.numel(), ") should be equal to source.size(dim): (", source.size(dim),
               "), for dim: ", dim);
  TANDEM_FAIL(
      op, ": source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = ",
      x.sizes(), " source.shape = ", source.sizes());
}

}  // namespace tandem::detail
