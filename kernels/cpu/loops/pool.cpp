// Loops of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// Max pooling by windows of 2 x 2; see Note [Pooling by 2 x 2] in pool.h. The maximum is the first of equal elements
/// in memory order, or the last of several NaNs. x, y and index (which may be null) point to the data of window row
/// `first`, counted over all planes.
template <class C>
TANDEM_NOINLINE void pool_2x2_rows(const PoolGeometry& v, int64_t first, int64_t rows, const C* x, C* y,
                                   int64_t* index) {
  using Index = typename IndexTypeOf<C>::type;
  constexpr int kBytes = kStep * int(sizeof(C)) < kLaneBytes ? kStep * int(sizeof(C)) : kLaneBytes;
  constexpr int kWidth = kBytes / int(sizeof(C));
  using V = LaneVector<C, kBytes>;
  using IndexVector = LaneVector<Index, kBytes>;
  IndexVector order;
  for (int i = 0; i < kWidth; ++i) order[i] = Index(2 * i);
  const int64_t oh = v.oh, ow = v.ow, last = ow > kWidth ? ow - kWidth : 0;
  const Index below = Index(2 * ow);
  const auto load = [](const C* from, bool odd) {
    return deinterleave<V>(load_lanes<C, kBytes>(from), load_lanes<C, kBytes>(from + kWidth), odd);
  };
  int64_t corner = first % oh * 4 * ow;
  for (int64_t r = 0; r < rows; ++r, x += 4 * ow, y += ow) {
    for (int64_t i = 0; i < ow; i += kWidth) {
      if (i > last) i = last;
      const C *const top = x + 2 * i, *const bottom = top + 2 * ow;
      const V a = load(top, false), b = load(top, true), c = load(bottom, false), d = load(bottom, true);
      const auto right = (b > a) | (b != b), lower_right = (d > c) | (d != d);
      const V high = right ? b : a, low = lower_right ? d : c;
      const auto lower = (low > high) | (low != low);
      *reinterpret_cast<V*>(y + i) = lower ? low : high;
      if (!index) continue;
      const IndexVector at = (lower ? below - lower_right : -right) + (order + Index(corner + 2 * i));
      for (int k = 0; k < kWidth; ++k) index[i + k] = at[k];
    }
    corner = corner + 4 * ow < oh * 4 * ow ? corner + 4 * ow : 0;
    if (index) index += ow;
  }
}
/// Max pooling by windows of 2 x 2, for planes [begin, end). Operands: y, index or none, x.
template <class C> void pool_2x2(const Loop& loop, const PoolGeometry& v, int64_t begin, int64_t end) {
  const OperandElements<C> result(loop, 0), elements(loop, 2);
  int64_t* const index = data<int64_t>(loop, 1);
  const int64_t first = begin * v.oh, count = end * v.oh - first;
  // If a row is shorter than a step, a step writes beyond the end of the row. So the last rows are computed in a
  // temporary, because the memory after them may belong to another thread.
  const int64_t tail = result.is_reduced_floating_point() ? count : v.ow < kStep ? min64(kStep / v.ow, count) : 0;
  if (tail < count) {
    const int64_t at = first * v.ow;
    pool_2x2_rows(v, first, count - tail, elements.read(4 * at, 1, nullptr), result.output_buffer(at, nullptr),
                  index ? index + at : nullptr);
  }
  C scratch[4 * kTileWindows + 2 * kStep], best[kTileWindows + kStep];
  int64_t place[kTileWindows + kStep];
  for (int64_t done = count - tail, step = kTileWindows / v.ow; done < count; done += step) {
    const int64_t rows = min64(step, count - done), at = (first + done) * v.ow, windows = rows * v.ow;
    const C* const x = elements.read(4 * at, 4 * windows, scratch);
    for (int64_t i = 0; x != scratch && i < 4 * windows; ++i) scratch[i] = x[i];
    pool_2x2_rows(v, first + done, rows, scratch, best, index ? place : nullptr);
    result.store(at, windows, best);
    for (int64_t i = 0; index && i < windows; ++i) index[at + i] = place[i];
  }
}
/// Returns the range of kernel positions i < k for which pixel `first + i * d` lies in [0, size).
IndexRange kernel_range(int64_t first, int64_t d, int64_t k, int64_t size) {
  return {first < 0 ? (-first + d - 1) / d : 0, first < size ? min64(k, (size - 1 - first) / d + 1) : 0};
}
/// Writes at[i] = column of the first pixel of window i that lies in the plane; -1 if all of its pixels are padding.
template <class Index> void first_valid_pixels(const PoolGeometry& v, int64_t left, int64_t count, Index* at) {
  const int64_t s = v.s[1];
  for (int64_t i = 0; i < count; ++i) at[i] = Index(left + i * s);
  const auto look = [&](int64_t i) {
    const IndexRange k = kernel_range(left + i * s, v.d[1], v.k[1], v.w);
    at[i] = k.first < k.last ? Index(left + i * s + k.first * v.d[1]) : Index(-1);
  };
  for (int64_t i = 0; i < count && left + i * s < 0; ++i) look(i);
  for (int64_t i = count - 1; i >= 0 && left + i * s >= v.w; --i) look(i);
}
/// Updates the largest element (best) and its index (at) of each of `windows` adjacent windows by the pixels of `row`,
/// a vector of windows at a time.
template <class C, class Index>
TANDEM_HD void update_maxima(const PixelRow<C>& row, int64_t windows, Index first_index, Index step, C* best,
                             Index* at) {
  constexpr int kBytes = kLaneBytes < 32 ? kLaneBytes : 32, kWidth = kBytes / int(sizeof(C));
  using V = LaneVector<C, kBytes>;
  using IndexVector = LaneVector<Index, kBytes>;
  IndexVector order;
  for (int i = 0; i < kWidth; ++i) order[i] = Index(i) * step;
  for (int64_t i = 0; i < windows; i += kWidth) {
    V high = load_lanes<C, kBytes>(best + i);
    IndexVector where = load_lanes<Index, kBytes>(at + i);
    for (int64_t k = 0; k < row.column_count(); ++k) {
      const V x = load_lanes<C, kBytes>(row.pixels(k) + i);
      const auto wins = (x > high) | (x != x);
      high = wins ? x : high;
      where = wins ? order + Index(first_index + row.offset(k) + i * step) : where;
    }
    *reinterpret_cast<V*>(best + i) = high;
    *reinterpret_cast<IndexVector*>(at + i) = where;
  }
}
/// Max pooling of planes [begin, end). Operands: y, index or none, x. Padding is never the maximum.
template <class C> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  using Index = typename IndexTypeOf<C>::type;
  const PoolGeometry v(loop);
  if (is_2x2_pooling(v)) return pool_2x2<C>(loop, v, begin, end);
  const OperandElements<C> result(loop, 0), elements(loop, 2);
  int64_t* const index = data<int64_t>(loop, 1);
  PixelRow<C> row(v, elements, -C(__builtin_inf()));
  for (int64_t plane = begin; plane < end; ++plane)
    for (int64_t oh = 0; oh < v.oh; ++oh) {
      const int64_t top = oh * v.s[0] - v.p[0];
      const IndexRange row_range = kernel_range(top, v.d[0], v.k[0], v.h);
      for (int64_t ow = 0; ow < v.ow; ow += row.windows()) {
        const int64_t count = min64(row.windows(), v.ow - ow), left = ow * v.s[1] - v.p[1];
        C best[kTileSize + kStep];
        // Index of each window's maximum, counted from the start of the first row of the plane that these windows
        // cover.
        Index at[kTileSize + kStep];
        for (int64_t i = 0; i < count + kStep; ++i) {
          best[i] = -C(__builtin_inf());
          at[i] = -1;
        }
        if (row_range.first < row_range.last) first_valid_pixels(v, left, count, at);
        for (int64_t kh = row_range.first; kh < row_range.last; ++kh)
          for (int64_t from = 0; from < v.k[1]; from += row.column_count()) {
            row.read(plane * v.h + top + kh * v.d[0], left, count, from);
            update_maxima(row, count, Index((kh - row_range.first) * v.d[0] * v.w + left), Index(v.s[1]), best, at);
          }
        const int64_t result_offset = (plane * v.oh + oh) * v.ow + ow, start = (top + row_range.first * v.d[0]) * v.w;
        for (int64_t i = 0; index && i < count; ++i) index[result_offset + i] = at[i] < 0 ? -1 : start + at[i];
        result.store(result_offset, count, best);
      }
    }
}
/// Computes dx for planes [begin, end). Operands: dx, dy, index. A window that has only padding has index -1, and is
/// skipped. Gradients of a half type are summed in float and rounded once.
template <class C> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  PoolGeometry v(loop);
  const OperandElements<C> result(loop, 0), gradient(loop, 1);
  if (!result.is_reduced_floating_point()) {
    const int64_t to = v.h * v.w, from = v.oh * v.ow;
    for (int64_t plane = begin; plane < end; ++plane) {
      C* const dx = data<C>(loop, 0) + plane * to;
      const C* const dy = data<const C>(loop, 1) + plane * from;
      const int64_t* const index = data<const int64_t>(loop, 2) + plane * from;
      for (int64_t i = 0; i < to; ++i) dx[i] = C(0);
      for (int64_t i = 0; i < from; ++i)
        if (uint64_t(index[i]) < uint64_t(to)) dx[index[i]] += dy[i];
    }
    return;
  }
  // replaces v.k by the extent of a window, dilation included
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;
  Scratch<C> scratch;
  for (int64_t plane = begin; plane < end; ++plane)
    compute_plane(result, v, plane, [&](const PlanePart<C>& part) {
      const int64_t start = part.rows.first * v.w + part.columns.first;  // the part is contiguous
      const int64_t count = (part.rows.last - part.rows.first) * part.stride;
      const IndexRange row_range = windows_covering(v, 0, part.rows.first, part.rows.last, v.oh);
      const IndexRange column_range = windows_covering(v, 1, part.columns.first, part.columns.last, v.ow);
      // If the range of windows spans whole rows of the output, these rows are contiguous and are treated as one run.
      const bool all = column_range.last - column_range.first == v.ow;
      const int64_t run = (column_range.last - column_range.first) * (all ? row_range.last - row_range.first : 1);
      for (int64_t oh = row_range.first; oh < row_range.last; oh += all ? v.oh : 1) {
        const int64_t from = (plane * v.oh + oh) * v.ow + column_range.first;
        gradient.template for_chunks<kBandSize>(run, [&](int64_t first, int64_t n) {
          const C* const dy = gradient.read(from + first, n, scratch.data());
          const int64_t* const index = data<const int64_t>(loop, 2) + from + first;
          C* const dx = part.data;
          for (int64_t i = 0; i < n; ++i) {
            const int64_t at = index[i] - start;
            if (uint64_t(at) < uint64_t(count)) dx[at] += dy[i];
          }
        });
      }
    });
}

}  // namespace
}  // namespace tandem::kernels::cpu::TANDEM_ISA

TANDEM_COMPUTE_TYPE_LOOP(max_pool2d, max_pool_body)
TANDEM_COMPUTE_TYPE_LOOP(max_pool2d_backward, max_pool_backward_body)
