#include "tandem/ops/nn/pool.h"

#include <limits>

#include "tandem/autograd/record.h"
#include "tandem/core/dispatch.h"
#include "tandem/core/loop/run_loop.h"
#include "tandem/kernels/pool.h"
#include "tandem/ops/argument.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/nn/pool_windows.h"
#include "tandem/ops/reduce/search.h"

namespace tandem {
using detail::check_real;

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
/// Whether a pool works on x, and gives its result, channels-last.
bool is_channels_last(const Tensor& x) { return x.suggest_memory_format() == MemoryFormat::ChannelsLast; }
/// As kernels take images: channels-last, or as planes.
Tensor images_or_planes(const Tensor& x, bool channels_last) {
  const NoGradGuard guard;
  if (channels_last) return core::alias(x.contiguous(MemoryFormat::ChannelsLast));
  const int64_t planes = numel_of(x.sizes().slice(0, x.sizes().size() - 2));
  return core::try_view(x.contiguous(), {planes, x.size(-2), x.size(-1)});
}
/// Images of other sizes, as the kernels take them.
Tensor make_like(const Tensor& x, DType dtype, int64_t h, int64_t w) {
  if (x.dim() == 3) return core::empty({x.size(0), h, w}, dtype, x.device());
  const Shape sizes{x.size(0), x.size(1), h, w};
  return core::empty_dense(sizes, core::strides_of("pool", sizes, MemoryFormat::ChannelsLast), dtype, x.device());
}
/// What a kernel wrote, as it is returned.
Tensor of_sizes(const Tensor& y, IntArrayRef sizes) { return y.dim() == 4 ? y : core::try_view(y, sizes); }

struct Planes {
  Tensor x;   // as the kernels take it
  Shape out;  // the output's full shape
  int64_t oh, ow;
  Planes(const char* op, const Tensor& input, const kernels::PoolShape& s, bool ceil, bool channels_last)
      : Planes(op, input, channels_last) {
    TANDEM_CHECK(input.size(-3) > 0, op, ": x is ", input.sizes(), "; only the first of four sizes may be 0");
    oh = pooled(op, x.size(-2), s.kernel[0], s.stride[0], s.padding[0], s.dilation[0], ceil);
    ow = pooled(op, x.size(-1), s.kernel[1], s.stride[1], s.padding[1], s.dilation[1], ceil);
    finish();
  }
  Planes(const char* op, const Tensor& input, bool channels_last) {
    check_real(op, input);
    TANDEM_CHECK(input.dim() == 3 || input.dim() == 4, op, ": x is ", input.sizes(),
                 "; accepted: (N, C, H, W) or (C, H, W)");
    out = input.sizes();
    x = images_or_planes(input, channels_last);
  }
  void finish() { out[out.size() - 2] = oh, out[out.size() - 1] = ow; }
  Tensor make(DType dtype) const { return make_like(x, dtype, oh, ow); }
};

Tensor max_pool_backward(const Tensor& dy, const Tensor& index, const kernels::PoolShape& s, IntArrayRef x_sizes) {
  const Tensor g = images_or_planes(dy, index.dim() == 4);
  Tensor dx = make_like(index, dy.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), max_pool2d_backward, g, index, s, dx);
  return record("max_pool2d_backward", of_sizes(dx, x_sizes), {dy}, {index},
                [sizes = Shape(dy.sizes()), wide = Shape(dx.sizes())](const Context& ctx, const Tensor& ddx) -> Grads {
                  const int64_t pixels = static_cast<int64_t>(wide.size()) - 2;
                  const Tensor index = ctx.saved(0).flatten(pixels), none = index < 0;
                  const Tensor places = where(none, zeros_like(index), index);
                  const Tensor ddy = ddx.reshape(wide).flatten(pixels).gather(pixels, places);
                  return {where(none, Scalar(0), ddy).reshape(sizes)};
                });
}
/// The indices are undefined unless they are asked for.
std::tuple<Tensor, Tensor> max_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil, bool indices) {
  if (is_integer(input.dtype())) {  // by float64, which holds all but the largest int64
    const Tensor wide = input.to(kFloat64);
    if (input.dtype() == kInt64 && input.numel() > 0) {
      check_not_recorded("max_pool2d", "the host looks whether float64 holds the elements of int64");
      if (wide.abs().max().item<double>() > 0x1p53) {  // by their ranks, which it holds
        const auto [values, ranks, counts] = _unique2(input, /*sorted=*/true, /*return_inverse=*/true);
        const Tensor from = ranks.to(kFloat64).contiguous(input.suggest_memory_format());
        const auto [rank, index] = max_pool(from, s, ceil, /*indices=*/true);
        const Tensor y = values.index_select(0, rank.clamp_min(0).to(kInt64).reshape({-1})).reshape(rank.sizes());
        return {where(index < 0, Scalar(std::numeric_limits<int64_t>::min()), y), index};
      }
    }
    const auto [y, index] = max_pool(wide, s, ceil, indices);
    return {y.to(input.dtype()), index};
  }
  const Planes p("max_pool2d", input, s, ceil, is_channels_last(input));
  Tensor y = p.make(p.x.dtype()), index = indices ? p.make(kInt64) : Tensor();
  TANDEM_DISPATCH(input.device(), max_pool2d, p.x, s, y, index);
  return {record("max_pool2d", of_sizes(y, p.out), {input}, {index},
                 [s, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                   return {ctx.flat_in(0, max_pool_backward(dy, ctx.saved(0), s, sizes))};
                 }),
          indices ? of_sizes(index, p.out) : index};
}
/// A linear op and its transpose, each the other's derivative.
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil, bool last);
Tensor avg_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil, bool last) {
  const Planes p("avg_pool2d", input, s, ceil, last);
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), avg_pool2d, p.x, s, y);
  return record("avg_pool2d", of_sizes(y, p.out), {input}, {},
                [=, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, avg_pool_backward(dy, s, sizes, ceil, last))};
                });
}
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil, bool last) {
  const Planes p("avg_pool2d_backward", dy, last);
  Tensor dx = make_like(p.x, p.x.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), avg_pool2d_backward, p.x, s, dx);
  return record("avg_pool2d_backward", of_sizes(dx, x_sizes), {dy}, {},
                [s, ceil, last](const Context&, const Tensor& ddx) -> Grads { return {avg_pool(ddx, s, ceil, last)}; });
}
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes, bool last);
/// avg_pool2d of int64, which rounds towards zero.
Tensor avg_pool_of_integers(const Tensor& x, const kernels::PoolShape& s, bool ceil, std::optional<int64_t> divisor) {
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, "avg_pool2d: x is ", x.sizes(), "; accepted: (N, C, H, W) or (C, H, W)");
  const auto count = [&](int64_t d) {
    return pooled("avg_pool2d", x.size(d - 2), s.kernel[d], s.stride[d], s.padding[d], 1, ceil);
  };
  const auto around = [&](const Tensor& t, int64_t value) {
    return constant_pad_nd(t, {s.padding[1], s.padding[1], s.padding[0], s.padding[0]}, value);
  };
  const auto sums = [&, oh = count(0), ow = count(1)](const Tensor& t) {  // over windows, which may end beyond t
    const int64_t below = std::max<int64_t>((oh - 1) * s.stride[0] + s.kernel[0] - t.size(-2), 0),
                  right = std::max<int64_t>((ow - 1) * s.stride[1] + s.kernel[1] - t.size(-1), 0);
    const Tensor windows = constant_pad_nd(t, {0, right, 0, below})
                               .unfold(t.dim() - 2, s.kernel[0], s.stride[0])
                               .unfold(t.dim() - 1, s.kernel[1], s.stride[1]);
    return windows.narrow(t.dim() - 2, 0, oh).narrow(t.dim() - 1, 0, ow).sum({-2, -1});
  };
  const Tensor total = sums(around(x, 0));
  if (divisor) return total.div(*divisor, "trunc");
  return total.div(sums(around(ones({x.size(-2), x.size(-1)}, x.options()), s.count_include_pad)), "trunc");
}
}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding,
                                                   Pair dilation, Flag ceil_mode) {
  return max_pool(x, pool_shape(kernel, stride, padding, dilation, true), ceil_mode, true);
}
Tensor max_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Pair dilation, Flag ceil_mode) {
  const bool indices = autograd::any_wants_grad({x});  // which its gradient alone needs
  return std::get<0>(max_pool(x, pool_shape(kernel, stride, padding, dilation, true), ceil_mode, indices));
}
Tensor avg_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Flag ceil_mode,
                  Flag count_include_pad, std::optional<int64_t> divisor) {
  TANDEM_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor_override is 0; accepted: any other number");
  const kernels::PoolShape s = pool_shape(kernel, stride, padding, 1, divisor || count_include_pad);
  if (x.dtype() == kInt64) return avg_pool_of_integers(x, s, ceil_mode, divisor);
  const Tensor y = avg_pool(x, s, ceil_mode, is_channels_last(x));
  if (!divisor) return y;
  // Padding included, an average is a sum over the size of its window, of which ceil_mode's last ones have less.
  const Tensor heights =
      detail::window_sizes(x.size(-2), y.size(-2), kernel[0], s.stride[0], padding[0], y).unsqueeze(1);
  return y * (heights * detail::window_sizes(x.size(-1), y.size(-1), kernel[1], s.stride[1], padding[1], y) /
              static_cast<double>(*divisor))
                 .to(y.dtype());
}
Tensor detail::window_sizes(int64_t size, int64_t count, int64_t kernel, int64_t stride, int64_t padding,
                            const Tensor& like) {
  std::vector<double> sizes;
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(static_cast<double>(std::min(kernel, size + 2 * padding - i * stride)));
  return tensor(sizes, TensorOptions(detail::accumulate_type(like.dtype())).device(like.device()));
}
Tensor adaptive_avg_pool2d(const Tensor& input, Pair size) {
  if (size[0] == 1 && size[1] == 1 && (input.dim() == 3 || input.dim() == 4)) {
    check_real("adaptive_avg_pool2d", input);
    const Tensor y = input.mean({-2, -1}, true);
    if (is_channels_last(input))  // these strides describe the same elements
      y.impl()->take_layout(
          *core::as_strided(y, y.sizes(), core::strides_of("pool", y.sizes(), MemoryFormat::ChannelsLast), 0).impl());
    return y;
  }
  const bool last = is_channels_last(input);
  Planes p("adaptive_avg_pool2d", input, last);
  TANDEM_CHECK(p.x.size(-2) > 0 && p.x.size(-1) > 0, "adaptive_avg_pool2d: x is ", input.sizes(),
               "; of its sizes, those that are pooled must be positive");
  TANDEM_CHECK(size[0] >= 0 && size[1] >= 0, "adaptive_avg_pool2d: output_size is ", IntArrayRef(size),
               "; accepted: 0 or more");
  p.oh = size[0], p.ow = size[1];
  p.finish();
  Tensor y = p.make(p.x.dtype());
  TANDEM_DISPATCH(input.device(), adaptive_avg_pool2d, p.x, y);
  return record("adaptive_avg_pool2d", of_sizes(y, p.out), {input}, {},
                [last, sizes = Shape(input.sizes())](const Context& ctx, const Tensor& dy) -> Grads {
                  return {ctx.flat_in(0, adaptive_backward(dy, sizes, last))};
                });
}
namespace {
Tensor adaptive_backward(const Tensor& dy, IntArrayRef x_sizes, bool last) {
  TANDEM_CHECK(dy.size(-2) > 0 && dy.size(-1) > 0, "adaptive_avg_pool2d_backward: the gradient is ", dy.sizes(),
               "; of its sizes, the last two must be positive");
  const Planes p("adaptive_avg_pool2d_backward", dy, last);
  Tensor dx = make_like(p.x, p.x.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), adaptive_avg_pool2d_backward, p.x, dx);
  const Pair size(dy.size(-2), dy.size(-1));
  return record("adaptive_avg_pool2d_backward", of_sizes(dx, x_sizes), {dy}, {},
                [size](const Context&, const Tensor& ddx) -> Grads { return {adaptive_avg_pool2d(ddx, size)}; });
}
}  // namespace

}  // namespace tandem
