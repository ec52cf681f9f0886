// Medians: median and nanmedian, over all elements or along a dimension.
#include "tandem/ops/reduce/median.h"

#include <limits>

#include "tandem/ops/define_op.h"

namespace tandem {

TANDEM_CAST_POLICY(none, median, nanmedian);

namespace {
/// Returns the median along dim, with keepdim, and its index. NaNs are sorted last.
std::tuple<Tensor, Tensor> median_keepdim(const char* op, const Tensor& x, int64_t dim, bool ignore_nan) {
  check_accepted_dtype(op, AcceptedDtypes::numbers, x.dtype());
  const int64_t n = x.dim() ? x.size(dim) : 1;
  TANDEM_CHECK_AS(IndexError, n > 0, op, "(): Expected reduction dim ", dim, " to have non-zero size, got ", x.sizes());
  if (x.dim() == 0) return {x.clone(), zeros({}, TensorOptions(kInt64).device(x.device()))};
  const auto [values, index] = x.sort(dim);
  if (!x.is_floating_point()) return {values.narrow(dim, (n - 1) / 2, 1), index.narrow(dim, (n - 1) / 2, 1)};
  const Tensor count = x.eq(x).sum(dim, true);  // number of elements that are not NaN
  const Tensor position =
      ignore_nan ? (count - 1).clamp_min(0).floor_divide(2) : where(count < n, count, full_like(count, (n - 1) / 2));
  return {values.gather(dim, position), index.gather(dim, position)};
}
std::tuple<Tensor, Tensor> median_along(const char* op, const Tensor& x, int64_t dim, bool keepdim, bool ignore_nan) {
  const int64_t d = wrap_dim(op, dim, x.dim());
  const auto [values, index] = median_keepdim(op, x, d, ignore_nan);
  if (keepdim || x.dim() == 0) return {values.contiguous(), index.contiguous()};
  Shape left = values.sizes();
  left.erase(static_cast<size_t>(d));
  return {reshape_result(values.contiguous(), left), reshape_result(index.contiguous(), left)};
}
Tensor median_all_dims(const char* op, const Tensor& x, bool ignore_nan) {
  Tensor y;
  if (x.numel() == 0 && x.is_floating_point()) {
    y = full({}, std::numeric_limits<double>::quiet_NaN(), x.options());
  } else {
    const NoGradGuard guard;
    y = std::get<0>(median_keepdim(op, x.reshape({-1}), 0, ignore_nan)).reshape({}).clone();
  }
  return record_op(op, y, {x}, {x, y}, [](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0), y = ctx.saved(1);
    const Tensor hit = ((x == y) | (x.isnan() & y.isnan())).contiguous();
    // dx gets the layout of `hit`, and so is contiguous, as in PyTorch.
    return {where(hit, dy / hit.sum(), Scalar(0))};
  });
}
}  // namespace
Tensor Tensor::median() const { return median_all_dims("median", *this, false); }
Tensor Tensor::nanmedian() const { return median_all_dims("nanmedian", *this, true); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, Flag keepdim) const {
  return median_along("median", *this, dim, keepdim, false);
}
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, Flag keepdim) const {
  return median_along("nanmedian", *this, dim, keepdim, true);
}

}  // namespace tandem
