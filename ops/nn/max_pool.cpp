// Max pooling and unpooling: max_pool1d, max_pool2d, max_pool3d; adaptive_max_pool in 1, 2 and 3 dimensions;
// fractional_max_pool and max_unpool in 2 and 3 dimensions.
#include "tandem/ops/nn/max_pool.h"

#include <limits>

#include "tandem/kernels/pool.h"
#include "tandem/ops/define_op.h"
#include "tandem/ops/nn/pool_helpers.h"
#include "tandem/ops/random/rand.h"
#include "tandem/ops/reduce/unique.h"

namespace tandem {

TANDEM_CAST_POLICY(float32, adaptive_max_pool3d, fractional_max_pool2d, fractional_max_pool3d, max_pool3d, max_unpool2d,
                   max_unpool3d);
TANDEM_CAST_POLICY(none, adaptive_max_pool1d, adaptive_max_pool2d, max_pool1d, max_pool1d_with_indices, max_pool2d,
                   max_pool2d_with_indices, max_pool3d_with_indices);

namespace {
Tensor max_pool_backward(const Tensor& dy, const Tensor& index, const kernels::PoolShape& s, IntArrayRef x_sizes) {
  const Tensor g = to_pool_layout(dy, index.dim() == 4);
  Tensor dx = empty_pool_tensor(index, dy.dtype(), x_sizes[x_sizes.size() - 2], x_sizes.back());
  TANDEM_DISPATCH(dy.device(), max_pool2d_backward, g, index, s, dx);
  return record_op(
      "max_pool2d_backward", reshape_pool_output(dx, x_sizes), {dy}, {index},
      [sizes = Shape(dy.sizes()), wide = Shape(dx.sizes())](const BackwardContext& ctx, const Tensor& ddx) -> Grads {
        const int64_t pixels = static_cast<int64_t>(wide.size()) - 2;
        const Tensor index = ctx.saved(0).flatten(pixels), none = index < 0;
        const Tensor positions = where(none, zeros_like(index), index);
        const Tensor ddy = ddx.reshape(wide).flatten(pixels).gather(pixels, positions);
        return {where(none, Scalar(0), ddy).reshape(sizes)};
      });
}
/// Returns (values, indices). The indices tensor is undefined if `indices` is false.
std::tuple<Tensor, Tensor> max_pool(const Tensor& input, const kernels::PoolShape& s, bool ceil, bool indices) {
  if (is_integer(input.dtype())) {  // integers are pooled in float64, which holds all but the largest int64 exactly
    const Tensor wide = input.to(kFloat64);
    if (input.dtype() == kInt64 && input.numel() > 0) {
      check_not_recorded("max_pool2d", "the host looks whether float64 holds the elements of int64");
      // If float64 cannot hold all elements, pools their positions in sorted order instead.
      if (wide.abs().max().item<double>() > 0x1p53) {
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
  const PoolInput p("max_pool2d", input, s, ceil, is_channels_last(input));
  Tensor y = p.empty_output(p.x.dtype()), index = indices ? p.empty_output(kInt64) : Tensor();
  TANDEM_DISPATCH(input.device(), max_pool2d, p.x, s, y, index);
  return {record_op("max_pool2d", reshape_pool_output(y, p.output_sizes), {input}, {index},
                    [s, sizes = Shape(input.sizes())](const BackwardContext& ctx, const Tensor& dy) -> Grads {
                      return {ctx.attach_zero_derivative(0, max_pool_backward(dy, ctx.saved(0), s, sizes))};
                    }),
          indices ? reshape_pool_output(index, p.output_sizes) : index};
}
}  // namespace

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding,
                                                   Pair dilation, Flag ceil_mode) {
  return max_pool(x, make_pool_shape(kernel, stride, padding, dilation, true), ceil_mode, true);
}
Tensor max_pool2d(const Tensor& x, Pair kernel, IntArrayRef stride, Pair padding, Pair dilation, Flag ceil_mode) {
  const bool indices = autograd::any_requires_grad({x});  // max_pool2d needs indices only for the gradient
  return std::get<0>(max_pool(x, make_pool_shape(kernel, stride, padding, dilation, true), ceil_mode, indices));
}
std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, Single kernel, IntArrayRef stride, Single padding,
                                                   Single dilation, Flag ceil_mode) {
  const auto [y, index] = max_pool2d_with_indices(unsqueeze_height("max_pool1d", x), {1, kernel[0]},
                                                  prepend_height_stride("max_pool1d", stride, kernel[0]),
                                                  {0, padding[0]}, {1, dilation[0]}, ceil_mode);
  return {squeeze_height(y), squeeze_height(index)};
}
Tensor max_pool1d(const Tensor& x, Single kernel, IntArrayRef stride, Single padding, Single dilation, Flag ceil_mode) {
  return std::get<0>(max_pool1d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}
std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, Triple k, IntArrayRef stride, Triple p, Triple d,
                                                   Flag ceil_mode) {
  const Triple s = resolve_stride("max_pool3d", stride, k);
  const Tensor planes = volumes_to_planes("max_pool3d", x);
  const auto [inner, inner_index] =
      max_pool2d_with_indices(planes, {k[1], k[2]}, {s[1], s[2]}, {p[1], p[2]}, {d[1], d[2]}, ceil_mode);
  const auto [y, row] =
      max_pool2d_with_indices(planes_to_depth_images(inner), {k[0], 1}, {s[0], 1}, {p[0], 0}, {d[0], 1}, ceil_mode);
  const Tensor maxima = planes_to_volumes(y, x, inner);
  // A 3-d pool is a 2-d pool of each plane, then a pool over the depth. `inner` holds the maxima of planes,
  // `inner_index` their positions within a plane of x, and `row` the positions in `inner` that the second pool chose,
  // counted over (depth, elements of a plane). The three give the position of each maximum in the volume of x.
  const NoGradGuard guard;
  const Tensor safe = row.clamp_min(0), position = inner_index.flatten(1).gather(1, safe.flatten(1)).view(row.sizes());
  const Tensor depth = safe.floor_divide(inner.size(-2) * inner.size(-1));
  const Tensor index = where((row < 0) | (position < 0), Scalar(-1), depth * (x.size(-2) * x.size(-1)) + position);
  return {maxima, planes_to_volumes(index, x, inner)};
}
Tensor max_pool3d(const Tensor& x, Triple kernel, IntArrayRef stride, Triple padding, Triple dilation, Flag ceil_mode) {
  if (const Autocast cast{cast_policy::max_pool3d, x})
    return max_pool3d(cast(x), kernel, stride, padding, dilation, ceil_mode);
  return std::get<0>(max_pool3d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}

// ---- with a given number of windows
namespace {
/// Returns the largest element of each of `count` windows along dim, and its position. Windows shorter than the longest
/// repeat their last element, which does not change the maximum.
std::tuple<Tensor, Tensor> adaptive_max_pool_dim(const Tensor& x, int64_t dim, int64_t count) {
  if (count == 0) {
    const Tensor none = x.narrow(dim, 0, 0);
    return {none, none.detach().to(kInt64)};
  }
  const int64_t size = x.size(dim);
  std::vector<int64_t> starts, ends, positions;
  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) {
    starts.push_back(i * size / count);
    ends.push_back(((i + 1) * size + count - 1) / count);
    longest = std::max(longest, ends.back() - starts.back());
  }
  for (size_t i = 0; i < starts.size(); ++i)
    for (int64_t k = 0; k < longest; ++k) positions.push_back(std::min(starts[i] + k, ends[i] - 1));
  const Tensor at = tensor(positions, TensorOptions(kInt64).device(x.device()));
  const auto [y, chosen] = x.index_select(dim, at).unflatten(dim, {count, longest}).max(dim + 1);
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[static_cast<size_t>(dim)] = count;
  const Tensor first = tensor(starts, TensorOptions(kInt64).device(x.device())).view(sizes);
  return {y, first + chosen};
}
/// Pools over the last `sizes.size()` dimensions. It starts with the last one, so that the first of several equal
/// elements in row-major order is chosen.
std::tuple<Tensor, Tensor> adaptive_max_pool_nd(const char* op, const Tensor& x, IntArrayRef sizes) {
  check_floating_point(op, x);
  const int64_t spatial = static_cast<int64_t>(sizes.size());
  TANDEM_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": Expected ", spatial + 1, "D or ", spatial + 2,
               "D tensor, but got: ", x.sizes());
  for (int64_t d = 1; d < x.dim(); ++d)
    TANDEM_CHECK(x.size(d) > 0, op,
                 ": Expected input to have non-zero size for non-batch dimensions, but input has sizes ", x.sizes(),
                 " with dimension ", d, " being empty");
  for (const int64_t size : sizes) TANDEM_CHECK(size >= 0, op, ": output_size is ", sizes, "; accepted: 0 or more");
  Tensor y = attach_inputs_to_backward(x), index;
  int64_t below = 1;  // stride of dimension d in an index that counts over the pooled dimensions of x
  for (int64_t d = x.dim() - 1; d >= x.dim() - spatial; --d) {
    const int64_t count = sizes[static_cast<size_t>(d - x.dim() + spatial)];
    const auto [values, positions] = adaptive_max_pool_dim(y, d, count);
    const NoGradGuard guard;
    index = index.defined() ? positions * below + index.gather(d, positions) : positions;
    y = values;
    below *= x.size(d);
  }
  return {y, index};
}
}  // namespace

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, Single size) {
  return adaptive_max_pool_nd("adaptive_max_pool1d", x, {size[0]});
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, Pair size) {
  return adaptive_max_pool_nd("adaptive_max_pool2d", x, size);
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, Triple size) {
  if (const Autocast cast{cast_policy::adaptive_max_pool3d, x}) return adaptive_max_pool3d(cast(x), size);
  return adaptive_max_pool_nd("adaptive_max_pool3d", x, size);
}

