#include "tandem/ops/pool.h"

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/kernels/pool.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise.h"
#include "tandem/ops/factory.h"

namespace tandem {
using detail::check_real, detail::contiguous_detached;

namespace {
/// Output size of one window dimension, as PyTorch rounds it: a last window that starts in the right padding is left
/// out.
int64_t pooled(const char* op, int64_t size, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
               bool ceil) {
  TANDEM_CHECK(kernel > 0 && stride > 0 && dilation > 0 && padding >= 0 && padding * 2 <= kernel, op, ": kernel ",
               kernel, ", stride ", stride, ", padding ", padding, ", dilation ", dilation,
               "; all but padding must be positive, and padding at most half the kernel");
  TANDEM_CHECK(size > 0, op, ": x is empty in a dimension that is pooled; accepted: one or more elements");
  // A window that is larger than the padded size hangs over its end, which ceil_mode allows by less than a stride.
  const int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
  TANDEM_CHECK(room >= 0, op, ": a window of ", dilation * (kernel - 1) + 1, " is larger than the padded size ",
               size + 2 * padding, ceil ? " by a stride or more" : "");
  int64_t out = room / stride + 1;
  if (ceil && (out - 1) * stride >= size + padding) --out;
  return out;
}
kernels::PoolShape pool_shape(Pair k, IntArrayRef stride, Pair p, Pair d, bool include) {
  const Pair s = stride.empty() ? k : Pair(stride);
  return {{k[0], k[1]}, {s[0], s[1]}, {p[0], p[1]}, {d[0], d[1]}, include};
}
struct Planes {
  Tensor x;   // (planes, H, W), contiguous
  Shape out;  // the output's full shape
  int64_t oh, ow;
  Planes(const char* op, const Tensor& input, const kernels::PoolShape& s, bool ceil) : Planes(op, input) {
    TANDEM_CHECK(input.size(-3) > 0, op, ": x is ", input.sizes(), "; only the first of four sizes may be 0");
    oh = pooled(op, x.size(1), s.kernel[0], s.stride[0], s.padding[0], s.dilation[0], ceil);
    ow = pooled(op, x.size(2), s.kernel[1], s.stride[1], s.padding[1], s.dilation[1], ceil);
    finish();
  }
  Planes(const char* op, const Tensor& input) {
    check_real(op, input);
    TANDEM_CHECK(input.dim() == 3 || input.dim() == 4, op, ": x is ", input.sizes(),
                 "; accepted: (N, C, H, W) or (C, H, W)");
    out = input.sizes();
    int64_t planes = 1;
    for (int64_t d = 0; d + 2 < input.dim(); ++d) planes *= input.size(d);
    x = core::try_view(contiguous_detached(input), {planes, input.size(-2), input.size(-1)});
  }
  void finish() { out[out.size() - 2] = oh, out[out.size() - 1] = ow; }
  Tensor make(DType dtype) const { return core::empty({x.size(0), oh, ow}, dtype, x.device()); }
};

Tensor max_pool_backward(const Tensor& dy, const Tensor& index, const kernels::PoolShape& s, IntArrayRef x_sizes) {
  const Tensor g = core::try_view(contiguous_detached(dy), index.sizes());
  const Shape planes{index.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()};
  Tensor dx = core::empty(planes, dy.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), max_pool2d_backward, g, index, s, dx);
  return record("max_pool2d_backward", core::try_view(dx, x_sizes), {dy}, {index},
                [sizes = Shape(dy.sizes()), planes](const Context& ctx, const Tensor& ddx) -> Grads {
                  const Tensor index = ctx.saved(0).flatten(1), none = index < 0;
                  const Tensor ddy = ddx.reshape(planes).flatten(1).gather(1, where(none, zeros_like(index), index));
                  return {where(none, Scalar(0), ddy).reshape(sizes)};
                });
}
/// A linear op and its transpose, each the other's derivative.
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil);
Tensor avg_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil) {
  const Planes p("avg_pool2d", input, s, ceil);
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), avg_pool2d, p.x, s, y);
  return record("avg_pool2d", core::try_view(y, p.out), {input}, {},
                [=, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, avg_pool_backward(dy, s, sizes, ceil))};
                });
}
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil) {
  const Planes p("avg_pool2d_backward", dy);
  Tensor dx = core::empty({p.x.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()}, p.x.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), avg_pool2d_backward, p.x, s, dx);
  return record("avg_pool2d_backward", core::try_view(dx, x_sizes), {dy}, {},
                [s, ceil](const Context&, const Tensor& ddx) -> Grads { return {avg_pool(ddx, s, ceil)}; });
}
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes);
}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, Pair kernel, IntArrayRef stride, Pair padding,
                                                   Pair dilation, Flag ceil_mode) {
  const kernels::PoolShape s = pool_shape(kernel, stride, padding, dilation, true);
  const Planes p("max_pool2d", input, s, ceil_mode);
  Tensor y = p.make(p.x.dtype()), index = p.make(kInt64);
  TANDEM_DISPATCH(input.device(), max_pool2d, p.x, s, y, index);
  return {record("max_pool2d", core::try_view(y, p.out), {input}, {index},
                 [s, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                   return {ctx.flat_in(0, max_pool_backward(dy, ctx.saved(0), s, sizes))};
                 }),
          core::try_view(index, p.out)};
}
Tensor max_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Pair dilation, Flag ceil_mode) {
  return std::get<0>(max_pool2d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Flag ceil_mode,
                  Flag count_include_pad) {
  return avg_pool(x, pool_shape(kernel, stride, padding, 1, count_include_pad), ceil_mode);
}
Tensor adaptive_avg_pool2d(const Tensor& input, Pair size) {
  if (size[0] == 1 && size[1] == 1 && (input.dim() == 3 || input.dim() == 4)) {
    check_real("adaptive_avg_pool2d", input);
    return input.mean({-2, -1}, true);
  }
  Planes p("adaptive_avg_pool2d", input);
  TANDEM_CHECK(size[0] > 0 && size[1] > 0 && p.x.size(1) > 0 && p.x.size(2) > 0, "adaptive_avg_pool2d: from ",
               input.sizes(), " to ", IntArrayRef(size), "; sizes must be positive");
  p.oh = size[0], p.ow = size[1];
  p.finish();
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), adaptive_avg_pool2d, p.x, y);
  return record("adaptive_avg_pool2d", core::try_view(y, p.out), {input}, {},
                [sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, adaptive_backward(dy, sizes))};
                });
}
namespace {
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes) {
  const Planes p("adaptive_avg_pool2d_backward", dy);
  Tensor dx = core::empty({p.x.size(0), x_sizes[x_sizes.size() - 2], x_sizes.back()}, p.x.dtype(), dy.device());
  TANDEM_DISPATCH(dy.device(), adaptive_avg_pool2d_backward, p.x, dx);
  const Pair size(dy.size(-2), dy.size(-1));
  return record("adaptive_avg_pool2d_backward", core::try_view(dx, x_sizes), {dy}, {},
                [size](const Context&, const Tensor& ddx) -> Grads { return {adaptive_avg_pool2d(ddx, size)}; });
}
}  // namespace

}  // namespace tandem
