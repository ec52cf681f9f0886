// Implements sums that several reductions use: sum_with_dtype, sum_in_two_steps, sum_over_non_channels, record_sum,
// sum_of_squares, root_mean_square.
#include "tandem/ops/reduce/partial_sums.h"

#include <bit>

#include "tandem/core/trace/op_span.h"
#include "tandem/kernels/reduce.h"
#include "tandem/ops/define_op.h"

namespace tandem {

Tensor sum_with_dtype(const Tensor& x, IntArrayRef dims, bool keepdim, DType dtype) {
  const ReducedDims r("sum", x, dims);
  Tensor flat = r.allocate_output(dtype);
  TANDEM_DISPATCH(x.device(), sum, r.x, flat);
  return record_op(
      "sum", r.restore_result_shape(flat, keepdim), {x}, {},
      [keepdim_sizes = r.keepdim_sizes, sizes = Shape(x.sizes())](const BackwardContext&, const Tensor& dy) -> Grads {
        return {reshape_to_keepdim(dy, keepdim_sizes).expand(sizes)};
      });
}
Tensor detail::sum_in_two_steps(const Tensor& x, IntArrayRef dims, bool keepdim) {
  if (is_reduced_floating_point(x.dtype()) || dims.size() < 2) return {};
  const unsigned mask = make_dim_mask("sum", dims, x.dim());
  if (!x.is_contiguous()) {
    const Shape order = get_memory_order(x);
    Shape there;
    for (size_t i = 0; i < order.size(); ++i)
      if (mask >> order[i] & 1) there.push_back(static_cast<int64_t>(i));
    const Tensor total = order.empty() ? Tensor() : sum_in_two_steps(core::permute(x, order), there, true);
    if (!total.defined()) return {};
    const Tensor y = to_logical_order(total, order);
    return core::try_view(y, keepdim ? get_keepdim_sizes(x.sizes(), mask) : get_squeezed_sizes(x.sizes(), mask));
  }
  const int last = std::bit_width(mask) - 1;
  int first = last;
  while (first > 0 && mask >> (first - 1) & 1) --first;
  Shape run, others;
  for (int d = 0; d <= last; ++d)
    if (mask >> d & 1) (d < first ? others : run).push_back(d);
  if (others.empty()) return {};
  const NoGradGuard guard;
  const Tensor total = core::alias(x).sum(run, true).sum(others, true);
  return keepdim ? total : core::try_view(total, get_squeezed_sizes(x.sizes(), mask));
}
Tensor detail::record_sum(const char* op, const Tensor& y, const Tensor& x, unsigned mask,
                          std::optional<double> divisor) {
  return record_op(op, y, {x}, {},
                   [keepdim_sizes = get_keepdim_sizes(x.sizes(), mask), sizes = Shape(x.sizes()), divisor](
                       const BackwardContext&, const Tensor& dy) -> Grads {
                     const Tensor each = divisor ? dy / *divisor : dy;
                     return {reshape_to_keepdim(each, keepdim_sizes).expand(sizes)};
                   });
}
Tensor detail::sum_over_non_channels(const char* op, const Tensor& x, IntArrayRef dims, bool keepdim, double divisor) {
  if (!x.is_cuda() || dims.size() < 2) return {};
  const ChannelDims c(op, x, dims);
  // if N or L is 1, the reduced dims are adjacent, and one ordinary reduction suffices
  if (!c.x.defined() || c.x.size(0) == 1 || c.x.size(2) == 1) return {};
  const OpSpan span(op);
  Tensor flat = core::empty({c.x.size(1)}, detail::accumulate_type(x.dtype()), x.device());
  TANDEM_DISPATCH_CUDA(x.device(), channel_mean, c.x, divisor, flat);
  const NoGradGuard guard;
  return c.restore_result_shape(flat, keepdim).to(x.dtype());
}

Tensor detail::sum_of_squares(const ReducedDims& r, bool about_mean) {
  Tensor center, flat = r.allocate_output(kFloat64);
  if (about_mean) {
    Tensor total = r.allocate_output(is_reduced_floating_point(r.x.dtype()) ? kFloat32 : kFloat64);
    TANDEM_DISPATCH(r.x.device(), sum, r.x, total);
    center = total.to(kFloat64).div_(static_cast<double>(r.reduced_size));
  }
  TANDEM_DISPATCH(r.x.device(), sum_of_squares_about, r.x, center, flat);
  return flat;
}
Tensor root_mean_square(const Tensor& x, IntArrayRef dims, double eps) {
  const OpSpan span("root_mean_square");
  Tensor y;
  const ReducedDims r("root_mean_square", x, dims);
  const double count = static_cast<double>(r.reduced_size);
  {
    const NoGradGuard guard;
    y = (sum_of_squares(r, /*about_mean=*/false) / count + eps).sqrt();
    y = r.restore_result_shape(y, /*keepdim=*/true).to(detail::accumulate_type(x.dtype()));
  }
  return record_op("root_mean_square", y, {x}, {x, y}, [count](const BackwardContext& ctx, const Tensor& dy) -> Grads {
    const Tensor x = ctx.saved(0);
    return {(x / ctx.saved(1) * (dy / count)).to(x.dtype())};
  });
}

}  // namespace tandem