// ---- with windows at random positions (Graham 2014, arXiv:1412.6071), composed of gather and max
namespace {

/// Returns the first positions (N, C, out) of windows along one dimension, from samples (N, C) in [0, 1). The last
/// window is at the end.
Tensor generate_window_starts(const Tensor& samples, int64_t in, int64_t kernel, int64_t out) {
  const TensorOptions positions = TensorOptions(kInt64).device(samples.device());
  const Tensor last = full({samples.size(0), samples.size(1), 1}, in - kernel, positions);
  if (out == 1) return last;
  const double step = static_cast<double>(in - kernel) / static_cast<double>(out - 1);
  const Tensor shift = samples.unsqueeze(-1), order = arange(out - 1, samples.options());
  return cat({((order + shift) * step).to(kInt64) - (shift * step).to(kInt64), last}, -1);
}
/// Computes a fractional max pool of the dimensions after (N, C).
std::tuple<Tensor, Tensor> fractional_max_pool(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef out,
                                               const Tensor& samples) {
  const auto dims = static_cast<int64_t>(kernel.size());
  check_floating_point(op, x);
  TANDEM_CHECK(x.dim() == dims + 2 || x.dim() == dims + 1, op, ": Expected ", dims + 1, "D or ", dims + 2,
               "D tensor, but got: ", x.sizes());
  if (x.dim() == dims + 1) {
    const auto [y, at] = fractional_max_pool(op, x.unsqueeze(0), kernel, out, samples);
    return {reshape_result(y, y.sizes().slice(1, y.sizes().size() - 1)), at.squeeze(0)};
  }
  check_same_dtype_and_device(op, "x", x, "random_samples", samples);
  TANDEM_CHECK(samples.sizes() == IntArrayRef({x.size(0), x.size(1), dims}), op, ": random_samples are ",
               samples.sizes(), "; accepted: (", x.size(0), ", ", x.size(1), ", ", dims, ")");
  const TensorOptions positions = TensorOptions(kInt64).device(x.device());
  // Positions of the elements of all windows, (N, C, windows, elements of a window), extended by one dimension at a
  // time.
  Tensor at = zeros({x.size(0), x.size(1), 1, 1}, positions);
  Shape sizes{x.size(0), x.size(1)};
  for (int64_t d = 0; d < dims; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t in = x.size(d + 2);
    const char* const side = i + 1 == kernel.size() ? "width" : i + 2 == kernel.size() ? "height" : "time";
    TANDEM_CHECK(kernel[i] > 0, op, ": kernel size should be greater than zero, but got ", kernel);
    TANDEM_CHECK(out[i] > 0, op, ": output_size should be greater than zero, but got ", out);
    TANDEM_CHECK(out[i] + kernel[i] - 1 <= in, op, ": pool ", side, " ", kernel[i], " too large relative to input ",
                 side, " ", in, "; output_size ", out, " + kernel_size ", kernel, " - 1 must fit into it");
    // random_samples lists three dimensions in order, but two dimensions in reverse order.
    const Tensor starts = generate_window_starts(
        samples.select(2, dims == 2 ? 1 - d : d).detach().to(accumulate_type(x.dtype())), in, kernel[i], out[i]);
    const Tensor along = starts.unsqueeze(-1) + arange(kernel[i], positions);  // its shape is (N, C, out, kernel)
    at = (at.unsqueeze(3).unsqueeze(5) * in + along.unsqueeze(2).unsqueeze(4)).flatten(4, 5).flatten(2, 3);
    sizes.push_back(out[i]);
  }
  const Tensor patches = x.flatten(2).gather(2, at.flatten(2)).view(at.sizes());
  const auto [values, chosen] = patches.max(3);
  const Tensor indices = at.gather(3, chosen.unsqueeze(3)).squeeze(3);
  return {reshape_result(values, sizes), indices.reshape(sizes).clone(MemoryFormat::Contiguous)};
}

}  // namespace

