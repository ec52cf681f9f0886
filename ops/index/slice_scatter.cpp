// Replacing the elements of a view: slice_scatter, select_scatter, diagonal_scatter and as_strided_scatter.
#include "tandem/ops/index/slice_scatter.h"

#include "tandem/ops/argument.h"
#include "tandem/ops/index/index_checks.h"

namespace tandem {

TANDEM_CAST_POLICY(none, as_strided_scatter, diagonal_scatter, select_scatter, slice_scatter);

namespace {
/// Copies source into view(whole), a view of whole, and returns whole.
template <class View> Tensor replace_view(const char* op, const Tensor& whole, const Tensor& source, const View& view) {
  Tensor y = whole, part = view(y);
  check_same_dtype_and_device(op, "x", whole, "source", source);
  TANDEM_CHECK(source.sizes() == part.sizes(), op,
               ": expected src to have a size equal to the slice of self. src size = ", source.sizes(),
               ", slice size = ", part.sizes());
  part.copy_(source);
  return y;
}
}  // namespace
Tensor Tensor::select_scatter(const Tensor& source, int64_t dim, int64_t index) const {
  return replace_view("select_scatter", clone(), source, [&](const Tensor& y) { return y.select(dim, index); });
}
Tensor Tensor::slice_scatter(const Tensor& source, int64_t dim, std::optional<int64_t> start,
                             std::optional<int64_t> end, int64_t step) const {
  return replace_view("slice_scatter", clone(), source,
                      [&](const Tensor& y) { return y.slice(dim, start, end, step); });
}
Tensor Tensor::diagonal_scatter(const Tensor& source, int64_t offset, int64_t dim1, int64_t dim2) const {
  return replace_view("diagonal_scatter", clone(), source,
                      [&](const Tensor& y) { return y.diagonal(offset, dim1, dim2); });
}
Tensor Tensor::as_strided_scatter(const Tensor& source, IntArrayRef sizes, IntArrayRef strides,
                                  std::optional<int64_t> storage_offset) const {
  const Tensor y = clone();
  TANDEM_CHECK(y.strides() == this->strides(), "as_strided_scatter: x must be dense, with no gaps or overlaps, got ",
               this->sizes(), " with strides ", this->strides());
  const int64_t offset = storage_offset.value_or(this->storage_offset()) - this->storage_offset();
  return replace_view("as_strided_scatter", y, source,
                      [&](const Tensor& whole) { return whole.as_strided(sizes, strides, offset); });
}

}  // namespace tandem
