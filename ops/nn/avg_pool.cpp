// Average pooling: avg_pool1d, avg_pool2d, avg_pool3d, adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d.
#include "tandem/ops/nn/avg_pool.h"

#include "tandem/kernels/pool.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/pad.h"
#include "tandem/ops/nn/pool_helpers.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, adaptive_avg_pool3d, avg_pool3d);
TANDEM_CAST_POLICY(none, adaptive_avg_pool1d, adaptive_avg_pool2d, avg_pool1d, avg_pool2d);

namespace {
/// Average pooling and its backward are linear, and each is the derivative of the other.
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil, bool last);
Tensor avg_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil, bool last) {
  const PoolInput p("avg_pool2d", input, s, ceil, last);
  Tensor y = p.empty_output(p.x.dtype());
  TANDEM_DISPATCH(input.device(), avg_pool2d, p.x, s, y);
  return record_op("avg_pool2d", reshape_pool_output(y, p.output_sizes), {input}, {},
                   [=, sizes = Shape(input.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {ctx.attach_zero_derivative(0, avg_pool_backward(dy, s, sizes, ceil, last))};
                   });
}
Tensor avg_pool_backward(const Tensor& dy, const kernels::PoolShape& s, IntArrayRef x_sizes, bool ceil, bool last) {
  const PoolInput p("avg_pool2d_backward", dy, last);
  Tensor dx = empty_pool_tensor(p.x, p.x.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), avg_pool2d_backward, p.x, s, dx);
  return record_op(
      "avg_pool2d_backward", reshape_pool_output(dx, x_sizes), {dy}, {},
      [s, ceil, last](const BackwardContext&, const Tensor& ddx) -> Grads { return {avg_pool(ddx, s, ceil, last)}; });
}
/// Computes avg_pool2d for int64. Averages are rounded towards zero.
Tensor avg_pool2d_int64(const Tensor& x, const kernels::PoolShape& s, bool ceil, std::optional<int64_t> divisor) {
  TANDEM_CHECK(x.dim() == 3 || x.dim() == 4, "avg_pool2d: x is ", x.sizes(), "; accepted: (N, C, H, W) or (C, H, W)");
  const auto count = [&](int64_t d) {
    return pooling_output_size("avg_pool2d", x.size(d - 2), s.kernel[d], s.stride[d], s.padding[d], 1, ceil);
  };
  const auto around = [&](const Tensor& t, int64_t value) {
    return constant_pad_nd(t, {s.padding[1], s.padding[1], s.padding[0], s.padding[0]}, value);
  };
  // Returns the sums over all windows of t. First extends t by zeros, because windows may extend beyond t.
  const auto sums = [&, oh = count(0), ow = count(1)](const Tensor& t) {
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
/// Returns a vector on like's device with the size of each of `count` windows along a dimension of size `size`. Window
/// sizes include padding.
Tensor compute_window_sizes(int64_t size, int64_t count, int64_t kernel, int64_t stride, int64_t padding,
                            const Tensor& like) {
  std::vector<double> sizes;
  for (int64_t i = 0; i < count; ++i)
    sizes.push_back(static_cast<double>(std::min(kernel, size + 2 * padding - i * stride)));
  return tensor(sizes, TensorOptions(accumulate_type(like.dtype())).device(like.device()));
}
}  // namespace

Tensor avg_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Flag ceil_mode,
                  Flag count_include_pad, std::optional<int64_t> divisor) {
  TANDEM_CHECK(!divisor || *divisor != 0, "avg_pool2d: divisor must be not zero, but divisor_override is 0");
  const kernels::PoolShape s = make_pool_shape(kernel, stride, padding, 1, divisor || count_include_pad);
  if (x.dtype() == kInt64) return avg_pool2d_int64(x, s, ceil_mode, divisor);
  const Tensor y = avg_pool(x, s, ceil_mode, is_channels_last(x));
  if (!divisor) return y;
  // If the window size includes padding, an average is the sum divided by the window size. Windows that ceil_mode adds
  // at the end are smaller.
  const Tensor heights =
      compute_window_sizes(x.size(-2), y.size(-2), kernel[0], s.stride[0], padding[0], y).unsqueeze(1);
  return y * (heights * compute_window_sizes(x.size(-1), y.size(-1), kernel[1], s.stride[1], padding[1], y) /
              static_cast<double>(*divisor))
                 .to(y.dtype());
}
Tensor avg_pool1d(const Tensor& x, Single kernel, IntArrayRef stride, Single padding, Flag ceil_mode,
                  Flag count_include_pad) {
  return squeeze_height(avg_pool2d(unsqueeze_height("avg_pool1d", x), {1, kernel[0]},
                                   prepend_height_stride("avg_pool1d", stride, kernel[0]), {0, padding[0]}, ceil_mode,
                                   count_include_pad));
}
Tensor avg_pool3d(const Tensor& x, Triple k, IntArrayRef stride, Triple p, Flag ceil_mode, Flag count_include_pad,
                  std::optional<int64_t> divisor) {
  if (const Autocast cast{cast_policy::avg_pool3d, x})
    return avg_pool3d(cast(x), k, stride, p, ceil_mode, count_include_pad, divisor);
  TANDEM_CHECK(!divisor || *divisor != 0, "avg_pool3d: divisor must be not zero, but divisor_override is 0");
  const Triple s = resolve_stride("avg_pool3d", stride, k);
  const std::optional<int64_t> sum = divisor ? std::optional<int64_t>(1) : std::nullopt;
  const Tensor inner = avg_pool2d(volumes_to_planes("avg_pool3d", x), {k[1], k[2]}, {s[1], s[2]}, {p[1], p[2]},
                                  ceil_mode, count_include_pad, divisor);
  return planes_to_volumes(
      avg_pool2d(planes_to_depth_images(inner), {k[0], 1}, {s[0], 1}, {p[0], 0}, ceil_mode, count_include_pad, sum), x,
      inner);
}

