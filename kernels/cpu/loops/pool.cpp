// Rows of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// See Note [Halving]. Equal elements and NaNs win as in the order of memory: the first of the largest, the last NaN.
/// Operands: y, index, x.
template <class C> TANDEM_ONE_COPY void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
  using Place = typename PlaceOf<C>::type;
  const int64_t steps = (v.ow + kStep - 1) / kStep;
  const Elements<C> result(loop, 0), elements(loop, 2);
  C room[4 * kTileWindows], high[2 * kTileWindows + kStep], best[kTileWindows + kStep];
  Place column[2 * kTileWindows + kStep], place[kTileWindows + kStep];
  for_tiles(v, begin, end, [&](int64_t row, int64_t rows) {
    const C* const x = elements.read(2 * row * v.w, 4 * rows * v.ow, room);
    TANDEM_IVDEP
    for (int64_t i = 0; i < 2 * rows * v.ow; ++i) {
      const C a = x[2 * i], b = x[2 * i + 1];
      const bool right = (b > a) | (b != b);
      high[i] = right ? b : a;
      column[i] = right ? Place(1) : Place(0);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const C *const top = high + 2 * r * v.ow, *const bottom = top + v.ow;
      const Place *const top_column = column + 2 * r * v.ow, *const bottom_column = top_column + v.ow;
      C* const to = best + r * v.ow;
      Place* const at = place + r * v.ow;
      const Place corner = Place((row + r) % v.oh * 2 * v.w), below = Place(corner + v.w);
      TANDEM_IVDEP
      for (int64_t i = 0; i < steps * kStep; ++i) {
        const bool lower = (bottom[i] > top[i]) | (bottom[i] != bottom[i]);
        to[i] = lower ? bottom[i] : top[i];
        at[i] = Place(2 * i) + (lower ? bottom_column[i] + below : top_column[i] + corner);
      }
    }
    C* const y = result.place(row * v.ow, room);
    int64_t* const index = data<int64_t>(loop, 1) + row * v.ow;
    for (int64_t i = 0; i < rows * v.ow; ++i) y[i] = best[i];
    result.write(row * v.ow, rows * v.ow, y);
    for (int64_t i = 0; i < rows * v.ow; ++i) index[i] = place[i];
  });
}
/// The places k of a window at `first` whose pixels first + k d lie among [0, size).
Span places(int64_t first, int64_t d, int64_t k, int64_t size) {
  return {first < 0 ? (-first + d - 1) / d : 0, first < size ? lesser(k, (size - 1 - first) / d + 1) : 0};
}
/// at[i] = where the first pixel of window i lies, in its row of pixels; -1 if all of them are padding.
template <class Place> void first_pixels(const Window& v, int64_t left, int64_t count, Place* at) {
  const int64_t s = v.s[1];
  for (int64_t i = 0; i < count; ++i) at[i] = Place(left + i * s);
  const auto look = [&](int64_t i) {
    const Span k = places(left + i * s, v.d[1], v.k[1], v.w);
    at[i] = k.first < k.last ? Place(left + i * s + k.first * v.d[1]) : Place(-1);
  };
  for (int64_t i = 0; i < count && left + i * s < 0; ++i) look(i);
  for (int64_t i = count - 1; i >= 0 && left + i * s >= v.w; --i) look(i);
}
/// Of windows side by side, a vector of them after another: those whose pixels win, and where these are.
template <class C, class Place>
TANDEM_HD void let_win(const PixelRow<C>& row, int64_t windows, Place beside, Place step, C* best, Place* at) {
  constexpr int kBytes = kLaneBytes < 32 ? kLaneBytes : 32, kWidth = kBytes / int(sizeof(C));
  using V = LaneVector<C, kBytes>;
  using Places = LaneVector<Place, kBytes>;
  Places order;
  for (int i = 0; i < kWidth; ++i) order[i] = Place(i) * step;
  for (int64_t i = 0; i < windows; i += kWidth) {
    V high = load_lanes<C, kBytes>(best + i);
    Places where = load_lanes<Place, kBytes>(at + i);
    for (int64_t k = 0; k < row.many(); ++k) {
      const V x = load_lanes<C, kBytes>(row.pixels(k) + i);
      const auto wins = (x > high) | (x != x);
      high = wins ? x : high;
      where = wins ? order + Place(beside + row.offset(k) + i * step) : where;
    }
    *reinterpret_cast<V*>(best + i) = high;
    *reinterpret_cast<Places*>(at + i) = where;
  }
}
/// Operands: y, index, x. What lies beside the plane never wins.
template <class C> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  using Place = typename PlaceOf<C>::type;
  const Window v(loop);
  if (is_halving(v)) return halve<C>(loop, v, begin, end);
  const Elements<C> result(loop, 0), elements(loop, 2);
  PixelRow<C> row(v, elements, -C(__builtin_inf()));
  for (int64_t plane = begin; plane < end; ++plane)
    for (int64_t oh = 0; oh < v.oh; ++oh) {
      const int64_t top = oh * v.s[0] - v.p[0];
      const Span down = places(top, v.d[0], v.k[0], v.h);
      for (int64_t ow = 0; ow < v.ow; ow += row.windows()) {
        const int64_t count = lesser(row.windows(), v.ow - ow), left = ow * v.s[1] - v.p[1];
        C best[kTile + kStep];
        Place at[kTile + kStep];  // from the first row of these windows that lies in the plane
        for (int64_t i = 0; i < count + kStep; ++i) best[i] = -C(__builtin_inf()), at[i] = -1;
        if (down.first < down.last) first_pixels(v, left, count, at);
        for (int64_t kh = down.first; kh < down.last; ++kh)
          for (int64_t from = 0; from < v.k[1]; from += row.many()) {
            row.read(plane * v.h + top + kh * v.d[0], left, count, from);
            let_win(row, count, Place((kh - down.first) * v.d[0] * v.w + left), Place(v.s[1]), best, at);
          }
        const int64_t made = (plane * v.oh + oh) * v.ow + ow, start = (top + down.first * v.d[0]) * v.w;
        int64_t* const index = data<int64_t>(loop, 1) + made;
        for (int64_t i = 0; i < count; ++i) index[i] = at[i] < 0 ? -1 : start + at[i];
        result.put(made, count, best);
      }
    }
}
/// Operands: dx, dy, index. A window of padding alone, whose index is -1, has no gradient to give. A gradient of a half
/// type is summed up in float, and rounded once.
template <class C> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  Window v(loop);
  const Elements<C> result(loop, 0), gradient(loop, 1);
  if (!result.is_half()) {
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
  for (int d = 0; d < 2; ++d) v.k[d] = (v.k[d] - 1) * v.d[d] + 1;  // all that a window reaches over
  Room<C> room;
  for (int64_t plane = begin; plane < end; ++plane)
    make_plane(result, v, plane, [&](const Part<C>& part) {
      const int64_t start = part.rows.first * v.w + part.columns.first;  // the part lies in one run
      const int64_t count = (part.rows.last - part.rows.first) * part.stride;
      const Span down = covering(v, 0, part.rows.first, part.rows.last, v.oh);
      const Span across = covering(v, 1, part.columns.first, part.columns.last, v.ow);
      const bool all = across.last - across.first == v.ow;  // rows of all windows are one run too
      const int64_t run = (across.last - across.first) * (all ? down.last - down.first : 1);
      for (int64_t oh = down.first; oh < down.last; oh += all ? v.oh : 1) {
        const int64_t from = (plane * v.oh + oh) * v.ow + across.first;
        gradient.template in_pieces<kBand>(run, [&](int64_t first, int64_t n) {
          const C* const dy = gradient.read(from + first, n, room.data());
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

TANDEM_EACH_FLOATING(max_pool2d, max_pool_body)
TANDEM_EACH_FLOATING(max_pool2d_backward, max_pool_backward_body)
