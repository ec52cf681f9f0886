// scatter_reduce and scatter_reduce_: reduce elements that are assigned to the same position.
#include "tandem/ops/index/scatter_reduce.h"

#include "tandem/ops/index/reduce_by_index.h"
#include "tandem/ops/index/scatter_into.h"

namespace tandem {

TANDEM_CAST_POLICY(none, scatter_reduce);

Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                              Flag include_self) const {
  const ScatterReduction how = parse_scatter_reduction("scatter_reduce", reduce, /*with_sum=*/true);
  const int64_t d = wrap_dim("scatter_reduce", dim, this->dim());
  // An index without elements may have any dtype, as in scatter.
  const bool reaches_nothing = index.numel() == 0 && index.device() == device();
  const Tensor positions = reaches_nothing ? index.to(kInt64) : check_and_convert_index("scatter_reduce", *this, index);
  check_reduce_index("scatter_reduce", *this, d, index, source);
  return reduce_by_index("scatter_reduce", *this, d, positions, source, how, include_self);
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& source, const std::string& reduce,
                                Flag include_self) const {
  return write_inplace("scatter_reduce_", self(), {source},
                       [&](const Tensor& x) { return x.scatter_reduce(dim, index, source, reduce, include_self); });
}

}  // namespace tandem
