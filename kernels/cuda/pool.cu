// Pooling over (planes, H, W), or over channels-last images. There is one thread per result, and neighbouring threads
// are neighbours in memory. Every number is read about once from memory and a few times from the cache, so memory
// bounds these kernels; divisions in index arithmetic are replaced by multiplications (divider.cuh). Gradients are
// gathered, not scattered: each thread computes the gradient of one pixel by adding, in order, over the windows that
// contain the pixel. So no two threads add to the same element, and sums are the same in every run.
#include "tandem/kernels/cuda/divider.cuh"
#include "tandem/kernels/cuda/launch.h"
#include "tandem/kernels/cuda/packet.cuh"
#include "tandem/kernels/functors/base.h"
#include "tandem/kernels/pool.h"
#include "tandem/kernels/reduce.h"
#include "tandem/kernels/types.h"
#include "tandem/kernels/visit_floating.h"

namespace tandem::kernels::cuda {
namespace {

/// Half-open range [first, last).
struct IndexRange {
  int64_t first, last;
};

/// Windows along one dimension.
struct Windows {
  int64_t in, out, kernel, stride, padding, dilation;
  Divider stride_divider;
  Windows(int64_t in, int64_t out, const PoolShape& s, int d)
      : in(in),
        out(out),
        kernel(s.kernel[d]),
        stride(s.stride[d]),
        padding(s.padding[d]),
        dilation(s.dilation[d]),
        stride_divider(stride) {}
  __device__ int64_t start(int64_t o) const { return o * stride - padding; }
  /// Returns the range of pixels in window o, for dilation 1.
  __device__ IndexRange pixels(int64_t o) const {
    return {math::max<int64_t>(start(o), 0), math::min(start(o) + kernel, in)};
  }
  /// Returns the range of windows whose extent contains pixel i.
  __device__ IndexRange windows_covering(int64_t i) const {
    // Minimum start of a window that contains pixel i, counted from the start of the padding.
    const int64_t reach = i + padding - (kernel - 1) * dilation;
    const int64_t first = reach <= 0 ? 0 : int64_t(stride_divider.divide(uint64_t(reach + stride - 1)));
    return {first, math::min(int64_t(stride_divider.divide(uint64_t(i + padding))) + 1, out)};
  }
  /// Returns the divisor of window o in average pooling: the number of its pixels, with or without padding.
  __device__ int64_t window_size(int64_t o, bool include_padding) const {
    const IndexRange inside = pixels(o);
    return include_padding ? math::min(start(o) + kernel, in + padding) - start(o) : inside.last - inside.first;
  }
};

/// Windows of adaptive pooling: window o has the pixels from floor(o * in / out) to ceil((o + 1) * in / out),
/// exclusive.
struct AdaptiveWindows {
  int64_t in, out;
  Divider in_divider, out_divider;
  AdaptiveWindows(int64_t in, int64_t out) : in(in), out(out), in_divider(in), out_divider(out) {}
  __device__ IndexRange pixels(int64_t o) const {
    return {int64_t(out_divider.divide(uint64_t(o * in))),
            int64_t(out_divider.divide(uint64_t((o + 1) * in + out - 1)))};
  }
  __device__ IndexRange windows_covering(int64_t i) const {
    return {int64_t(in_divider.divide(uint64_t(i * out))),
            int64_t(in_divider.divide(uint64_t((i + 1) * out + in - 1)))};
  }
  __device__ int64_t window_size(int64_t o, bool) const { return pixels(o).last - pixels(o).first; }
};

/// Position of an output element. For channels-last tensors, `plane` is the index of the image; otherwise it is the
/// index of the plane, and `channel` is 0.
struct OutputPosition {
  int64_t plane, row, column, channel;
};
/// Converts an index in memory order to the position of an element, for tensors (planes, rows, columns), or
/// channels-last images if kLast.
template <bool kLast> struct OffsetCalculator {
  int64_t elements, channels;
  Divider row_divider, column_divider, channel_divider;
  OffsetCalculator(const Tensor& t)
      : elements(t.numel()),
        channels(kLast ? t.size(1) : 1),
        row_divider(t.size(-2)),
        column_divider(t.size(-1)),
        channel_divider(channels) {}
  __device__ OutputPosition operator()(int64_t i) const {
    uint64_t column = uint64_t(i), channel = 0;
    if constexpr (kLast) {
      channel = column;
      column = channel_divider.div_mod(channel);
    }
    uint64_t row = column_divider.div_mod(column);
    const uint64_t plane = row_divider.div_mod(row);
    return {int64_t(plane), int64_t(row), int64_t(column), int64_t(channel)};
  }
  /// Returns the offset of the first pixel of the plane that contains `at`, in a tensor whose planes have `pixels`
  /// pixels. step() is the distance from one pixel of a plane to the next.
  __device__ int64_t start(const OutputPosition& at, int64_t pixels) const {
    return kLast ? at.plane * pixels * channels + at.channel : at.plane * pixels;
  }
  __device__ int64_t step() const { return kLast ? channels : 1; }
};
__device__ int64_t global_thread_index() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

/// Computes the maximum of each window and its index. Chooses the first among equal elements, and the last NaN if there
/// are NaNs.
template <class T, bool kLast>
__global__ void max_pool2d_windows(const T* __restrict__ x, T* __restrict__ y, int64_t* __restrict__ index,
                                   Windows rows, Windows columns, OffsetCalculator<kLast> positions) {
  const int64_t i = global_thread_index();
  if (i >= positions.elements) return;
  const OutputPosition at = positions(i);
  x += positions.start(at, rows.in * columns.in);
  using C = OpMath<T>;
  C best = -C(__builtin_inf());
  int64_t from = -1;
  for (int64_t k = 0, h = rows.start(at.row); k < rows.kernel; ++k, h += rows.dilation) {
    if (h < 0 || h >= rows.in) continue;
    for (int64_t l = 0, w = columns.start(at.column); l < columns.kernel; ++l, w += columns.dilation) {
      if (w < 0 || w >= columns.in) continue;
      const C value = C(x[(h * columns.in + w) * positions.step()]);
      if (from < 0 || value > best || value != value) {
        best = value;
        from = h * columns.in + w;
      }
    }
  }
  y[i] = T(best);
  if (index) index[i] = from;
}

/// Gradient of max_pool2d, with one thread for each pixel of dx. `index` holds the pixel that each window has chosen,
/// so dilation needs no special treatment.
template <class T, bool kLast>
__global__ void max_pool2d_gradients(const T* __restrict__ dy, const int64_t* __restrict__ index, T* __restrict__ dx,
                                     Windows rows, Windows columns, OffsetCalculator<kLast> positions) {
  const int64_t i = global_thread_index();
  if (i >= positions.elements) return;
  const OutputPosition at = positions(i);
  const int64_t pixel = at.row * columns.in + at.column, plane = positions.start(at, rows.out * columns.out);
  const IndexRange across = columns.windows_covering(at.column), down = rows.windows_covering(at.row);
  using C = OpMath<T>;
  C sum = C(0);
  for (int64_t o = down.first; o < down.last; ++o)
    for (int64_t p = across.first; p < across.last; ++p) {
      const int64_t window = plane + (o * columns.out + p) * positions.step();
      if (index[window] == pixel) sum += C(dy[window]);
    }
  dx[i] = T(sum);
}

/// Version of max_pool2d_gradients for windows that do not overlap: one thread per window writes all pixels of the
/// window. The last windows of a row or column also write the pixels after them, which belong to no window. If kPairs,
/// all windows are two pixels wide, and no columns are left over.
template <class T, bool kLast, bool kPairs>
__global__ void max_pool2d_gradients_disjoint(const T* __restrict__ dy, const int64_t* __restrict__ index,
                                              T* __restrict__ dx, Windows rows, Windows columns,
                                              OffsetCalculator<kLast> windows) {
  const int64_t i = global_thread_index();
  if (i >= windows.elements) return;
  const OutputPosition at = windows(i);
  const int64_t top = at.row * rows.stride, left = at.column * columns.stride, chosen = index[i];
  const int64_t bottom = at.row + 1 == rows.out ? rows.in : top + rows.stride;
  const int64_t right = at.column + 1 == columns.out ? columns.in : left + columns.stride;
  using C = OpMath<T>;
  const T gradient = T(C(0) + C(dy[i]));  // 0 + dy, which turns -0 into 0, as the sum in max_pool2d_gradients does
  dx += windows.start(at, rows.in * columns.in);
  for (int64_t h = top; h < bottom; ++h) {
    const int64_t row = h * columns.in;
    if constexpr (kPairs) {
      const int64_t pixel = row + left;
      word_at<Packet<T, 2>>(dx + pixel) = {{chosen == pixel ? gradient : T(0), chosen == pixel + 1 ? gradient : T(0)}};
    } else {
      for (int64_t w = left; w < right; ++w) dx[(row + w) * windows.step()] = chosen == row + w ? gradient : T(0);
    }
  }
}

template <class T, class Axis, bool kLast>
__global__ void avg_pool2d_windows(const T* __restrict__ x, T* __restrict__ y, Axis rows, Axis columns,
                                   OffsetCalculator<kLast> positions, bool include_padding) {
  const int64_t i = global_thread_index();
  if (i >= positions.elements) return;
  const OutputPosition at = positions(i);
  const IndexRange down = rows.pixels(at.row), across = columns.pixels(at.column);
  x += positions.start(at, rows.in * columns.in);
  using C = OpMath<T>;
  C sum = C(0);
  for (int64_t h = down.first; h < down.last; ++h)
    for (int64_t w = across.first; w < across.last; ++w) sum += C(x[(h * columns.in + w) * positions.step()]);
  y[i] =
      T(sum * (C(1) / C(rows.window_size(at.row, include_padding) * columns.window_size(at.column, include_padding))));
}

/// Averages over large windows, with one warp for each window. The lanes read neighbouring pixels, and their sums are
/// added by a tree.
template <class T, class Axis>
__global__ void avg_pool2d_wide_windows(const T* __restrict__ x, T* __restrict__ y, Axis rows, Axis columns,
                                        OffsetCalculator<false> positions, bool include_padding) {
  const int64_t i = global_thread_index() / kWarpSize;
  if (i >= positions.elements) return;  // `i` is the same in all lanes, so all lanes of the warp return together
  const OutputPosition at = positions(i);
  const IndexRange down = rows.pixels(at.row), across = columns.pixels(at.column);
  const int64_t width = across.last - across.first, lane = threadIdx.x % kWarpSize;
  x += at.plane * rows.in * columns.in;
  // The lanes step through the window's pixels row after row without a gap, so that all lanes are busy even if the
  // window is narrow.
  using C = OpMath<T>;
  C sum = C(0);
  int64_t h = down.first, w = lane;
  for (;; w += kWarpSize) {
    while (w >= width && h < down.last) {
      w -= width;
      ++h;
    }
    if (h >= down.last) break;
    sum += C(x[h * columns.in + across.first + w]);
  }
  for (int step = kWarpSize / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kFullWarpMask, sum, step);
  if (lane == 0)
    y[i] = T(sum *
             (C(1) / C(rows.window_size(at.row, include_padding) * columns.window_size(at.column, include_padding))));
}

template <class T, class Axis, bool kLast>
__global__ void avg_pool2d_gradients(const T* __restrict__ dy, T* __restrict__ dx, Axis rows, Axis columns,
                                     OffsetCalculator<kLast> positions, bool include_padding) {
  const int64_t i = global_thread_index();
  if (i >= positions.elements) return;
  const OutputPosition at = positions(i);
  const IndexRange down = rows.windows_covering(at.row), across = columns.windows_covering(at.column);
  dy += positions.start(at, rows.out * columns.out);
  using C = OpMath<T>;
  C sum = C(0);
  for (int64_t o = down.first; o < down.last; ++o)
    for (int64_t p = across.first; p < across.last; ++p)
      sum += C(dy[(o * columns.out + p) * positions.step()]) *
             (C(1) / C(rows.window_size(o, include_padding) * columns.window_size(p, include_padding)));
  dx[i] = T(sum);
}

/// Returns a launch shape with at least `threads` threads. If there are few threads, the block is small.
LaunchShape launch_shape(int64_t threads) {
  const int64_t block = std::min<int64_t>(ceil_div(threads, kWarpSize) * kWarpSize, 256);
  return {checked_grid_size(ceil_div(threads, block)), static_cast<unsigned>(block)};
}
/// Calls f.template operator()<T, kLast>(), where kLast says whether x is channels-last.
template <class F> void visit_layouts(const char* name, const Tensor& x, F f) {
  visit_floating(name, x.dtype(), [&]<class T>() {
    x.dim() == 4 ? f.template operator()<T, true>() : f.template operator()<T, false>();
  });
}
template <class Axis>
void launch_average_pool(const char* name, const Tensor& x, const Axis& rows, const Axis& columns, int64_t window,
                         bool include, Tensor& y) {
  if (y.numel() == 0) return;
  visit_layouts(name, x, [&]<class T, bool kLast>() {
    if constexpr (!kLast)
      if (window >= 2 * kWarpSize)
        return launch(name, avg_pool2d_wide_windows<T, Axis>, launch_shape(y.numel() * kWarpSize), x.device(),
                      x.data<T>(), y.data<T>(), rows, columns, OffsetCalculator<false>(y), include);
    launch(name, avg_pool2d_windows<T, Axis, kLast>, launch_shape(y.numel()), x.device(), x.data<T>(), y.data<T>(),
           rows, columns, OffsetCalculator<kLast>(y), include);
  });
}
template <class Axis>
void launch_average_pool_backward(const char* name, const Tensor& dy, const Axis& rows, const Axis& columns,
                                  bool include, Tensor& dx) {
  if (dx.numel() == 0) return;
  visit_layouts(name, dx, [&]<class T, bool kLast>() {
    launch(name, avg_pool2d_gradients<T, Axis, kLast>, launch_shape(dx.numel()), dx.device(), dy.data<T>(),
           dx.data<T>(), rows, columns, OffsetCalculator<kLast>(dx), include);
  });
}

}  // namespace

void max_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y, Tensor& index) {
  if (y.numel() == 0) return;
  visit_layouts("max_pool2d", x, [&]<class T, bool kLast>() {
    launch("max_pool2d", max_pool2d_windows<T, kLast>, launch_shape(y.numel()), x.device(), x.data<T>(), y.data<T>(),
           index.defined() ? index.data<int64_t>() : nullptr, Windows(x.size(-2), y.size(-2), shape, 0),
           Windows(x.size(-1), y.size(-1), shape, 1), OffsetCalculator<kLast>(y));
  });
}
void max_pool2d_backward(const Tensor& dy, const Tensor& index, const PoolShape& shape, Tensor& dx) {
  if (dx.numel() == 0) return;
  bool disjoint = dy.numel() > 0;
  for (int d = 0; d < 2; ++d)
    disjoint &= shape.kernel[d] == shape.stride[d] && shape.padding[d] == 0 && shape.dilation[d] == 1;
  const Windows rows(dx.size(-2), dy.size(-2), shape, 0), columns(dx.size(-1), dy.size(-1), shape, 1);
  visit_layouts("max_pool2d_backward", dx, [&]<class T, bool kLast>() {
    const auto start = [&](auto kernel, const Tensor& results) {
      launch("max_pool2d_backward", kernel, launch_shape(results.numel()), dx.device(), dy.data<T>(),
             index.data<int64_t>(), dx.data<T>(), rows, columns, OffsetCalculator<kLast>(results));
    };
    if (!disjoint) return start(max_pool2d_gradients<T, kLast>, dx);
    if constexpr (!kLast)
      if (columns.stride == 2 && columns.in == 2 * columns.out && is_aligned(dx.raw_data(), 2 * sizeof(T)))
        return start(max_pool2d_gradients_disjoint<T, kLast, true>, dy);
    start(max_pool2d_gradients_disjoint<T, kLast, false>, dy);
  });
}

