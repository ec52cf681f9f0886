// take: reads elements at positions that count in row-major order. take_along_dim: reads elements at positions along a
// dimension.
#include "tandem/ops/index/take.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/index/index_checks.h"
#include "tandem/ops/index/index_select.h"

namespace tandem {

TANDEM_CAST_POLICY(none, take, take_along_dim);

Tensor Tensor::take(const Tensor& index) const {
  const Tensor positions = wrap_negative_indices(check_and_convert_index("take", *this, index), numel()).reshape({-1});
  return reshape_result(select_rows("take", reshape({-1}), 0, positions), index.sizes());
}
Tensor Tensor::take_along_dim(const Tensor& indices, std::optional<int64_t> dim) const {
  if (!dim) return reshape({-1}).gather(0, indices.reshape({-1}));
  const int64_t d = wrap_dim("take_along_dim", *dim, this->dim());
  TANDEM_CHECK(indices.dim() == this->dim(),
               "take_along_dim(): input and indices should have the same number of dimensions, but got ", this->dim(),
               " dimensions for input, and ", indices.dim(), " dimensions for indices");
  if (this->dim() == 0) return gather(0, indices);
  const auto at = static_cast<size_t>(d);
  Shape one = sizes(), other = indices.sizes();
  one[at] = other[at] = 1;
  const Shape common = broadcast_shapes("take_along_dim", one, other);
  Shape from = common, to = common;
  from[at] = size(d);
  to[at] = indices.size(d);
  // Positions out of range wrap around, as in PyTorch. If the size is 0, there is nothing to wrap around.
  const Tensor index = check_and_convert_index("take_along_dim", *this, indices);
  const Tensor positions = size(d) > 0 ? index.remainder(size(d)) : index;
  return expand(from).gather(d, positions.expand(to));
}

}  // namespace tandem
