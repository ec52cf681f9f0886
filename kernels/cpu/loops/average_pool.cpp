// Loops of average pooling, which has no dilation. The scalar at the position of dilation[0] (PoolGeometry::d) says
// whether padding counts in the divisor.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

constexpr int64_t kWindowChunk = 256;

/// Average pooling by windows of 2 x 2; see Note [Pooling by 2 x 2] in pool.h. Operands: y, x.
template <class C> void pool_2x2(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  const OperandElements<C> result(loop, 0), elements(loop, 1);
  C scratch[4 * kTileWindows], across[2 * kTileWindows + kStep], both[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const int64_t count = rows * v.ow;
    const C* const x = elements.read(2 * row * v.w, 4 * count, scratch);
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * count; ++i) across[i] = x[2 * i] + x[2 * i + 1];
    for (int64_t r = 0; r < rows; ++r) {
      const C *const top = across + 2 * r * v.ow, *const bottom = top + v.ow;
      C* const to = both + r * v.ow;
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) to[i] = (top[i] + bottom[i]) * C(0.25);
    }
    C* const y = result.output_buffer(row * v.ow, scratch);
    for (int64_t i = 0; i < count; ++i) y[i] = both[i];
    result.write(row * v.ow, count, y);
  });
}

/// Operands: dx, dy.
template <class C> void pool_2x2_backward(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const OperandElements<C> result(loop, 0), gradient(loop, 1);
  C scratch[4 * kTileWindows], wide[2 * kTileWindows];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const int64_t count = rows * v.ow;
    const C* const dy = gradient.read(row * v.ow, count, scratch);
    for (int64_t i = 0; i < count; ++i) wide[2 * i] = wide[2 * i + 1] = dy[i] * C(0.25);
    C* const dx = result.output_buffer(2 * row * v.w, scratch);
    for (int64_t r = 0; r < 2 * rows; ++r)
      __builtin_memcpy(dx + r * v.w, wide + r / 2 * v.w, uint64_t(v.w) * sizeof(C));
    result.write(2 * row * v.w, 4 * count, dx);
  });
}

