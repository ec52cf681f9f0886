// index_copy and index_copy_: replace the slices that a 1-d index names.
#include "tandem/ops/index/index_copy.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, index_copy);

namespace {
/// Expands a 1-d index along dim to the shape `sizes`, because scatter requires an index for every element.
Tensor widened(const Tensor& index, int64_t dim, IntArrayRef sizes) {
  if (sizes.empty()) return index.reshape({});
  Shape column(sizes.size(), 1);
  column[static_cast<size_t>(dim)] = index.numel();
  return index.reshape(column).expand(sizes);
}
/// Checks the operands of index_copy and returns the index in the form that scatter takes. @throws Error unless index
/// is 1-d and source has one slice per element of index
Tensor checked_slices(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor places = checked_index(op, x, index);
  check_same_dtype_and_device(op, "x", x, "source", source);
  Shape expected = x.sizes();
  if (x.dim() > 0) expected[static_cast<size_t>(dim)] = index.numel();
  const bool fits = index.dim() <= 1 && (x.dim() > 0 || index.numel() == 1);
  TANDEM_CHECK_AS(IndexError, fits, op, ": x is ", x.sizes(), " and index ", index.sizes(),
                  "; accepted: an index of one dimension, and of one place for a scalar");
  TANDEM_CHECK(source.sizes() == expected, op, ": source is ", source.sizes(), "; accepted: ", expected);
  return widened(places, dim, expected);
}
}  // namespace
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  const int64_t d = wrap_dim("index_copy", dim, this->dim());
  return scatter(d, checked_slices("index_copy", *this, d, index, source), source);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return write_in_place("index_copy_", self(), {source},
                        [&](const Tensor& x) { return x.index_copy(dim, index, source); });
}

}  // namespace tandem