std::tuple<Tensor, Tensor> fractional_max_pool2d(const Tensor& x, Pair kernel_size, Pair output_size,
                                                 const Tensor& random_samples) {
  if (const Autocast cast{cast_policy::fractional_max_pool2d, x, random_samples})
    return fractional_max_pool2d(cast(x), kernel_size, output_size, cast(random_samples));
  return fractional_max_pool("fractional_max_pool2d", x, kernel_size, output_size, random_samples);
}
std::tuple<Tensor, Tensor> fractional_max_pool3d(const Tensor& x, Triple kernel_size, Triple output_size,
                                                 const Tensor& random_samples) {
  if (const Autocast cast{cast_policy::fractional_max_pool3d, x, random_samples})
    return fractional_max_pool3d(cast(x), kernel_size, output_size, cast(random_samples));
  return fractional_max_pool("fractional_max_pool3d", x, kernel_size, output_size, random_samples);
}

// ---- writing elements back to where a max pool found them
namespace {
Tensor max_unpool(const char* op, const Tensor& x, const Tensor& indices, IntArrayRef output_size, int64_t spatial) {
  TANDEM_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": Input to max_unpooling", spatial,
               "d should be a ", spatial + 1, "d or ", spatial + 2, "d Tensor, but got a tensor with ", x.dim(),
               " dimensions.");
  TANDEM_CHECK(indices.dtype() == kInt64, op, ": elements in indices should be type int64 but got: ", indices.dtype());
  TANDEM_CHECK(indices.sizes() == x.sizes(), op, ": Expected shape of indices to be same as that of the input tensor ",
               x.sizes(), " but got indices tensor with shape: ", indices.sizes());
  TANDEM_CHECK(static_cast<int64_t>(output_size.size()) == spatial, op, ": There should be exactly ",
               spatial == 2 ? "two elements (height, width)" : "three elements (depth, height, width)",
               " in output_size, but got ", output_size.size(), " elements.");
  Shape sizes = x.sizes();
  int64_t positions = 1;
  for (size_t d = 0; d < output_size.size(); ++d) {
    TANDEM_CHECK(output_size[d] > 0, op, ": output_size is ", output_size, "; sizes must be positive");
    positions *= output_size[d];
    sizes[sizes.size() - output_size.size() + d] = output_size[d];
  }
  Shape flat = x.sizes().slice(0, static_cast<size_t>(x.dim() - spatial));
  flat.push_back(positions);
  const Tensor y = zeros(flat, x.options()).scatter(-1, indices.flatten(-spatial), x.flatten(-spatial));
  return reshape_result(y, sizes);
}
}  // namespace

