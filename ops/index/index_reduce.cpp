// index_reduce and index_reduce_: reduce slices that are assigned to the same position.
#include "tandem/ops/index/index_reduce.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/reduce_by_index.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index_reduce);

Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                            Flag include_self) const {
  const ScatterReduction how = parse_scatter_reduction("index_reduce", reduce, /*with_sum=*/false);
  const int64_t d = wrap_dim("index_reduce", dim, this->dim());
  const Tensor positions = check_and_convert_index("index_reduce", *this, index);
  Shape expected = sizes(), column(expected.size(), 1);
  if (this->dim() > 0) expected[static_cast<size_t>(d)] = column[static_cast<size_t>(d)] = index.numel();
  check_vector_index("index_reduce", *this, index);
  check_source_slices("index_reduce", *this, d, index, source);
  TANDEM_CHECK_AS(IndexError, index.numel() == 0 || ensure_nonempty_size(*this, d) > 0,
                  "index_reduce: index out of range in self: dimension ", d, " of ", sizes(), " has size 0");
  const Tensor wide = positions.reshape(column).expand(expected);
  check_reduce_index("index_reduce", *this, d, wide, source);
  return reduce_by_index("index_reduce", *this, d, wide, source, how, include_self);
}
Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                              Flag include_self) const {
  return write_inplace("index_reduce_", self(), {source},
                       [&](const Tensor& x) { return x.index_reduce(dim, index, source, reduce, include_self); });
}

}  // namespace tandem
