// Extremes and their indices: max, min, amax, amin, aminmax, argmax, argmin, amax_out, amin_out.
#include "tandem/ops/reduce/minmax.h"

#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/reduce/reduced_dims.h"

namespace tandem {

TANDEM_CAST_POLICY(none, amax, amin, aminmax, argmax, argmin, max, min);

namespace {
/// Returns the gradient of an extreme of x: equal elements share it evenly. If `nans`, NaNs share the gradient of a
/// NaN.
Tensor extreme_backward(const Tensor& dy, const Tensor& x, const Tensor& extreme, bool nans) {
  Tensor hits = x == extreme;
  // contiguous(): dx is contiguous, as in PyTorch
  if (nans) hits = (hits | (x.isnan() & extreme.isnan())).contiguous();
  const Tensor hit = hits.to(dy.dtype());
  return (dy / sum_to_size(hit, extreme.sizes())) * hit;
}
}  // namespace

#define TANDEM_DEFINE_EXTREME_REDUCTION(name)                                                                         \
  static Tensor name##_of(const Tensor& x, const char* op, IntArrayRef dims, bool keepdim, bool nans) {               \
    const ReducedDims r(op, x, dims);                                                                                 \
    detail::check_reduction_not_empty(op, x, dims);                                                                   \
    Tensor flat = r.allocate_output(x.dtype());                                                                       \
    TANDEM_DISPATCH(x.device(), name, r.x, flat);                                                                     \
    const Tensor y = r.restore_result_shape(flat, keepdim);                                                           \
    return record_op(op, y, {x}, {x, y},                                                                              \
                     [keepdim_sizes = r.keepdim_sizes, nans](const BackwardContext& ctx, const Tensor& dy) -> Grads { \
                       return {extreme_backward(reshape_to_keepdim(dy, keepdim_sizes), ctx.saved(0),                  \
                                                reshape_to_keepdim(ctx.saved(1), keepdim_sizes), nans)};              \
                     });                                                                                              \
  }                                                                                                                   \
  Tensor Tensor::name(IntArrayRef dims, Flag keepdim) const { return name##_of(*this, #name, dims, keepdim, false); }
TANDEM_DEFINE_EXTREME_REDUCTION(amax)
TANDEM_DEFINE_EXTREME_REDUCTION(amin)
#undef TANDEM_DEFINE_EXTREME_REDUCTION
Tensor Tensor::max() const { return amax_of(*this, "max", {}, false, /*nans=*/true); }
Tensor Tensor::min() const { return amin_of(*this, "min", {}, false, /*nans=*/true); }
Tensor& amax_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {
  return detail::assign_out("amax_out", out, x, [&] { return x.amax(dims, keepdim); });
}
Tensor& amin_out(Tensor& out, const Tensor& x, IntArrayRef dims, Flag keepdim) {
  return detail::assign_out("amin_out", out, x, [&] { return x.amin(dims, keepdim); });
}
Tensor Tensor::argmax(std::optional<int64_t> dim, Flag keepdim) const {
  const NoGradGuard guard;
  detail::check_reduction_not_empty("argmax", *this, dim ? Shape{*dim} : Shape());
  if (dim) return std::get<1>(max(*dim, keepdim));
  return core::try_view(std::get<1>(flatten().max(0)), Shape(keepdim ? sizes().size() : 0, 1));
}
Tensor Tensor::argmin(std::optional<int64_t> dim, Flag keepdim) const {
  const NoGradGuard guard;
  detail::check_reduction_not_empty("argmin", *this, dim ? Shape{*dim} : Shape());
  if (dim) return std::get<1>(min(*dim, keepdim));
  return core::try_view(std::get<1>(flatten().min(0)), Shape(keepdim ? sizes().size() : 0, 1));
}
std::tuple<Tensor, Tensor> Tensor::aminmax(std::optional<int64_t> dim, Flag keepdim) const {
  const Shape dims = dim ? Shape{*dim} : Shape();
  return {amin(dims, keepdim), amax(dims, keepdim)};
}

#define TANDEM_DEFINE_INDEXED_EXTREME_REDUCTION(name, kernel)                                                          \
  std::tuple<Tensor, Tensor> Tensor::name(int64_t dim, Flag keepdim) const {                                           \
    const ReducedDims r(#name, *this, {dim});                                                                          \
    detail::check_reduction_not_empty(#name, *this, {dim});                                                            \
    Tensor flat = r.allocate_output(dtype()), positions = r.allocate_output(kInt64);                                   \
    TANDEM_DISPATCH(device(), kernel, r.x, flat, positions);                                                           \
    const Tensor index = r.restore_result_shape(positions, keepdim);                                                   \
    const int64_t at = wrap_dim(#name, dim, this->dim());                                                              \
    return {                                                                                                           \
        record_op(#name, r.restore_result_shape(flat, keepdim), {*this}, {index},                                      \
                  [keepdim_sizes = r.keepdim_sizes, sizes = Shape(sizes()), at](const BackwardContext& ctx,            \
                                                                                const Tensor& dy) -> Grads {           \
                    const Tensor index = reshape_to_keepdim(ctx.saved(0), keepdim_sizes);                              \
                    return {zeros(sizes, dy.options()).scatter_add(at, index, reshape_to_keepdim(dy, keepdim_sizes))}; \
                  }),                                                                                                  \
        index};                                                                                                        \
  }
TANDEM_DEFINE_INDEXED_EXTREME_REDUCTION(max, max_with_index)
TANDEM_DEFINE_INDEXED_EXTREME_REDUCTION(min, min_with_index)
#undef TANDEM_DEFINE_INDEXED_EXTREME_REDUCTION

}  // namespace tandem