Tensor max_unpool2d(const Tensor& x, const Tensor& indices, IntArrayRef output_size) {
  if (const Autocast cast{cast_policy::max_unpool2d, x, indices})
    return max_unpool2d(cast(x), cast(indices), output_size);
  return max_unpool("max_unpool2d", x, indices, output_size, 2);
}
Tensor max_unpool3d(const Tensor& x, const Tensor& indices, IntArrayRef output_size, IntArrayRef stride,
                    IntArrayRef padding) {
  if (const Autocast cast{cast_policy::max_unpool3d, x, indices})
    return max_unpool3d(cast(x), cast(indices), output_size, stride, padding);
  for (const int64_t s : Triple(stride))
    TANDEM_CHECK(s > 0, "max_unpool3d: strides should be greater than zero, but got stride: ", stride);
  for (const int64_t p : Triple(padding))
    TANDEM_CHECK(p >= 0, "max_unpool3d: padding is ", padding, "; accepted: 0 or more");
  return max_unpool("max_unpool3d", x, indices, output_size, 3);
}

Shape detail::unpool_output_size(const char* op, const Tensor& x, IntArrayRef kernel, IntArrayRef stride,
                                 IntArrayRef padding, const std::optional<std::vector<int64_t>>& output_size) {
  const size_t spatial = kernel.size();
  const auto rank = static_cast<size_t>(x.dim());
  TANDEM_CHECK(rank == spatial + 1 || rank == spatial + 2, op, ": x is ", x.sizes(), "; accepted: ", spatial + 1,
               " or ", spatial + 2, " dimensions");
  Shape sizes;
  for (size_t d = 0; d < spatial; ++d)
    sizes.push_back((x.sizes()[rank - spatial + d] - 1) * stride[d] - 2 * padding[d] + kernel[d]);
  if (!output_size) return sizes;
  const IntArrayRef given(*output_size);
  TANDEM_CHECK(given.size() == spatial || given.size() == rank, op, ": output_size should be a sequence containing ",
               spatial, " or ", rank, " elements, but it has a length of '", given.size(), "'");
  for (size_t d = 0; d < spatial; ++d)
    TANDEM_CHECK(std::abs(given[given.size() - spatial + d] - sizes[d]) < stride[d], op, ": invalid output_size ",
                 given, " (dim ", d, " must be between ", sizes[d] - stride[d], " and ", sizes[d] + stride[d],
                 "), both excluded");
  return given.slice(given.size() - spatial, spatial);
}

