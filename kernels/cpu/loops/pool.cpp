// Rows of max pooling.
#include "tandem/kernels/cpu/loops/pool.h"

namespace tandem::kernels::cpu::TANDEM_ISA {
namespace {

/// See Note [Halving]. Equal elements and NaNs win as in the order of memory: the first of the largest, the last NaN.
/// Operands: y, index, x.
template <class C> void halve(const Loop& loop, const Window& v, int64_t begin, int64_t end) {
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
/// The places k of a window at `first` whose pixels first + k d lie among `those`.
Span places(int64_t first, int64_t d, int64_t k, Span those) {
  const int64_t low = those.first - first, high = those.last - first;
  return {low > 0 ? (low + d - 1) / d : 0, high > 0 ? lesser(k, (high - 1) / d + 1) : 0};
}
/// Operands: y, index, x.
template <class C> void max_pool_body(const Loop& loop, int64_t begin, int64_t end) {
  const Window v(loop);
  if (is_halving(v)) return halve<C>(loop, v, begin, end);
  const Elements<C> result(loop, 0), elements(loop, 2);
  const int64_t last_h = (v.k[0] - 1) * v.d[0] + 1, last_w = (v.k[1] - 1) * v.d[1] + 1;
  Plane<C> x(elements, v);
  for (int64_t plane = begin; plane < end; ++plane) {
    x.choose(plane);
    for (int64_t oh = 0; oh < v.oh; ++oh)
      for (int64_t ow = 0; ow < v.ow; ow += kTile) {  // windows side by side
        const int64_t count = lesser(kTile, v.ow - ow), made = (plane * v.oh + oh) * v.ow + ow;
        const int64_t top = oh * v.s[0] - v.p[0], left = ow * v.s[1] - v.p[1];
        int64_t* const index = data<int64_t>(loop, 1) + made;
        C best[kTile];
        for (int64_t i = 0; i < count; ++i) best[i] = -C(__builtin_inf()), index[i] = -1;
        x.parts({greater(top, 0), lesser(top + last_h, v.h)},
                {greater(left, 0), lesser(left + (count - 1) * v.s[1] + last_w, v.w)}, [&](const Part<const C>& part) {
                  const Span down = places(top, v.d[0], v.k[0], part.rows);
                  for (int64_t i = 0; i < count; ++i) {
                    const int64_t first = left + i * v.s[1];
                    const Span across = places(first, v.d[1], v.k[1], part.columns);
                    C value = best[i];
                    int64_t at = index[i];
                    for (int64_t kh = down.first; kh < down.last; ++kh) {
                      const int64_t h = top + kh * v.d[0];
                      const C* const row = part.row(h) - part.columns.first;
                      for (int64_t w = first + across.first * v.d[1], k = across.first; k < across.last;
                           ++k, w += v.d[1]) {
                        const bool wins = at < 0 || row[w] > value || row[w] != row[w];
                        value = wins ? row[w] : value;
                        at = wins ? h * v.w + w : at;
                      }
                    }
                    best[i] = value, index[i] = at;
                  }
                });
        result.put(made, count, best);
      }
  }
}
/// Operands: dx, dy, index. A window of padding alone, whose index is -1, has no gradient to give. A gradient of a half
/// type is summed up in float, and rounded once.
template <class C> void max_pool_backward_body(const Loop& loop, int64_t begin, int64_t end) {
  Window v(loop);
  const Elements<C> result(loop, 0), gradient(loop, 1);
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