void avg_pool2d(const Tensor& x, const PoolShape& shape, Tensor& y) {
  launch_average_pool("avg_pool2d", x, Windows(x.size(-2), y.size(-2), shape, 0),
                      Windows(x.size(-1), y.size(-1), shape, 1), shape.kernel[0] * shape.kernel[1],
                      shape.count_include_pad, y);
}
void avg_pool2d_backward(const Tensor& dy, const PoolShape& shape, Tensor& dx) {
  launch_average_pool_backward("avg_pool2d_backward", dy, Windows(dx.size(-2), dy.size(-2), shape, 0),
                               Windows(dx.size(-1), dy.size(-1), shape, 1), shape.count_include_pad, dx);
}

void adaptive_avg_pool2d(const Tensor& x, Tensor& y) {
  const int64_t pixels = x.size(-2) * x.size(-1);
  if (y.size(-2) * y.size(-1) == 1 && x.numel() > 0) {  // if there is one window per plane, y is the mean of each plane
    const bool last = x.dim() == 4;
    const int64_t images = x.size(0), channels = last ? x.size(1) : 1;
    const Tensor planes = core::try_view(last ? core::permute(x, {0, 2, 3, 1}) : x, {images, pixels, channels});
    Tensor means = core::try_view(last ? core::permute(y, {0, 2, 3, 1}) : y, {images, channels});
    return mean(planes, static_cast<double>(pixels), means);
  }
  launch_average_pool("adaptive_avg_pool2d", x, AdaptiveWindows(x.size(-2), y.size(-2)),
                      AdaptiveWindows(x.size(-1), y.size(-1)),
                      ceil_div(x.size(-2), y.size(-2)) * ceil_div(x.size(-1), y.size(-1)), false, y);
}
void adaptive_avg_pool2d_backward(const Tensor& dy, Tensor& dx) {
  launch_average_pool_backward("adaptive_avg_pool2d_backward", dy, AdaptiveWindows(dx.size(-2), dy.size(-2)),
                               AdaptiveWindows(dx.size(-1), dy.size(-1)), false, dx);
}

}  // namespace tandem::kernels::cuda