void detail::check_output_size_or_ratio(const char* op, bool has_output_size, ArrayRef<double> ratios) {
  TANDEM_CHECK(has_output_size == ratios.empty(), op,
               has_output_size ? ": only one of output_size and output_ratio may be specified"
                               : ": requires specifying either an output_size or an output_ratio");
  for (const double ratio : ratios)
    TANDEM_CHECK(ratio > 0 && ratio < 1, op, ": output_ratio must be between 0 and 1 (got ", ratio, "), both excluded");
}
namespace {
/// Returns the output size, which is given either directly or as ratios of the sizes of x's last dimensions.
template <class Size>
Size fractional_output_size(const char* op, const Tensor& x, const std::optional<Size>& size, ArrayRef<double> ratios) {
  detail::check_output_size_or_ratio(op, size.has_value(), ratios);
  if (size) return *size;
  Size out = 1;
  const auto dims = static_cast<int64_t>(out.size());
  TANDEM_CHECK(x.dim() > dims, op, ": x is ", x.sizes(), "; accepted: ", dims + 1, " or ", dims + 2, " dimensions");
  for (size_t d = 0; d < out.size(); ++d)
    out[d] = static_cast<int64_t>(static_cast<double>(x.size(static_cast<int64_t>(d) - dims)) * ratios[d]);
  return out;
}
Tensor get_random_samples(const Tensor& given, const Tensor& x, int64_t dims) {
  if (given.defined()) return given;
  return rand({x.dim() == dims + 1 ? 1 : x.size(0), x.size(-dims - 1), dims}, x.options());
}
}  // namespace
std::tuple<Tensor, Tensor> detail::fractional_max_pool2d_with_indices(const Tensor& x, Pair kernel_size,
                                                                      const std::optional<Pair>& output_size,
                                                                      ArrayRef<double> output_ratio,
                                                                      const Tensor& random_samples) {
  const Pair out = fractional_output_size("fractional_max_pool2d", x, output_size, output_ratio);
  return fractional_max_pool2d(x, kernel_size, out, get_random_samples(random_samples, x, 2));
}
std::tuple<Tensor, Tensor> detail::fractional_max_pool3d_with_indices(const Tensor& x, Triple kernel_size,
                                                                      const std::optional<Triple>& output_size,
                                                                      ArrayRef<double> output_ratio,
                                                                      const Tensor& random_samples) {
  const Triple out = fractional_output_size("fractional_max_pool3d", x, output_size, output_ratio);
  return fractional_max_pool3d(x, kernel_size, out, get_random_samples(random_samples, x, 3));
}

}  // namespace tandem
