// index_copy and index_copy_: replace the slices that a 1-d index names.
#include "tandem/ops/index/index_copy.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(promote, index_copy);

namespace {
/// Expands a 1-d index along dim to the shape `sizes`, because scatter requires an index for every element.
Tensor expand_index(const Tensor& index, int64_t dim, IntArrayRef sizes) {
  if (sizes.empty()) return index.reshape({});
  Shape column(sizes.size(), 1);
  column[static_cast<size_t>(dim)] = index.numel();
  return index.reshape(column).expand(sizes);
}
/// Checks the operands of index_copy and returns the index in the form that scatter takes. @throws Error unless index
/// is 1-d and source has one slice per element of index
Tensor check_index_copy(const char* op, const Tensor& x, int64_t dim, const Tensor& index, const Tensor& source) {
  const Tensor positions = check_and_convert_index(op, x, index);
  check_same_dtype_and_device(op, "x", x, "source", source);
  Shape expected = x.sizes();
  if (x.dim() > 0) expected[static_cast<size_t>(dim)] = index.numel();
  TANDEM_CHECK_AS(IndexError, index.dim() <= 1, op, ": Index should have dimension 1 or 0 (got ", index.dim(), ")");
  TANDEM_CHECK_AS(IndexError, x.dim() > 0 || index.numel() == 1, op,
                  ": When source is scalar, index should have one element (got ", index.numel(), ")");
  TANDEM_CHECK(
      source.dim() == x.dim(), op,
      ": When source and destination are not scalars, their dimensionality must match. Source dimensionality (",
      source.dim(), "), destination dimensionality (", x.dim(), ")");
  TANDEM_CHECK(x.dim() == 0 || source.size(dim) == index.numel(), op, ": Number of indices (", index.numel(),
               ") should be equal to source.size(dim) (", source.size(dim), ")");
  TANDEM_CHECK(source.sizes() == expected, op, ": Source/destination tensor must have same slice shapes, got source ",
               source.sizes(), "; accepted: ", expected);
  return expand_index(positions, dim, expected);
}
}  // namespace
Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  if (const Autocast cast{cast_policy::index_copy, *this, index, source})
    return cast(*this).index_copy(dim, cast(index), cast(source));
  const int64_t d = wrap_dim("index_copy", dim, this->dim());
  return scatter(d, check_index_copy("index_copy", *this, d, index, source), source);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const {
  return write_inplace("index_copy_", self(), {source},
                       [&](const Tensor& x) { return x.index_copy(dim, index, source); });
}

}  // namespace tandem