/// Multiplies values[i] by the scale of window (oh, first + i). Windows that do not reach
/// over the left or right edge of the plane share one scale.
template <class T> void scale_windows(const PoolGeometry& v, int64_t oh, int64_t first, int64_t count, T* values) {
  const auto inside = [&](int64_t i) {
    const int64_t w = (first + i) * v.s[1] - v.p[1];
    return w >= 0 && w + v.k[1] <= v.w;
  };
  int64_t left = 0, right = count;
  for (; left < count && !inside(left); ++left) values[left] *= window_scale<T>(v, oh, first + left);
  for (; right > left && !inside(right - 1); --right) values[right - 1] *= window_scale<T>(v, oh, first + right - 1);
  if (left == right) return;
  const T scale = window_scale<T>(v, oh, first + left);
  for (int64_t i = left; i < right; ++i) values[i] *= scale;
}
/// Returns the range of windows i in [0, count) for which pixel `at + i * stride` lies in [0, width).
IndexRange overlapping_windows(int64_t at, int64_t count, int64_t stride, int64_t width) {
  return {at < 0 ? (-at + stride - 1) / stride : 0, at < width ? min64(count, (width - 1 - at) / stride + 1) : 0};
}
/// A run of `count` adjacent windows in row `oh` of the output, starting with window `first`.
struct WindowRun {
  int64_t oh, first, count;
};
/// If not kBackward, adds the pixels of a part of the plane to `values`, which holds one sum for each window of `row`.
/// If kBackward, adds `values` to the pixels. Takes one element of the kernel at a time, for all windows side by side.
template <bool kBackward, int kStride, class X, class C>
void add_windows(const PoolGeometry& v, const WindowRun& row, const PlanePart<X>& x, C* values) {
  const int64_t s = kStride ? kStride : v.s[1], h0 = row.oh * v.s[0] - v.p[0];
  const int64_t last = min64(h0 + v.k[0], x.rows.last);
  for (int64_t h = max64(h0, x.rows.first); h < last; ++h)
    for (int64_t k = 0; k < v.k[1]; ++k) {
      // Column, relative to the part, of the pixel that the first window reads. It may be outside the part even if the
      // pixels of later windows are inside.
      const int64_t at = row.first * s - v.p[1] + k - x.columns.first;
      const IndexRange those = overlapping_windows(at, row.count, s, x.columns.last - x.columns.first);
      X* const from = x.row(h) + at;
      TANDEM_IVDEP
      for (int64_t i = those.first; i < those.last; ++i) {
        if constexpr (kBackward)
          from[i * s] += values[i];
        else
          values[i] += from[i * s];
      }
    }
}
template <bool kBackward, class X, class C>
void add_windows(const PoolGeometry& v, const WindowRun& row, const PlanePart<X>& x, C* values) {
  v.s[1] == 1   ? add_windows<kBackward, 1>(v, row, x, values)
  : v.s[1] == 2 ? add_windows<kBackward, 2>(v, row, x, values)
                : add_windows<kBackward, 0>(v, row, x, values);
}
template <class F> void for_window_chunks(int64_t oh, IndexRange across, F f) {
  for (int64_t first = across.first; first < across.last; first += kWindowChunk)
    f(WindowRun{oh, first, min64(kWindowChunk, across.last - first)});
}
/// Returns whether the windows tile the plane: they are adjacent, have no padding, and end within the plane.
bool is_tiled(const PoolGeometry& v) {
  bool yes = v.oh * v.k[0] <= v.h && v.ow * v.k[1] <= v.w;
  for (int i = 0; i < 2; ++i) yes = yes && v.k[i] == v.s[i] && v.p[i] == 0;
  return yes;
}
/// Computes dx for windows that tile the plane (see is_tiled): computes one row of pixels, and copies it to the other
/// rows of the same windows. dx must hold zeros before.
template <class C>
void fill_tiled_windows(const PoolGeometry& v, int64_t plane, const OperandElements<C>& given, const PlanePart<C>& dx) {
  const C scale = window_scale<C>(v, 0, 0);
  const int64_t last = min64(dx.rows.last, v.oh * v.k[0]);
  for (int64_t h = dx.rows.first; h < last; ++h) {
    C* const to = dx.row(h);
    if (h > dx.rows.first && h % v.k[0] != 0) {
      __builtin_memcpy(to, to - dx.stride, uint64_t(v.ow * v.k[1]) * sizeof(C));
      continue;
    }
    for (int64_t first = 0; first < v.ow; first += kWindowChunk) {
      C scratch[kWindowChunk];
      const int64_t count = min64(kWindowChunk, v.ow - first);
      const C* const dy = given.read((plane * v.oh + h / v.k[0]) * v.ow + first, count, scratch);
      C* pixel = to + first * v.k[1];
      for (int64_t i = 0; i < count; ++i) {
        const C g = dy[i] * scale;
        for (int64_t k = 0; k < v.k[1]; ++k) {
          TANDEM_NO_VECTORIZE
          *pixel++ += g;
        }
      }
    }
  }
}
/// Average pooling of planes [begin, end). Operands: y, x; in backward: dx, dy. Gradients of a half type are summed in
/// float and rounded once.
template <class C, bool kBackward>
void average_planes(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const OperandElements<C> result(loop, 0), given(loop, 1);
  [[maybe_unused]] const bool tiled = is_tiled(v);
  for (int64_t plane = begin; plane < end; ++plane) {
    const auto place = [&](const WindowRun& row) { return (plane * v.oh + row.oh) * v.ow + row.first; };
    if constexpr (kBackward) {
      compute_plane(result, v, plane, [&](const PlanePart<C>& dx) {
        if (tiled && dx.stride == v.w) return fill_tiled_windows(v, plane, given, dx);
        const IndexRange down = windows_covering(v, 0, dx.rows.first, dx.rows.last, v.oh);
        const IndexRange across = windows_covering(v, 1, dx.columns.first, dx.columns.last, v.ow);
        for (int64_t oh = down.first; oh < down.last; ++oh)
          for_window_chunks(oh, across, [&](const WindowRun& row) {
            C values[kWindowChunk], scratch[kWindowChunk];
            const C* const dy = given.read(place(row), row.count, scratch);
            for (int64_t i = 0; i < row.count; ++i) values[i] = dy[i];
            scale_windows(v, oh, row.first, row.count, values);
            add_windows<true>(v, row, dx, values);
          });
      });
    } else {
      PlaneReader<C> x(given, v);
      x.select_plane(plane);
      for (int64_t oh = 0; oh < v.oh; ++oh)
        for_window_chunks(oh, {0, v.ow}, [&](const WindowRun& row) {
          C values[kWindowChunk];
          for (int64_t i = 0; i < row.count; ++i) values[i] = C(0);
          const int64_t top = oh * v.s[0] - v.p[0], left = row.first * v.s[1] - v.p[1];
          x.for_parts({max64(top, 0), min64(top + v.k[0], v.h)},
                      {max64(left, 0), min64(left + (row.count - 1) * v.s[1] + v.k[1], v.w)},
                      [&](const PlanePart<const C>& part) { add_windows<false>(v, row, part, values); });
          scale_windows(v, oh, row.first, row.count, values);
          result.store(place(row), row.count, values);
        });
    }
  }
}
template <class C, bool kBackward> void average_body(const Loop& loop, int64_t begin, int64_t end) {
  const PoolGeometry v(loop);
  PoolGeometry plain = v;
  plain.d[0] = plain.d[1] = 1;
  if (is_2x2_pooling(plain))
    return kBackward ? pool_2x2_backward<C>(loop, v, begin, end) : pool_2x2<C>(loop, v, begin, end);
  average_planes<C, kBackward>(loop, v, begin, end);
}

