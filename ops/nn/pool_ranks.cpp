// Pools of one and of three dimensions, through those of two; adaptive max pools.
#include "tandem/ops/argument.h"
#include "tandem/ops/backward.h"
#include "tandem/ops/elementwise/elementwise.h"
#include "tandem/ops/factory/factory.h"
#include "tandem/ops/index/index.h"
#include "tandem/ops/nn/pool.h"
#include "tandem/ops/nn/pool_windows.h"
#include "tandem/ops/shape/view.h"

namespace tandem {
namespace {

// ---- one dimension is two with a height of 1
Tensor as_row(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.dim() == 2 || x.dim() == 3, op, ": x is ", x.sizes(), "; accepted: (N, C, L) or (C, L)");
  return x.contiguous().unsqueeze(-2);
}
Tensor as_line(const Tensor& y) {
  Shape sizes = y.sizes();
  sizes.erase(sizes.size() - 2);
  return reshape_result(y, sizes);
}
Pair row_stride(const char* op, IntArrayRef stride, int64_t kernel) {
  TANDEM_CHECK(stride.size() <= 1, op, ": stride is ", stride, "; accepted: one number");
  return {1, stride.empty() ? kernel : stride[0]};
}

// ---- three dimensions are a pool of each plane, then one along the depth of what this gives: the planes' elements
// side by side are the width of an image whose height is the depth.
Tensor as_planes(const char* op, const Tensor& x) {
  TANDEM_CHECK(x.dim() == 4 || x.dim() == 5, op, ": x is ", x.sizes(), "; accepted: (N, C, D, H, W) or (C, D, H, W)");
  TANDEM_CHECK(x.size(-1) > 0 && x.size(-2) > 0 && x.size(-3) > 0 && x.size(-4) > 0, op, ": x is ", x.sizes(),
               "; only the first of five sizes may be 0");
  const int64_t volumes = x.dim() == 5 ? x.size(0) * x.size(1) : x.size(0);
  return x.contiguous().view({volumes, x.size(-3), x.size(-2), x.size(-1)});
}
Tensor as_depths(const Tensor& planes) { return planes.flatten(-2).unsqueeze(1); }
/// (volumes, depth, height x width), in x's dimensions.
Tensor as_volumes(const Tensor& y, const Tensor& x, const Tensor& planes) {
  Shape sizes = x.sizes();
  const size_t rank = sizes.size();
  sizes[rank - 3] = y.size(-2), sizes[rank - 2] = planes.size(-2), sizes[rank - 1] = planes.size(-1);
  return reshape_result(y, sizes);
}
Triple stride_of(const char* op, IntArrayRef stride, Triple kernel) {
  TANDEM_CHECK(stride.size() <= 1 || stride.size() == 3, op, ": stride is ", stride, "; accepted: one number or three");
  return stride.empty() ? kernel : Triple(stride);
}

}  // namespace

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& x, int64_t kernel, IntArrayRef stride, int64_t padding,
                                                   int64_t dilation, Flag ceil_mode) {
  const auto [y, index] =
      max_pool2d_with_indices(as_row("max_pool1d", x), {1, kernel}, row_stride("max_pool1d", stride, kernel),
                              {0, padding}, {1, dilation}, ceil_mode);
  return {as_line(y), as_line(index)};
}
Tensor max_pool1d(const Tensor& x, int64_t kernel, IntArrayRef stride, int64_t padding, int64_t dilation,
                  Flag ceil_mode) {
  return std::get<0>(max_pool1d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool1d(const Tensor& x, int64_t kernel, IntArrayRef stride, int64_t padding, Flag ceil_mode,
                  Flag count_include_pad) {
  return as_line(avg_pool2d(as_row("avg_pool1d", x), {1, kernel}, row_stride("avg_pool1d", stride, kernel),
                            {0, padding}, ceil_mode, count_include_pad));
}
Tensor adaptive_avg_pool1d(const Tensor& x, int64_t size) {
  return as_line(adaptive_avg_pool2d(as_row("adaptive_avg_pool1d", x), {1, size}));
}

std::tuple<Tensor, Tensor> max_pool3d_with_indices(const Tensor& x, Triple k, IntArrayRef stride, Triple p, Triple d,
                                                   Flag ceil_mode) {
  const Triple s = stride_of("max_pool3d", stride, k);
  const Tensor planes = as_planes("max_pool3d", x);
  const auto [inner, inner_index] =
      max_pool2d_with_indices(planes, {k[1], k[2]}, {s[1], s[2]}, {p[1], p[2]}, {d[1], d[2]}, ceil_mode);
  const auto [y, row] =
      max_pool2d_with_indices(as_depths(inner), {k[0], 1}, {s[0], 1}, {p[0], 0}, {d[0], 1}, ceil_mode);
  const Tensor maxima = as_volumes(y, x, inner);
  // `row` counts elements of `inner`, depth first; inner_index those of a plane of x.
  const NoGradGuard guard;
  const Tensor safe = row.clamp_min(0), place = inner_index.flatten(1).gather(1, safe.flatten(1)).view(row.sizes());
  const Tensor depth = safe.floor_divide(inner.size(-2) * inner.size(-1));
  const Tensor index = where((row < 0) | (place < 0), Scalar(-1), depth * (x.size(-2) * x.size(-1)) + place);
  return {maxima, as_volumes(index, x, inner)};
}
Tensor max_pool3d(const Tensor& x, Triple kernel, IntArrayRef stride, Triple padding, Triple dilation, Flag ceil_mode) {
  return std::get<0>(max_pool3d_with_indices(x, kernel, stride, padding, dilation, ceil_mode));
}
Tensor avg_pool3d(const Tensor& x, Triple k, IntArrayRef stride, Triple p, Flag ceil_mode, Flag count_include_pad,
                  std::optional<int64_t> divisor) {
  TANDEM_CHECK(!divisor || *divisor != 0, "avg_pool3d: divisor_override is 0; accepted: any other number");
  const Triple s = stride_of("avg_pool3d", stride, k);
  const std::optional<int64_t> sum = divisor ? std::optional<int64_t>(1) : std::nullopt;
  const Tensor inner = avg_pool2d(as_planes("avg_pool3d", x), {k[1], k[2]}, {s[1], s[2]}, {p[1], p[2]}, ceil_mode,
                                  count_include_pad, divisor);
  return as_volumes(avg_pool2d(as_depths(inner), {k[0], 1}, {s[0], 1}, {p[0], 0}, ceil_mode, count_include_pad, sum), x,
                    inner);
}
Tensor adaptive_avg_pool3d(const Tensor& x, Triple size) {
  const Tensor inner = adaptive_avg_pool2d(as_planes("adaptive_avg_pool3d", x), {size[1], size[2]});
  return as_volumes(adaptive_avg_pool2d(as_depths(inner), {size[0], inner.size(-2) * inner.size(-1)}), x, inner);
}

namespace {
/// The largest of each of `count` windows along dim, and its position. A window shorter than the longest repeats its
/// last element, which changes no maximum.
std::tuple<Tensor, Tensor> adaptive_max(const Tensor& x, int64_t dim, int64_t count) {
  if (count == 0) {
    const Tensor none = x.narrow(dim, 0, 0);
    return {none, none.detach().to(kInt64)};
  }
  const int64_t size = x.size(dim);
  std::vector<int64_t> starts, ends, places;
  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) {
    starts.push_back(i * size / count), ends.push_back(((i + 1) * size + count - 1) / count);
    longest = std::max(longest, ends.back() - starts.back());
  }
  for (size_t i = 0; i < starts.size(); ++i)
    for (int64_t k = 0; k < longest; ++k) places.push_back(std::min(starts[i] + k, ends[i] - 1));
  const Tensor at = tensor(places, TensorOptions(kInt64).device(x.device()));
  const auto [y, chosen] = x.index_select(dim, at).unflatten(dim, {count, longest}).max(dim + 1);
  Shape sizes(static_cast<size_t>(x.dim()), 1);
  sizes[static_cast<size_t>(dim)] = count;
  const Tensor first = tensor(starts, TensorOptions(kInt64).device(x.device())).view(sizes);
  return {y, first + chosen};
}
/// Over the last `sizes.size()` dimensions, the last one first: so the first of equal elements is that of the row-major
/// order.
std::tuple<Tensor, Tensor> adaptive_max_over(const char* op, const Tensor& x, IntArrayRef sizes) {
  check_real(op, x);
  const int64_t spatial = static_cast<int64_t>(sizes.size());
  TANDEM_CHECK(x.dim() == spatial + 1 || x.dim() == spatial + 2, op, ": x is ", x.sizes(), "; accepted: ", spatial,
               " dimensions after the channels, with a batch or without");
  for (int64_t d = 1; d < x.dim(); ++d)
    TANDEM_CHECK(x.size(d) > 0, op, ": x is ", x.sizes(), "; of its sizes, only the first may be 0");
  for (const int64_t size : sizes) TANDEM_CHECK(size >= 0, op, ": output_size is ", sizes, "; accepted: 0 or more");
  Tensor y = lead_gradient_to(x), index;
  int64_t below = 1;  // elements of x in one step along the dimension
  for (int64_t d = x.dim() - 1; d >= x.dim() - spatial; --d) {
    const int64_t count = sizes[static_cast<size_t>(d - x.dim() + spatial)];
    const auto [values, places] = adaptive_max(y, d, count);
    const NoGradGuard guard;
    index = index.defined() ? places * below + index.gather(d, places) : places;
    y = values;
    below *= x.size(d);
  }
  return {y, index};
}
}  // namespace

std::tuple<Tensor, Tensor> adaptive_max_pool1d(const Tensor& x, int64_t size) {
  return adaptive_max_over("adaptive_max_pool1d", x, {size});
}
std::tuple<Tensor, Tensor> adaptive_max_pool2d(const Tensor& x, Pair size) {
  return adaptive_max_over("adaptive_max_pool2d", x, size);
}
std::tuple<Tensor, Tensor> adaptive_max_pool3d(const Tensor& x, Triple size) {
  return adaptive_max_over("adaptive_max_pool3d", x, size);
}

}  // namespace tandem
