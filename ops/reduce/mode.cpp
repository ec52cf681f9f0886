// The most frequent element along a dimension: mode.
#include "tandem/ops/reduce/mode.h"

#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(none, mode);

std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, Flag keepdim) const {
  const int64_t d = wrap_dim("mode", dim, this->dim());
  if (this->dim() == 0) return {clone(), zeros({}, TensorOptions(kInt64).device(device()))};
  TANDEM_CHECK_AS(IndexError, size(d) > 0, "mode(): Expected reduction dim ", d, " to have non-zero size, got ",
                  sizes());
  Tensor at;
  {
    const NoGradGuard guard;
    const auto [sorted, order] = detach().transpose(d, -1).sort(-1);
    // Counts, for each sorted element, the equal elements before it in its run. The count is largest for the last
    // element of a run. NaNs are sorted last, and each NaN is a run of its own.
    const Tensor position = arange_along_dim(sorted, sorted.dim() - 1);
    Tensor starts = position.clone();
    if (size(d) > 1) {
      const Tensor later = starts.narrow(-1, 1, size(d) - 1);
      later.masked_fill_(sorted.narrow(-1, 1, size(d) - 1).eq(sorted.narrow(-1, 0, size(d) - 1)), 0);
    }
    const Tensor count = position - std::get<0>(starts.cummax(-1)), last = count.argmax(-1, true);
    at = order.gather(-1, last).transpose(d, -1).contiguous();
  }
  const Tensor values = gather(d, at);
  if (keepdim) return {values, at};
  Shape left = values.sizes();
  left.erase(static_cast<size_t>(d));
  return {reshape_result(values, left), reshape_result(at, left)};
}

}  // namespace tandem
