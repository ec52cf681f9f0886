// index_reduce and index_reduce_: reduce slices that are assigned to the same position.
#include "tandem/ops/index/index_reduce.h"

#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/reduce_by_place.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, index_reduce);

Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                            Flag include_self) const {
  const Reduce how = parse_reduce("index_reduce", reduce, /*with_sum=*/false);
  const int64_t d = wrap_dim("index_reduce", dim, this->dim());
  const Tensor places = checked_index("index_reduce", *this, index);
  Shape expected = sizes(), column(expected.size(), 1);
  if (this->dim() > 0) expected[static_cast<size_t>(d)] = column[static_cast<size_t>(d)] = index.numel();
  check_vector_index("index_reduce", *this, index);
  check_source_slices("index_reduce", *this, d, index, source);
  TANDEM_CHECK_AS(IndexError, index.numel() == 0 || size_of(*this, d) > 0,
                  "index_reduce: index out of range in self: dimension ", d, " of ", sizes(), " has size 0");
  const Tensor wide = places.reshape(column).expand(expected);
  check_reduce_places("index_reduce", *this, d, wide, source);
  return reduce_by_place("index_reduce", *this, d, wide, source, how, include_self);
}
Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                              Flag include_self) const {
  return write_in_place("index_reduce_", self(), {source},
                        [&](const Tensor& x) { return x.index_reduce(dim, index, source, reduce, include_self); });
}

}  // namespace tandem