/// Adaptive average pooling by windows of any size, computed element by element.
template <class C, bool kBackward>
void adaptive_planes(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const OperandElements<C> result(loop, 0), given(loop, 1);
  const auto scale = [](IndexRange rows, IndexRange columns) {
    return C(1) / C((rows.last - rows.first) * (columns.last - columns.first));
  };
  // Number of windows in a row whose column ranges are computed once, in advance, instead of again for each row of each
  // plane.
  constexpr int64_t kHeld = 64;
  IndexRange held[kHeld];
  for (int64_t j = 0; j < min64(v.ow, kHeld); ++j) held[j] = adaptive_window(j, v.w, v.ow);
  const auto columns_of = [&](int64_t j) { return j < kHeld ? held[j] : adaptive_window(j, v.w, v.ow); };
  for (int64_t plane = begin; plane < end; ++plane) {
    if constexpr (kBackward) {
      compute_plane(result, v, plane, [&](const PlanePart<C>& dx) {
        // Windows that overlap this part of dx. adaptive_window() gives them if input and output exchange their roles.
        const int64_t last_row = adaptive_window(dx.rows.last - 1, v.oh, v.h).last;
        const int64_t last_column = adaptive_window(dx.columns.last - 1, v.ow, v.w).last;
        const int64_t first_column = adaptive_window(dx.columns.first, v.ow, v.w).first;
        for (int64_t i = adaptive_window(dx.rows.first, v.oh, v.h).first; i < last_row; ++i) {
          const IndexRange rows = adaptive_window(i, v.h, v.oh);
          for (int64_t j = first_column; j < last_column; ++j) {
            const IndexRange columns = columns_of(j);
            const C g = given.get((plane * v.oh + i) * v.ow + j) * scale(rows, columns);
            const int64_t left = max64(columns.first, dx.columns.first);
            const int64_t width = min64(columns.last, dx.columns.last) - left;
            const int64_t bottom = min64(rows.last, dx.rows.last);
            for (int64_t h = max64(rows.first, dx.rows.first); h < bottom; ++h) {
              C* const row = dx.row(h) + (left - dx.columns.first);
              for (int64_t k = 0; k < width; ++k) row[k] += g;
            }
          }
        }
      });
    } else {
      PlaneReader<C> x(given, v);
      x.select_plane(plane);
      for (int64_t i = 0; i < v.oh; ++i) {
        const IndexRange rows = adaptive_window(i, v.h, v.oh);
        for (int64_t j = 0; j < v.ow; ++j) {
          const IndexRange columns = columns_of(j);
          C sum = C(0);
          x.for_parts(rows, columns, [&](const PlanePart<const C>& part) {
            for (int64_t h = part.rows.first; h < part.rows.last; ++h) {
              const C* const row = part.row(h);
              for (int64_t k = 0; k < part.columns.last - part.columns.first; ++k) sum += row[k];
            }
          });
          result.set((plane * v.oh + i) * v.ow + j, sum * scale(rows, columns));
        }
      }
    }
  }
}
/// Adaptive average pooling of planes [begin, end); operands as in average_planes. Windows of equal size are computed
/// by average_planes, except that a window as wide as the plane is summed as one contiguous run.
template <class C, bool kBackward> void adaptive_body(const Loop& loop, int64_t begin, int64_t end) {
  PoolGeometry v(loop);
  if (v.oh == 0 || v.ow == 0 || v.h % v.oh || v.w % v.ow) return adaptive_planes<C, kBackward>(loop, v, begin, end);
  v.k[0] = v.s[0] = v.h / v.oh;
  v.k[1] = v.s[1] = v.w / v.ow;
  v.p[0] = v.p[1] = 0;
  v.d[0] = 1;
  if (v.ow > 1) return average_planes<C, kBackward>(loop, v, begin, end);
  const int64_t run = v.k[0] * v.w;
  const OperandElements<C> result(loop, 0), given(loop, 1);
  for (int64_t window = begin * v.oh; window < end * v.oh; ++window) {
    if constexpr (kBackward) {
      const C g = given.get(window) / C(run);
      Scratch<C> scratch;
      result.template for_chunks<kBandSize>(run, [&](int64_t first, int64_t count) {
        C* const dx = result.output_buffer(window * run + first, scratch.data());
        for (int64_t i = 0; i < count; ++i) dx[i] = g;
        result.write(window * run + first, count, dx);
      });
    } else {
      Lanes<C> lanes = {};
      RowBands<C> wide(given, window * run, run);
      wide.for_each_band(
          [&](int64_t, int64_t count, const C* x) { lanes.add(count, [=](int64_t i) { return x[i]; }); });
      result.set(window, lanes.fold() / C(run));
    }
  }
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d, TANDEM_FORWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(avg_pool2d_backward, TANDEM_BACKWARD_BODY, average_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d, TANDEM_FORWARD_BODY, adaptive_body)
TANDEM_COMPUTE_TYPE_DISPATCH_TABLE(adaptive_avg_pool2d_backward, TANDEM_BACKWARD_BODY, adaptive_body)