static Tensor adaptive_avg_pool_backward(const Tensor& dy, IntArrayRef x_sizes, bool last);
Tensor adaptive_avg_pool2d(const Tensor& input, Pair size) {
  if (size[0] == 1 && size[1] == 1 && (input.dim() == 3 || input.dim() == 4)) {
    check_floating_point("adaptive_avg_pool2d", input);
    const Tensor y = input.mean({-2, -1}, true);
    if (is_channels_last(input))  // the spatial sizes are 1, so channels-last strides describe the same elements
      y.impl()->shallow_copy_from(
          *core::as_strided(y, y.sizes(), core::strides_of("pool", y.sizes(), MemoryFormat::ChannelsLast), 0).impl());
    return y;
  }
  const bool last = is_channels_last(input);
  PoolInput p("adaptive_avg_pool2d", input, last);
  TANDEM_CHECK(p.x.size(-2) > 0 && p.x.size(-1) > 0, "adaptive_avg_pool2d: x is ", input.sizes(),
               "; the dimensions that are pooled must not be empty");
  TANDEM_CHECK(size[0] >= 0 && size[1] >= 0,
               "adaptive_avg_pool2d: elements of output_size must be greater than or equal to 0 but received ",
               IntArrayRef(size));
  p.oh = size[0];
  p.ow = size[1];
  p.set_output_sizes();
  Tensor y = p.empty_output(p.x.dtype());
  TANDEM_DISPATCH(input.device(), adaptive_avg_pool2d, p.x, y);
  return record_op("adaptive_avg_pool2d", reshape_pool_output(y, p.output_sizes), {input}, {},
                   [last, sizes = Shape(input.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                     return {ctx.attach_zero_derivative(0, adaptive_avg_pool_backward(dy, sizes, last))};
                   });
}
static Tensor adaptive_avg_pool_backward(const Tensor& dy, IntArrayRef x_sizes, bool last) {
  TANDEM_CHECK(dy.size(-2) > 0 && dy.size(-1) > 0, "adaptive_avg_pool2d_backward: the gradient is ", dy.sizes(),
               "; its last two dimensions must not be empty");
  const PoolInput p("adaptive_avg_pool2d_backward", dy, last);
  Tensor dx = empty_pool_tensor(p.x, p.x.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), adaptive_avg_pool2d_backward, p.x, dx);
  const Pair size(dy.size(-2), dy.size(-1));
  return record_op(
      "adaptive_avg_pool2d_backward", reshape_pool_output(dx, x_sizes), {dy}, {},
      [size](const BackwardContext&, const Tensor& ddx) -> Grads { return {adaptive_avg_pool2d(ddx, size)}; });
}
Tensor adaptive_avg_pool1d(const Tensor& x, Single size) {
  return squeeze_height(adaptive_avg_pool2d(unsqueeze_height("adaptive_avg_pool1d", x), {1, size[0]}));
}
Tensor adaptive_avg_pool3d(const Tensor& x, Triple size) {
  if (const Autocast cast{cast_policy::adaptive_avg_pool3d, x}) return adaptive_avg_pool3d(cast(x), size);
  const Tensor inner = adaptive_avg_pool2d(volumes_to_planes("adaptive_avg_pool3d", x), {size[1], size[2]});
  return planes_to_volumes(
      adaptive_avg_pool2d(planes_to_depth_images(inner), {size[0], inner.size(-2) * inner.size(-1)}), x, inner);
}

}  // namespace tandem
